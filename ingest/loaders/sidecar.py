"""The sidecar `<file>.meta.toml`: an operator's metadata for one file.

The values of a sidecar override those that a loader finds, so a misspelt key must not be ignored. It raises an error
that lists the known keys.
"""

import tomllib
from datetime import date
from errno import ENAMETOOLONG
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError

from sourcebound.contracts.base import Contract
from sourcebound.contracts.labels import read_labels
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.errors import DocumentError
from sourcebound.ingest.sandbox.failures import DocumentFailure

SIDECAR_SUFFIX = ".meta.toml"


def _check_labels(given: object) -> tuple[str, ...] | None:
    try:
        return None if given is None else read_labels(list(given) if isinstance(given, tuple) else given)
    except ValueError as error:
        raise ValueError(f"it {error}") from error


class Sidecar(Contract):
    """An operator's metadata for one file. A field that is None does not override the loader."""

    knowledge_id: str | None = Field(default=None, min_length=1)
    title: str | None = Field(default=None, min_length=1)
    revision: str | None = Field(default=None, min_length=1)
    event_date: date | None = None
    equipment_id: str | None = Field(default=None, min_length=1)
    knowledge_type: str | None = Field(default=None, min_length=1)
    authority: str | None = Field(default=None, min_length=1)
    source_reference: str | None = Field(default=None, min_length=1)
    labels: Annotated[tuple[str, ...] | None, BeforeValidator(_check_labels)] = None
    """The labels of the document (R6-7), which decide who reads it and are in no digest. An empty list removes them."""


def sidecar_path(path: Path) -> Path:
    """Return the path of a file's sidecar: `manual.pdf.meta.toml` for `manual.pdf`, in the same folder."""
    return path.with_name(path.name + SIDECAR_SUFFIX)


def read_sidecar(path: Path) -> Sidecar:
    """Read the sidecar of a document.

    Args:
        path: The path of the document, not of the sidecar.

    Returns:
        The sidecar; an empty `Sidecar` if the document has none.

    Raises:
        DocumentError: With the code BAD_SIDECAR, if the file is not valid TOML, or has an unknown key or an invalid
            value.
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
        raise _bad_sidecar(sidecar, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _bad_sidecar(sidecar, f"is not valid TOML: {error}") from error
    if to_storable(values) != values:
        raise _bad_sidecar(sidecar, "contains a NUL character")
    unknown = sorted(set(values) - set(Sidecar.model_fields))
    if unknown:
        raise _bad_sidecar(sidecar, f"has the unknown key {', '.join(map(repr, unknown))}")
    try:
        return Sidecar.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _bad_sidecar(
            sidecar, f"has an invalid {first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}"
        ) from error


def _bad_sidecar(sidecar: Path, reason: str) -> DocumentError:
    known = ", ".join(Sidecar.model_fields)
    return DocumentError(
        f"{sidecar.name} {reason}.", f"Known keys, all optional: {known}.", code=DocumentFailure.BAD_SIDECAR
    )
