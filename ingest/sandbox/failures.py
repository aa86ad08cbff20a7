"""The errors of files that cannot become documents, one function for each.

Every error names the file, has a stable code and says what to do next, so that all loaders report alike. A file that
cannot be read completely is refused, because answers from half a document would be wrong without a warning.
"""

from enum import StrEnum
from pathlib import Path

from sourcebound.errors import DocumentError


class DocumentFailure(StrEnum):
    """The stable codes of `DocumentError.failure_code`."""

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
    """Return the error of a file that has no bytes, or only white space."""
    return DocumentError(
        f"{path.name} is empty.", "Check that its export or copy was complete.", code=DocumentFailure.EMPTY
    )


def too_large(path: Path, size: int, limit: int, verb: str = "is") -> DocumentError:
    """Return the error of a file that is larger than the limit, packed or unpacked.

    Args:
        path: The file.
        size: Its size in bytes.
        limit: The limit in bytes.
        verb: The verb of the sentence: `is`, or `unpacks to`.
    """
    return DocumentError(
        f"{path.name} {verb} {size:,} bytes; the limit is {limit:,}.",
        "Split the document, or raise the size limit if you trust its origin.",
        code=DocumentFailure.TOO_LARGE,
    )


def encrypted(path: Path) -> DocumentError:
    """Return the error of a file that needs a password."""
    return DocumentError(
        f"{path.name} is protected by a password.",
        "Save a copy without the password and ingest that.",
        code=DocumentFailure.ENCRYPTED,
    )


def no_text(path: Path) -> DocumentError:
    """Return the error of a file whose pages hold only pictures."""
    return DocumentError(
        f"{path.name} has no text: needs OCR.",
        "Ingest it as a PDF with --ocr (extra ocr), or run it through an OCR tool that writes a text layer.",
        code=DocumentFailure.NO_TEXT,
    )


def nothing_recognized(path: Path) -> DocumentError:
    """Return the error of a file in whose pictures no text was recognized."""
    return DocumentError(
        f"{path.name} has no text, and none was recognized in its pictures.",
        "Scan it again with a higher resolution, or omit it.",
        code=DocumentFailure.NO_TEXT,
    )


def no_visible_text(path: Path) -> DocumentError:
    """Return the error of a page whose markup shows no text to a reader."""
    return DocumentError(
        f"{path.name} has no text: its content is loaded by scripts.",
        "Open it in a browser, save or print it as PDF, and ingest that.",
        code=DocumentFailure.NO_TEXT,
    )


def unreadable(path: Path, reason: str, next_step: str = "") -> DocumentError:
    """Return the error of a file that is broken or does not have the format of its name.

    Args:
        path: The file.
        reason: The defect, as a clause: `is not a readable PDF (…)`.
        next_step: The advice; a general one when omitted.
    """
    return DocumentError(
        f"{path.name} {reason}.",
        next_step or "Open it in its own application, save it again, and retry.",
        code=DocumentFailure.UNREADABLE,
    )


def unsupported(path: Path, kind: str, next_step: str) -> DocumentError:
    """Return the error of an intact file in a format that no loader reads.

    Args:
        path: The file.
        kind: The kind of file, with its article: `a legacy Office file`.
        next_step: The advice, such as the format to convert it to.
    """
    return DocumentError(f"{path.name} is {kind}.", next_step, code=DocumentFailure.UNSUPPORTED)


def too_slow(path: Path, seconds: float, step: str = "read") -> DocumentError:
    """Return the error of a file whose processing took too long.

    Args:
        path: The file.
        seconds: The time limit.
        step: The step that took too long: `read`, or `cut into chunks`.
    """
    return DocumentError(
        f"{path.name} was not {step} within {seconds:g} seconds.",
        "Split the document, or raise SOURCEBOUND_PARSE_SECONDS if you trust its origin.",
        code=DocumentFailure.TOO_SLOW,
    )


def out_of_memory(path: Path, megabytes: int) -> DocumentError:
    """Return the error of a file that needs more memory than is allowed."""
    return DocumentError(
        f"{path.name} needs more than {megabytes:,} MB of memory to be read.",
        "Split the document, or raise SOURCEBOUND_PARSE_MEMORY_MEGABYTES if you trust its origin.",
        code=DocumentFailure.OUT_OF_MEMORY,
    )


def parser_ended(path: Path, cause: str) -> DocumentError:
    """Return the error of a file on which the parser process failed: it is broken or hostile, or we have a defect.

    Args:
        path: The file.
        cause: The name of a signal, an exit code or an exception.
    """
    return DocumentError(
        f"the parser process failed on {path.name} ({cause}).",
        "Open it in its own application, save it again, and retry.",
        code=DocumentFailure.PARSER_ENDED,
    )
