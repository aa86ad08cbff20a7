"""Reads `<file>.meta.toml`, the metadata that an operator states for a file.

What an operator wrote wins over what a loader guessed, so a misspelt key must not be ignored in silence: it is an error
that lists the keys there are.
"""

import tomllib
from datetime import date
from errno import ENAMETOOLONG
from pathlib import Path

from pydantic import Field, ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.errors import DocumentError
from sourcebound.ingest.sandbox.failures import DocumentFailure

SIDECAR_SUFFIX = ".meta.toml"


class Sidecar(Contract):
    """The metadata that an operator states for one file; the loader fills the fields that are None."""

    knowledge_id: str | None = Field(default=None, min_length=1)
    title: str | None = Field(default=None, min_length=1)
    revision: str | None = Field(default=None, min_length=1)
    event_date: date | None = None
    equipment_id: str | None = Field(default=None, min_length=1)
    knowledge_type: str | None = Field(default=None, min_length=1)
    authority: str | None = Field(default=None, min_length=1)
    source_reference: str | None = Field(default=None, min_length=1)


def sidecar_path(path: Path) -> Path:
    """Return the path of a file's sidecar: `manual.pdf.meta.toml` for `manual.pdf`, in the same folder."""
    return path.with_name(path.name + SIDECAR_SUFFIX)


def read_sidecar(path: Path) -> Sidecar:
    """Read the sidecar of a document.

    Args:
        path: The document, not the sidecar.

    Returns:
        The sidecar; an empty `Sidecar` when there is none.

    Raises:
        DocumentError: With code BAD_SIDECAR: not TOML, an unknown key, or a value of the wrong type.
    """
    sidecar = sidecar_path(path)
    try:
        text = sidecar.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except (FileNotFoundError, IsADirectoryError):
        return Sidecar()
    except OSError as error:
        if error.errno == ENAMETOOLONG:  # then there is no such file
            return Sidecar()
        raise _bad(sidecar, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _bad(sidecar, f"is not TOML: {error}") from error
    if to_storable(values) != values:
        raise _bad(sidecar, "holds a NUL character")
    unknown = sorted(set(values) - set(Sidecar.model_fields))
    if unknown:
        raise _bad(sidecar, f"has the unknown key {', '.join(map(repr, unknown))}")
    try:
        return Sidecar.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _bad(sidecar, f"has a bad {first['loc'][0]}: {first['msg']}") from error


def _bad(sidecar: Path, reason: str) -> DocumentError:
    known = ", ".join(Sidecar.model_fields)
    return DocumentError(
        f"{sidecar.name} {reason}.", f"Known keys, all optional: {known}.", code=DocumentFailure.BAD_SIDECAR
    )
