"""Labels of documents: who may read a document within its collection (R6-7).

A caller with labels reads a document if it holds all of the document's labels (docs/decisions/0042). So a further label
never opens a document to anyone, and a document without labels is open to every reader of its collection.
"""

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Final

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

MAX_LABELS: Final = 32
"""The most labels of a document, a key or a caller."""
FORM: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
FORM_IN_WORDS: Final = "at most 64 letters, digits and . _ : -, and begins with a letter or a digit"
Label = Annotated[str, StringConstraints(pattern=FORM)]
_LABELS: Final = TypeAdapter(Annotated[list[Label], Field(max_length=MAX_LABELS)])


def may_see(held: Collection[str] | None, labels: Iterable[str]) -> bool:
    """Tell whether a caller may read a document.

    Args:
        held: The labels of the caller; None if labels do not restrict it.
        labels: The labels of the document.

    >>> may_see(None, ["qa"]), may_see([], []), may_see(["qa"], ["qa"])
    (True, True, True)
    >>> may_see([], ["qa"]), may_see(["qa"], ["qa", "confidential"])
    (False, False)
    """
    return held is None or all(label in held for label in labels)


def read_labels(given: object) -> tuple[str, ...]:
    """Return labels in order, each once.

    Args:
        given: A list of labels, unchecked.

    Raises:
        ValueError: It is not a list of at most `MAX_LABELS` labels. The message is a clause.

    >>> read_labels(["qa", "confidential", "qa"])
    ('confidential', 'qa')
    """
    try:
        return tuple(sorted(set(_LABELS.validate_python(given))))
    except ValidationError as error:
        raise ValueError(f"is not a list of at most {MAX_LABELS} labels; a label has {FORM_IN_WORDS}") from error


def is_label(text: str) -> bool:
    """Tell whether a text has the form of a label.

    >>> is_label("qa"), is_label("two words")
    (True, False)
    """
    return re.fullmatch(FORM, text) is not None
