"""Values that the question gives, which an answer may repeat where no cited chunk contradicts them (R5-8)."""

import re
from typing import Final

from sourcebound.contracts.text.content_words import content_words
from sourcebound.contracts.validation.literals.identifiers import BEFORE_QUESTION
from sourcebound.contracts.validation.literals.literal import CODE, LABELLED, OCCASIONAL, WORD, Literal, LiteralIndex
from sourcebound.contracts.validation.literals.ranges import lies_in_months, lies_in_range, sentence_bounds

NAME_BEFORE: Final = re.compile(r"\b([A-Z]\w+)\s$")
WORD_BEFORE: Final = re.compile(r"([^\W\d_]+)[\s-]*$")
WORD_AFTER: Final = re.compile(r"[\s-]*([^\W\d_]+)")
NEAR: Final = 40
"""The characters around a bare number in which the word is looked for that it belongs to."""


def is_given_name(literal: Literal, text: str, cited: tuple[LiteralIndex, ...], question: str) -> bool:
    """Whether a bare number belongs to a name from the question that no cited chunk numbers differently (version 1).

    For example `Windows 10`, if the question says so and no source mentions another Windows. Quantities (with a unit)
    and identifiers never pass this way, because an answer about the wrong pump must fail.
    """
    name = NAME_BEFORE.search(text[: literal.start])
    if literal.kind != "number" or literal.unit is not None or name is None or not cited:
        return False
    full_name = f"{name[1]} {literal.text}".casefold()
    numbered_name = re.compile(rf"\b{re.escape(name[1].casefold())} \d")
    if f" {full_name} " not in f" {' '.join(WORD.findall(question.casefold()))} ":
        return False
    return not any(numbered_name.search(source.plain_words) for source in cited)


def is_given(
    literal: Literal, statement: LiteralIndex, cited: tuple[LiteralIndex, ...], question: LiteralIndex
) -> bool:
    """Return whether the question gives a literal and no cited chunk contradicts it.

    A chunk contradicts a value if it has another value of the same kind and unit in a sentence on the same matter, and
    the statement does not name that other value as well, as a comparison does.

    Args:
        literal: A literal of the statement that no cited chunk holds.
        statement: The literals of the statement.
        cited: The literals of the cited chunks.
        question: The literals of the question.

    Returns:
        Whether it is given. A value is never given where nothing is cited.
    """
    if literal.kind == "quotation":
        return question.supports(literal) or _asks(literal, statement, question)
    if not cited or not _has(question, literal):
        return False
    if literal.kind == "address" or lies_in_range(literal, statement, cited) or lies_in_months(literal, cited):
        return True
    named = {form for other in statement.literals for form in other.forms}
    values = " ".join(other.text for other in statement.literals if other.unit != OCCASIONAL)
    own_words = content_words(statement.plain) - content_words(values)
    is_bare = literal.kind == "number" and literal.unit is None
    neighbours = _neighbours(statement, literal) if is_bare else frozenset()
    for source in cited:
        for other in source.literals:
            if other.kind != literal.kind or other.unit in (LABELLED, CODE) or other.forms & named:
                continue
            if is_bare and neighbours & _neighbours(source, other):
                return False
            if is_bare or (literal.kind == "number" and other.unit not in (None, literal.unit)):
                continue
            is_like = literal.kind == "identifier" and _letters(other) == _letters(literal)
            if is_like or own_words & content_words(source.plain[slice(*sentence_bounds(source.plain, other.start))]):
                return False
    return True


def _has(question: LiteralIndex, literal: Literal) -> bool:
    """Return whether a question has a literal, and not only nothing that speaks against it."""
    if literal.unit == LABELLED:
        return not question.forms.keys().isdisjoint(literal.forms)
    return question.supports(literal) and (literal.unit != OCCASIONAL or "f" in question.forms)


def _asks(quotation: Literal, statement: LiteralIndex, question: LiteralIndex) -> bool:
    """Return whether a quotation is called the question, and more than half of its content words are the question's."""
    before = BEFORE_QUESTION.search(statement.plain, max(0, quotation.start - NEAR), quotation.start)
    words = content_words(quotation.text)
    return before is not None and 2 * len(words & content_words(question.plain)) > len(words)


def _letters(literal: Literal) -> str:
    """Return the letters of an identifier, which two models of one series share."""
    return re.sub(r"[\W\d_]+", "", literal.text.casefold())


def _neighbours(index: LiteralIndex, literal: Literal) -> frozenset[str]:
    """Return the words before and after a number, which it counts or which it is a name with."""
    end = literal.start + len(literal.text)
    found = (
        WORD_BEFORE.search(index.plain[max(0, literal.start - NEAR) : literal.start]),
        WORD_AFTER.match(index.plain, end, end + NEAR),
    )
    return frozenset(match[1].casefold() for match in found if match)
