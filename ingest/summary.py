"""The counts and the result of an ingest."""

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from os.path import realpath
from types import MappingProxyType
from typing import NamedTuple

from sourcebound.contracts.corpus.collection import KnownDocument, StoredDocument
from sourcebound.contracts.corpus.vector_index import VectorIndex
from sourcebound.contracts.labels import may_relabel, may_see
from sourcebound.ingest.changes import Unchanged
from sourcebound.ingest.discovery import FoundFiles, Skipped
from sourcebound.ingest.loaders.sidecar import Sidecar


class FileOutcome(StrEnum):
    """The result of an ingest for one file that was not skipped."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


class IngestedFile(NamedTuple):
    """A file whose document is stored."""

    source_path: str
    knowledge_id: str
    outcome: FileOutcome


class IngestSummary(NamedTuple):
    """The result of an ingest, or its plan if nothing was written."""

    collection: str
    embedding_model: str
    added: int
    replaced: int
    unchanged: int
    chunks: int
    skipped: tuple[Skipped, ...]
    removed: tuple[str, ...] = ()
    """The knowledge ids of the documents whose files no longer exist."""
    reused_vectors: int = 0
    """The number of chunks whose vectors were already stored."""
    vector_index: VectorIndex | None = None
    """The approximate index, if this ingest built or measured it."""
    other_kinds: Mapping[str, int] = MappingProxyType({})
    """The number of files under the paths that are not ingested, by suffix or kind (IX-1)."""
    ingested: tuple[IngestedFile, ...] = ()
    """The files whose documents are stored, in the order in which they were stored."""
    relabelled: int = 0
    """The number of stored documents that got other labels, or would get them."""


class Tally:
    """The counts of an ingest so far."""

    def __init__(self, known: dict[str, KnownDocument], found: FoundFiles) -> None:
        self.known = known
        self.files = len(found.files)
        self.skipped = list(found.skipped)
        self.other_kinds = found.other_kinds
        self.examined = self.added = self.replaced = self.unchanged = self.chunks = self.reused_vectors = 0
        self.relabelled: set[str] = set()
        self._paths = {file.resolved for file in found.files} | {realpath(each.path) for each in found.skipped}
        self.operator_ids: dict[str, str] = {}
        """The knowledge id of each stored file that the operator named, by its path."""
        self.ingested: list[IngestedFile] = []
        self._stored: set[str] = set()

    def count_document(self, is_new: bool) -> None:
        """Count a document that is stored, or that would be."""
        if is_new:
            self.added += 1
        else:
            self.replaced += 1

    def record_stored(self, document: StoredDocument) -> None:
        """Count a document that was stored."""
        is_new = document.knowledge_id not in self.known
        self.count_document(is_new)
        outcome = FileOutcome.ADDED if is_new else FileOutcome.REPLACED
        self._stored.add(document.knowledge_id)
        self.ingested.append(IngestedFile(document.source_path, document.knowledge_id, outcome))

    def record_unchanged(self, file: Unchanged) -> None:
        """Count a file whose document is stored already."""
        self.unchanged += 1
        self.ingested.append(IngestedFile(file.file.resolved, file.knowledge_id, FileOutcome.UNCHANGED))
        self.record_operator_id(file.knowledge_id, file.file.resolved, file.overrides)

    def record_operator_id(self, knowledge_id: str, source_path: str, overrides: Sidecar) -> None:
        """Remember the knowledge id of a stored file, if the operator named it."""
        if overrides.knowledge_id:
            self.operator_ids[source_path] = knowledge_id

    def record_labels(self, names: Iterable[str], labels: Sequence[str]) -> None:
        """Remember the labels that stored documents were given."""
        for name in names:
            self.known[name] = self.known[name]._replace(labels=labels)

    def seen_labels(self, knowledge_id: str) -> Sequence[str] | None:
        """Return the labels of a document that were read or given last; None: there was no document."""
        known = self.known.get(knowledge_id)
        return known.labels if known else None

    def find_with_other(self, labels: Sequence[str], held: Names[str] | None) -> list[str]:
        """Return the documents to relabel that were not returned before, and count them.

        They are the documents of all files, also of files that will be skipped, and of unchanged files that moved.

        Args:
            labels: The labels that they get.
            held: The labels of the caller, which relabels no document that is hidden from it, and removes no label.
                None: labels do not restrict it.
        """
        unchanged = {file.knowledge_id for file in self.ingested if file.outcome is FileOutcome.UNCHANGED}
        found = [
            name
            for name, document in self.known.items()
            if (name in unchanged or (document.source_path in self._paths and may_see(held, document.labels)))
            and name not in self.relabelled | self._stored
            and sorted(document.labels) != sorted(labels)
            and may_relabel(held, document.labels, labels)
        ]
        self.relabelled.update(found)
        return found

    def find_with_other_sidecar(self, given: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
        """Return the stored documents that have other labels than their sidecars give, and count them.

        Args:
            given: The labels that sidecars give, by knowledge id.

        Returns:
            The knowledge ids by the labels that they get.
        """
        found: dict[tuple[str, ...], list[str]] = {}
        for knowledge_id, labels in given.items():
            stored = self.known.get(knowledge_id)
            if stored and sorted(stored.labels) != sorted(labels):
                found.setdefault(labels, []).append(knowledge_id)
                self.relabelled.add(knowledge_id)
        return found

    def summary(
        self, collection: str, model: str, removed: tuple[str, ...], index: VectorIndex | None
    ) -> IngestSummary:
        """Return the result of the ingest."""
        counts = (self.added, self.replaced, self.unchanged, self.chunks)
        skipped, ingested = tuple(self.skipped), tuple(self.ingested)
        return IngestSummary(
            collection,
            model,
            *counts,
            skipped,
            removed,
            self.reused_vectors,
            index,
            self.other_kinds,
            ingested,
            len(self.relabelled),
        )
