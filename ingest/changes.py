"""The detection of changed files, before anything is parsed. Only the digest of a document decides.

The digest covers the file, the operator's metadata, the chunker and the readers. If it equals the stored digest, the
document is unchanged. Files are classified in order: if two files have the same knowledge id, the first one gets it.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.contracts.corpus.collection import KnownDocument
from sourcebound.contracts.corpus.digests import digest_source
from sourcebound.contracts.labels import may_relabel, may_see
from sourcebound.contracts.text.sanitize import to_storable
from sourcebound.errors import DocumentError
from sourcebound.ingest.discovery import UPLOADED, Skipped, SourceFile, skip_unreadable
from sourcebound.ingest.loaders.select import read_bytes
from sourcebound.ingest.loaders.sidecar import Sidecar, read_sidecar, sidecar_path

READERS: Final = b"readers_v10"
"""The version of the readers. A new version makes every file be read again, because its text, its blocks, its chunks or
its search words may differ."""


class Change(NamedTuple):
    """A file whose content differs from the stored one."""

    file: SourceFile
    knowledge_id: str
    overrides: Sidecar
    is_new: bool


class Unchanged(NamedTuple):
    """A file whose content is stored."""

    file: SourceFile
    knowledge_id: str
    overrides: Sidecar


class ChangeDetector:
    """The classification of the files of one ingest, in order.

    Args:
        known: The documents of the collection, by knowledge id.
        metadata: Metadata of every file; it overrides sidecars.
        chunker: The chunker's name.
        max_bytes: Larger files are skipped.
        held: The labels of the caller, which replaces no document that is hidden from it, and removes no label (R6-7).
            None: labels do not restrict it.
    """

    def __init__(
        self,
        known: Mapping[str, KnownDocument],
        metadata: Sidecar,
        chunker: str,
        max_bytes: int,
        held: Collection[str] | None = None,
    ) -> None:
        self._known = known
        self._metadata = metadata
        self._overrides = metadata.model_dump(exclude_none=True)
        self.chunker = chunker
        self._max_bytes = max_bytes
        self._held = held
        self._claims: dict[str, str] = {}
        """The path of the file that has each knowledge id."""
        self.labels: dict[str, tuple[str, ...]] = {}
        """The labels that sidecars give to the files classified last, by knowledge id, also to files that are skipped
        because they are too large or cannot be read."""

    def classify(self, files: Iterable[SourceFile]) -> list[Change | Unchanged | Skipped]:
        """Classify each file as changed, unchanged or skipped. Only one file is in memory at a time."""
        self.labels = {}
        return [self._classify_file(file) for file in files]

    def digest(self, data: bytes, overrides: Sidecar) -> bytes:
        """Return the digest of a document: of its file's bytes and of everything else that decides what is stored."""
        return digest_source(data, self.digest_suffix(overrides))

    def digest_suffix(self, overrides: Sidecar) -> bytes:
        """Return what the digest of a document covers after the bytes of its file."""
        return overrides.model_dump_json(exclude={"labels"}).encode() + self.chunker.encode() + READERS

    def _classify_file(self, file: SourceFile) -> Change | Unchanged | Skipped:
        try:
            return self._compare(file)
        except DocumentError as error:
            return Skipped(file.path, error.failure_code, error.message, error.next_step)
        except OSError as error:
            return skip_unreadable(file.path, error)

    def _compare(self, file: SourceFile) -> Change | Unchanged:
        _check_encoding(file)
        sidecar_values = read_sidecar(file.path).model_dump(exclude_none=True)
        overrides = Sidecar(**{**sidecar_values, **self._overrides}) if sidecar_values else self._metadata
        if not may_see(self._held, overrides.labels or ()):
            raise _foreign_labels(file)
        knowledge_id = overrides.knowledge_id or file.knowledge_id
        stored = self._known.get(knowledge_id)
        self._claim(file, knowledge_id, stored, overrides)
        if overrides.labels is not None:
            if stored and not may_relabel(self._held, stored.labels, overrides.labels):
                raise _removed_labels(file, stored.labels)
            self.labels[knowledge_id] = overrides.labels
        digest = self.digest(read_bytes(file.path, self._max_bytes), overrides)
        if stored and stored.source_digest == digest:
            return Unchanged(file, knowledge_id, overrides)
        return Change(file, knowledge_id, overrides, stored is None)

    def _claim(self, file: SourceFile, knowledge_id: str, stored: KnownDocument | None, overrides: Sidecar) -> None:
        """Reserve a knowledge id for one file, so that two files never replace each other.

        A moved file keeps its id. A copy is the same document, and leaves the id to the file of the document.

        Raises:
            DocumentError: Another existing file has the id (`KNOWLEDGE_ID_TAKEN`).
        """
        other = self._claims.get(knowledge_id)
        has_own = stored is not None and stored.source_path != file.resolved and _has_file(stored)
        if other is None and stored:
            is_hidden = not may_see(self._held, stored.labels)
            is_other = is_hidden or (has_own and self._differs(file, stored, overrides))
            other = stored.source_path if is_other else None
        if other is not None:
            raise DocumentError(
                f"{file.path} would replace {other}: both have the knowledge id {knowledge_id!r} in this collection.",
                f'Ingest their common folder, or write knowledge_id = "..." into {sidecar_path(file.path).name}.',
                code="KNOWLEDGE_ID_TAKEN",
            )
        if not has_own:
            self._claims[knowledge_id] = file.resolved

    def _differs(self, file: SourceFile, stored: KnownDocument, overrides: Sidecar) -> bool:
        """Check whether a file holds something else than a stored document."""
        return self.digest(read_bytes(file.path, self._max_bytes), overrides) != stored.source_digest


def _foreign_labels(file: SourceFile) -> DocumentError:
    return DocumentError(
        f"{sidecar_path(file.path).name} gives a label that you do not have.",
        "Give labels that you have, or ask an administrator to label the document.",
        code="LABEL_FORBIDDEN",
    )


def _removed_labels(file: SourceFile, labels: Iterable[str]) -> DocumentError:
    return DocumentError(
        f"the document of {file.path} has labels that this upload would remove. It has {', '.join(labels)}.",
        "Give all of them, or none to keep them, or ask an administrator to remove some.",
        code="LABEL_FORBIDDEN",
    )


def _has_file(stored: KnownDocument) -> bool:
    """Whether the file of a stored document exists. An upload has none of its own, so any file may replace it."""
    return not stored.source_path.startswith(UPLOADED) and Path(stored.source_path).exists()


def _check_encoding(file: SourceFile) -> None:
    """Check that the file name is text, because it becomes an id and answers quote it."""
    if to_storable(file.resolved) != file.resolved:
        raise DocumentError(f"the name of {file.path} is not UTF-8.", "Rename the file or its folder.", code="BAD_NAME")
