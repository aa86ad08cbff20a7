"""How the firewall reads an answer of the JSON profile: each row by itself, so that no row vouches for another (R5-10).

A row is read as a text of its own. Cut into two statements, it shows the uncited one, and its literals are looked up
in the chunks of its own anchors, even where the joined text would read two rows as one sentence.
"""

from sourcebound.contracts.answer_json import AnswerSentences, join, join_row
from sourcebound.contracts.evidence import AnswerBundle
from sourcebound.contracts.reading import (
    AnswerReading,
    Statement,
    read_answer,
    read_literal_findings,
    read_sources,
    read_statements,
)


def read_rows(answer: AnswerSentences, bundle: AnswerBundle) -> tuple[AnswerReading, AnswerReading]:
    """Reads an answer by rows, and as the prose that readers will see.

    Args:
        answer: The parsed answer.
        bundle: The answer bundle of its prompt.

    Returns:
        Two readings of the joined text; their statements and literals differ, and both must pass.
    """
    joined = read_answer(join(answer), bundle)
    statements: list[Statement] = []
    start = 0
    for row in answer.answer_sentences:
        text = join_row(row)
        for part in read_statements(text):
            statements.append(part.model_copy(update={"start": part.start + start, "end": part.end + start}))
        start += len(text) + 1
    sources = read_sources(joined.cited_anchors, bundle)
    literals = read_literal_findings(tuple(statements), sources, bundle.user_question)
    return joined._replace(statements=tuple(statements), literals=tuple(literals)), joined
