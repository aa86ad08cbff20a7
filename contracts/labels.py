"""Labels of documents: who may read a document within its collection (R6-7).

A caller with labels reads a document if it holds all of the document's labels (docs/decisions/0042). So a further label
never opens a document to anyone, and a document without labels is open to every reader of its collection.
"""

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Final

from pydantic import StringConstraints, TypeAdapter, ValidationError

MAX_LABELS: Final = 32
"""The most labels of a document."""
MAX_CALLER_LABELS: Final = 256
"""The most labels of a caller: a token names every group of its holder."""
FORM: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"
FORM_IN_WORDS: Final = "at most 64 letters, digits and . _ : -, and begins with a letter or a digit"
Label = Annotated[str, StringConstraints(pattern=FORM)]
_LABELS: Final = TypeAdapter(list[Label])


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


def read_labels(given: object, most: int = MAX_LABELS) -> tuple[str, ...]:
    """Return labels in order, each once.

    Args:
        given: A list of labels, unchecked.
        most: The most of them: `MAX_LABELS` for a document, `MAX_CALLER_LABELS` for a caller.

    Raises:
        ValueError: It is not a list of at most so many labels. The message is a clause.

    >>> read_labels(["qa", "confidential", "qa"])
    ('confidential', 'qa')
    """
    try:
        labels = set(_LABELS.validate_python(given))
        if len(labels) <= most:
            return tuple(sorted(labels))
        cause = None
    except ValidationError as error:
        cause = error
    raise ValueError(f"is not a list of at most {most} labels; a label has {FORM_IN_WORDS}") from cause


def is_label(text: str) -> bool:
    """Tell whether a text has the form of a label.

    >>> is_label("qa"), is_label("two words")
    (True, False)
    """
    return re.fullmatch(FORM, text) is not None
