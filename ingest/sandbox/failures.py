"""The ways in which a file can fail to become a document, each worded once.

Every refusal names the file, has a stable code and says what to do next, so that a batch report reads the same
whichever loader gave up. A file that cannot be read in full is refused: half a document would answer questions
wrongly, in silence.
"""

from enum import StrEnum
from pathlib import Path

from sourcebound.errors import DocumentError


class DocumentFailure(StrEnum):
    """Stable codes of `DocumentError.failure_code`."""

    EMPTY = "EMPTY"
    TOO_LARGE = "TOO_LARGE"
    ENCRYPTED = "ENCRYPTED"
    NO_TEXT = "NO_TEXT"
    UNREADABLE = "UNREADABLE"
    UNSUPPORTED = "UNSUPPORTED"
    BAD_SIDECAR = "BAD_SIDECAR"
    TOO_SLOW = "TOO_SLOW"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    PARSER_ENDED = "PARSER_ENDED"


def empty(path: Path) -> DocumentError:
    """The file has no bytes, or nothing but white space."""
    return DocumentError(
        f"{path.name} is empty.", "Check that the export or copy that made it finished.", code=DocumentFailure.EMPTY
    )


def too_large(path: Path, size: int, limit: int, what: str = "is") -> DocumentError:
    """The file, or what it unpacks to, is over the size limit.

    Args:
        path: The file.
        size: Its size in bytes.
        limit: The limit in bytes.
        what: The verb of the sentence: `is`, or `unpacks to`.
    """
    return DocumentError(
        f"{path.name} {what} {size:,} bytes; the limit is {limit:,}.",
        "Split the document, or raise the size limit if you trust where it came from.",
        code=DocumentFailure.TOO_LARGE,
    )


def encrypted(path: Path) -> DocumentError:
    """The file opens only with a password."""
    return DocumentError(
        f"{path.name} is protected by a password.",
        "Save a copy without the password and ingest that.",
        code=DocumentFailure.ENCRYPTED,
    )


def no_text(path: Path) -> DocumentError:
    """The file opens, but only pictures are on its pages."""
    return DocumentError(
        f"{path.name} has no text: needs OCR.",
        "Run it through an OCR tool that writes a text layer, then ingest the result.",
        code=DocumentFailure.NO_TEXT,
    )


def nothing_shown(path: Path) -> DocumentError:
    """The page has markup, but nothing that a reader would see."""
    return DocumentError(
        f"{path.name} has no text: its content is loaded by scripts.",
        "Open it in a browser, save or print it as PDF, and ingest that.",
        code=DocumentFailure.NO_TEXT,
    )


def unreadable(path: Path, reason: str, next_step: str = "") -> DocumentError:
    """The file is broken, or is not what its name says.

    Args:
        path: The file.
        reason: What is wrong, as a clause: `is not a readable PDF (…)`.
        next_step: What to do; a general advice when omitted.
    """
    return DocumentError(
        f"{path.name} {reason}.",
        next_step or "Open it in its own application, save it again, and retry.",
        code=DocumentFailure.UNREADABLE,
    )


def unsupported(path: Path, what: str, next_step: str) -> DocumentError:
    """The file is sound, but of a kind that no loader reads.

    Args:
        path: The file.
        what: The kind, as it follows "is": `a legacy Office file`.
        next_step: What to convert it to.
    """
    return DocumentError(f"{path.name} is {what}.", next_step, code=DocumentFailure.UNSUPPORTED)


def too_slow(path: Path, seconds: float, done: str = "read") -> DocumentError:
    """Work on the file took longer than it may.

    Args:
        path: The file.
        seconds: How long it may take.
        done: What was to be done with it: `read`, or `cut into chunks`.
    """
    return DocumentError(
        f"{path.name} was not {done} within {seconds:g} seconds.",
        "Split the document, or raise SOURCEBOUND_PARSE_SECONDS if you trust where it came from.",
        code=DocumentFailure.TOO_SLOW,
    )


def out_of_memory(path: Path, megabytes: int) -> DocumentError:
    """Reading the file took more memory than it may."""
    return DocumentError(
        f"{path.name} needs more than {megabytes:,} MB of memory to be read.",
        "Split the document, or raise SOURCEBOUND_PARSE_MEMORY_MEGABYTES if you trust where it came from.",
        code=DocumentFailure.OUT_OF_MEMORY,
    )


def parser_ended(path: Path, how: str) -> DocumentError:
    """The process that read the file came to an end over it: a broken or hostile file, or a defect of ours.

    Args:
        path: The file.
        how: A signal, an exit code or an exception, by its name.
    """
    return DocumentError(
        f"{path.name} ended the process that read it ({how}).",
        "Open it in its own application, save it again, and retry.",
        code=DocumentFailure.PARSER_ENDED,
    )
