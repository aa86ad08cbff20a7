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


def may_relabel(held: Collection[str] | None, stored: Iterable[str], given: Collection[str]) -> bool:
    """Tell whether a caller may give a document other labels. One with labels removes none, so it opens nothing.

    Args:
        held: The labels of the caller; None if labels do not restrict it.
        stored: The labels of the document.
        given: The labels that it gets.

    >>> may_relabel(None, ["qa"], []), may_relabel(["hr", "qa"], ["qa"], ["hr", "qa"])
    (True, True)
    >>> may_relabel(["hr", "qa"], ["hr", "qa"], ["qa"])
    False
    """
    return held is None or all(label in given for label in stored)


def settle_labels(
    given: Iterable[str] | None, seen: Iterable[str] | None, stored: Iterable[str] | None
) -> tuple[str, ...]:
    """Return the labels of a document that an ingest stores, whatever happened since the ingest began.

    Labels that changed meanwhile stay, because the change is the later decision. A document that another ingest made
    meanwhile gets the labels of both, because a further label only ever hides.

    Args:
        given: The labels that the ingest gives; None to keep those of the document.
        seen: The labels that the document had when the ingest last read or wrote them; None: there was no document.
        stored: Its labels now; None: there is no document.

    >>> settle_labels(["qa"], seen=["hr"], stored=["hr"]), settle_labels(["qa"], seen=["hr"], stored=["audit"])
    (('qa',), ('audit',))
    >>> settle_labels(["qa"], seen=None, stored=["hr"]), settle_labels(None, seen=None, stored=["hr"])
    (('hr', 'qa'), ('hr',))
    """
    if stored is None or given is None:
        return tuple(given or stored or ())
    if seen is None:
        return tuple(sorted({*given, *stored}))
    return tuple(given if set(stored) == set(seen) else stored)


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
