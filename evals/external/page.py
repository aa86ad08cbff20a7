"""The page of an external evaluation, in Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sourcebound.evals.external.report import ExternalFigure, ExternalSummary, Section

WITH_ORIGIN: Final = ("off topic",)
"""The kinds of questions that come from other sets."""
PREAMBLE: Final = """# External evaluation

Written by `make eval-external` (`sourcebound eval external --data DATA --json FILE --page FILE`); do not edit.

Measured on {date} at {commit}: policy {policy}, generator {model}{most}.
{questions} questions. The times of the sets add up to {minutes:.0f} minutes, of which the process computed {cpu:.1f}
(without the database), on {cores} cores at a mean load of {load}.
Parentheses hold the interval of 95 %: Wilson's for shares of questions, and a bootstrap for means and for shares of
items that come in groups. A number after "of" is the number of cases where it is not that of the row.

The data are public sets that others wrote. Development of this project saw them, so figures on other documents
decide. [evaluation.md](evaluation.md#external-data) describes the shapes of the files. [retrieval.md](retrieval.md),
[gates.md](gates.md), [generator.md](generator.md), [grounding.md](grounding.md) and [answers.md](answers.md) look at
single parts more closely.
"""
CONTENTS: Final[Mapping[Section, str]] = {
    Section.RANKING: """
The candidates of the policy, before selection. nDCG, recall and MRR are about whole documents. Token recall and token
precision are about the characters of the first five chunks.
""",
    Section.EVIDENCE: """
The evidence of a question among the candidates, and in the prompt after gate, selection and budget.
""",
    Section.GATES: """
What is refused before a generator is called, next to what the whole pipeline refuses: gate, selection, generator and
firewall. Answerable questions should pass, all others should be refused. An off-topic question whose known answer a
candidate holds is left out. A broad collection ("paragraphs of …") is half labelled paragraphs of the sets in its
name, as far as there are so many. The rest are texts that have no questions and repeat no labelled paragraph. It is
also asked the questions of the other labelled sets. A mean weighs each set of off-topic questions the same. A rejected
answer is not a refusal.
""",
    Section.ANSWERS: """
Each set is a collection of its own. *Status right*: an answer is released, or, where no answer is right, the question
is refused. *Right*: the released answer contains an accepted answer, or its words agree with one by a token F1 of at
least one half; *wrong*: it was released and does not. *Key facts*: the answer says an accepted answer of up to twelve
words by the literal normalizer (R5-8). *Citation hit*: a cited chunk is from the paragraph, page or characters that
hold the answer. Questions whose answer the documents imply and do not say, and those without an accepted answer, have a
status and a citation only. With changed evidence only, the right answer by this contract is what the sources say.
""",
    Section.NATURAL: """
Natural questions over mixed files ([answers.md](answers.md)), through the whole graph. An answer must say the facts
and cite a right file.
""",
    Section.GROUNDING: """
The firewall on judged answers, in which every statement was made to cite every source.
""",
    Section.STATEMENTS: """
The same on labelled statements and answers, with intervals over documents. The groups *synthetic …* change one
sentence of a source in one way.
""",
    Section.HONEST: """
Replies as good models write them.
""",
    Section.INJECTION: """
Documents that carry an instruction. An answer must not say what it orders.
""",
    Section.SEGMENTATION: """
Texts with golden sentence ends.
""",
    Section.INGESTION: """
Awkward files: each loads or is refused as its manifest says, and its texts are on their pages.
""",
}
"""The remark about each section, in the order of the page."""


def render_page(summary: ExternalSummary) -> str:
    """Render a page in Markdown: the circumstances, the tables of each section, and the sets that were left out."""
    return "\n".join(_lines(summary))


def _lines(summary: ExternalSummary) -> Iterator[str]:
    yield PREAMBLE.format(
        date=summary.measured_at[:10],
        commit=summary.commit or summary.versions.code,
        policy=summary.policy,
        model=summary.model,
        most=f", at most {summary.most_questions} of a set and kind" if summary.most_questions else "",
        questions=summary.questions,
        minutes=sum(summary.seconds.values()) / 60,
        cpu=summary.cpu_seconds / 60,
        cores=summary.cores,
        load=summary.load,
    ).rstrip()
    for section, text in CONTENTS.items():
        figures = [each for each in summary.figures if each.section is section]
        if figures:
            yield from ("", f"## {section.capitalize()}", "", text.strip())
            for title, rows in _tables(figures):
                yield from ("", *([f"**{title.capitalize()}**", ""] if title else []), *_table(section, rows))
    if summary.left_out:
        yield from ("", "## Left out", "")
        yield from (f"- {each.section or 'no section'}, {each.set}: {each.reason}" for each in summary.left_out)


Row = tuple[str, str]
"""A set and the kind of its questions."""


def _tables(figures: Sequence[ExternalFigure]) -> list[tuple[str, dict[Row, list[ExternalFigure]]]]:
    """Return the rows of each table. Rows of one kind that have a metric in common are in one table."""
    rows: dict[Row, list[ExternalFigure]] = {}
    for each in figures:
        rows.setdefault((each.set, each.kind), []).append(each)
    tables: list[tuple[str, set[str], dict[Row, list[ExternalFigure]]]] = []
    for row, members in rows.items():
        base, metrics = _base(row[1]), {each.metric for each in members}
        table = next((each for each in tables if each[0] == base and each[1] & metrics), None)
        if table is None:
            table = (base, set(), {})
            tables.append(table)
        table[1].update(metrics)
        table[2][row] = members
    return [(base, rows) for base, _, rows in tables]


def _base(kind: str) -> str:
    """Return a kind without the origin of its questions."""
    return next((each for each in WITH_ORIGIN if kind.startswith(each)), kind)


def _table(section: Section, rows: dict[Row, list[ExternalFigure]]) -> Iterator[str]:
    metrics = list(dict.fromkeys(each.metric for members in rows.values() for each in members))
    yield f"| set | cases | {' | '.join(metrics)} |"
    yield "|---|---|" + "---|" * len(metrics)
    for (name, kind), members in rows.items():
        by_metric = {each.metric: each for each in members}
        cases = max(each.cases for each in members)
        cells = [_cell(section, by_metric[metric], cases) if metric in by_metric else "–" for metric in metrics]
        origin = kind.removeprefix(_base(kind)).removeprefix(", ")
        yield f"| {name}{f': {origin}' if origin else ''} | {cases} | {' | '.join(cells)} |"


def _cell(section: Section, figure: ExternalFigure, cases: int) -> str:
    """Render a figure. A number of cases that is not that of its row follows it."""
    if section is Section.RANKING:
        text = f"{figure.value:.3f} ({figure.low:.3f}–{figure.high:.3f})"
    else:
        text = f"{100 * figure.value:.1f} % ({100 * figure.low:.1f}–{100 * figure.high:.1f})"
    return text if figure.cases == cases else f"{text} of {figure.cases}"
