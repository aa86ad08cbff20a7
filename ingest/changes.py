"""Tells which files have changed, before anything is parsed: the digest of the content decides, and nothing else.

The digest covers the file, what its operator says of it, the chunker and the readers; where it is equal to the stored
one, there is nothing to do. Files are examined in order, so that of two files with one name the first gets it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import KnownDocument
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.errors import DocumentError
from sourcebound.ingest.discovery import Skipped, SourceFile, unreadable
from sourcebound.ingest.loaders.select import read_bytes
from sourcebound.ingest.loaders.sidecar import Sidecar, read_sidecar, sidecar_path

READERS: Final = b"readers_v2"
"""Changes whenever the same file yields other text, blocks or search words than before, so that it is read again."""


class Change(NamedTuple):
    """A file whose content differs from the stored one."""

    file: SourceFile
    knowledge_id: str
    overrides: Sidecar
    is_new: bool


class Unchanged(NamedTuple):
    """A file that is stored with this content."""

    file: SourceFile
    knowledge_id: str
    overrides: Sidecar


class Surveyor:
    """Classifies the files of one ingest, in order.

    Args:
        known: The documents of the collection by their knowledge ids.
        metadata: Metadata of every file; it overrides sidecars.
        chunker: The chunker's name.
        max_bytes: Larger files are skipped.
    """

    def __init__(self, known: Mapping[str, KnownDocument], metadata: Sidecar, chunker: str, max_bytes: int) -> None:
        self._known = known
        self._metadata = metadata
        self._stated = metadata.model_dump(exclude_none=True)
        self._chunker = chunker
        self._max_bytes = max_bytes
        self._claims: dict[str, str] = {}

    def look(self, files: Iterable[SourceFile]) -> list[Change | Unchanged | Skipped]:
        """Classify each of these files as changed, unchanged or skipped; the files are read and not kept in memory."""
        return [self._look_at(file) for file in files]

    def digest(self, data: bytes, overrides: Sidecar) -> bytes:
        """Digest of a document: of its file's bytes and of everything else that decides what is stored."""
        digest = hashlib.sha256(data)
        digest.update(overrides.model_dump_json().encode())
        digest.update(self._chunker.encode() + READERS)
        return digest.digest()

    def _look_at(self, file: SourceFile) -> Change | Unchanged | Skipped:
        try:
            return self._compare(file)
        except DocumentError as error:
            return Skipped(file.path, error.failure_code, error.message, error.next_step)
        except OSError as error:
            return unreadable(file.path, error)

    def _compare(self, file: SourceFile) -> Change | Unchanged:
        _check_encoding(file)
        said = read_sidecar(file.path).model_dump(exclude_none=True)
        overrides = Sidecar(**{**said, **self._stated}) if said else self._metadata
        knowledge_id = overrides.knowledge_id or file.knowledge_id
        before = self._known.get(knowledge_id)
        self._claim(file, knowledge_id, before)
        digest = self.digest(read_bytes(file.path, self._max_bytes), overrides)
        if before and before.source_digest == digest:
            return Unchanged(file, knowledge_id, overrides)
        return Change(file, knowledge_id, overrides, before is None)

    def _claim(self, file: SourceFile, knowledge_id: str, before: KnownDocument | None) -> None:
        """Two files must not take turns under one name; a file that moved keeps its name."""
        other = self._claims.get(knowledge_id)
        if other is None and before and before.source_path != file.resolved and Path(before.source_path).exists():
            other = before.source_path
        if other is not None:
            raise DocumentError(
                f"{file.path} would replace {other}: both are called {knowledge_id!r} in this collection.",
                f'Ingest their common folder, or write knowledge_id = "..." into {sidecar_path(file.path).name}.',
                code="KNOWLEDGE_ID_TAKEN",
            )
        self._claims[knowledge_id] = file.resolved


def _check_encoding(file: SourceFile) -> None:
    """A name becomes an id and is quoted in answers, so it must be text."""
    if to_storable(file.resolved) != file.resolved:
        raise DocumentError(
            f"the name of {file.path} is not UTF-8.", "Rename the file, or the folder it is in.", code="BAD_NAME"
        )
