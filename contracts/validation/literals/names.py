"""Names as literals: code in backticks, and letters and Roman numerals that tell things of one kind apart (R5-8).

`zone B` is checked only against a text that tells zones apart by letters.
"""

import re
from typing import Final

from sourcebound.contracts.validation.literals.literal import CODE, LABELLED, WORD, Literal

CODE_SPAN: Final = re.compile(r"(?<!`)`([^`\n]{1,120})`(?!`)")
PLACEHOLDER: Final = re.compile(r"<[^<>`]{1,40}>|\.\.\.|…")
BETWEEN: Final = re.compile(r"[\s=:,;(){}\[\]\"'|&]+")
MARK: Final = r"(?:[A-HJ-Z]|I{1,3}|IV|VI{0,3}|IX|XI{0,3})"
LABEL: Final = re.compile(
    rf"(?<![\w.])(?P<noun>[^\W\d_]{{3,}})\s(?P<marks>{MARK}(?:(?:,\s|\s?[/–-]\s?|,?\s(?:and|or|to|und|oder|bis|et|ou|y|e|o)\s){MARK})*)(?![\w'’]|[.:-]\w)"
)
ONE_MARK: Final = re.compile(rf"\b{MARK}\b")
NO_NOUN: Final = frozenset(
    "and but for nor the that this when where than then with from into and oder und aber not was".split()
)


def read_code_spans(text: str) -> list[Literal]:
    """Read every piece of code in backticks. Each word of it, such as `max_conn` or `--retry`, must be in a source."""
    literals = []
    for match in CODE_SPAN.finditer(text):
        parts = (" ".join(WORD.findall(part.casefold())) for part in BETWEEN.split(PLACEHOLDER.sub(" ", match[1])))
        forms = frozenset(part for part in parts if part)
        if forms:
            literals.append(Literal("identifier", match[0], match.start(), forms, CODE))
    return literals


def read_labels(text: str) -> list[Literal]:
    """Read every letter or Roman numeral after a noun: `zone B`, `Annex II`, `zones A and B`."""
    literals = []
    for match in LABEL.finditer(text):
        noun = match["noun"].casefold()
        if noun in NO_NOUN:
            continue
        for mark in ONE_MARK.finditer(text, match.start("marks"), match.end("marks")):
            form = f"l{noun.removesuffix('s')} {mark[0].casefold()}"
            literals.append(Literal("identifier", mark[0], mark.start(), frozenset([form]), LABELLED))
    return literals
