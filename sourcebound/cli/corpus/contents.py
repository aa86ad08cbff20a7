"""`sourcebound index check --contents`: every document, chunk, word and vector that is not what was ingested (IX-3)."""

import json
from collections.abc import AsyncIterator
from math import hypot
from typing import TYPE_CHECKING, Final, NamedTuple

import typer

from sourcebound.cli.console import FAULT, say

if TYPE_CHECKING:
    from sourcebound.contracts.corpus.collection import Collection
    from sourcebound.contracts.corpus.contents import ContentsFinding
    from sourcebound.wiring import Services

SAME_VECTOR: Final = 0.99
"""The least cosine of a stored vector and that of the same text today. Machines differ by rounding."""


class ContentsReport(NamedTuple):
    """The result of the check of one collection."""

    collection: "Collection"
    documents: int
    chunks: int
    findings: "list[ContentsFinding]"

    def print(self, *, as_json: bool) -> None:
        """Print the summary, or everything as JSON. Exit with 1 if there is a finding."""
        name, version = self.collection.name, self.collection.index_version
        if as_json:
            counts = {"documents": self.documents, "chunks": self.chunks}
            findings = [finding._asdict() for finding in self.findings]
            print(json.dumps({"collection": name, "index_version": version, **counts, "findings": findings}, indent=2))
        else:
            verdict = f"{len(self.findings)} findings" if self.findings else "everything is what was ingested"
            print(f"{name} ({version}): {self.documents} documents, {self.chunks} chunks checked, {verdict}")
        if self.findings:
            say(
                "  Next: restore the database from a backup, or ingest the files into a new collection and promote it: "
                "sourcebound index promote"
            )
            raise typer.Exit(FAULT)


async def check_contents(
    services: "Services", collection: "Collection", *, vectors: int, shown: bool
) -> ContentsReport:
    """Check a collection.

    Args:
        services: The services.
        collection: The collection.
        vectors: The number of chunks that are embedded again.
        shown: Whether to print each finding when it is found.
    """
    from sourcebound.contracts.text.sanitize import visible
    from sourcebound.ingest.chunking.searchable_text import further_words
    from sourcebound.store.search.contents import ContentsCheck

    findings: list[ContentsFinding] = []
    check = ContentsCheck(services.pool, collection, further_words)
    for source in (check.run(), _compare_vectors(services, collection, vectors)):
        async for finding in source:
            findings.append(finding)
            if shown:
                print(visible(f"{finding.code}  {finding.name}: {finding.found}"))
    return ContentsReport(collection, check.documents, check.chunks, findings)


async def _compare_vectors(
    services: "Services", collection: "Collection", count: int
) -> "AsyncIterator[ContentsFinding]":
    """Embed some chunks again, and yield those whose stored vector is another one."""
    from sourcebound.contracts.corpus.contents import ContentsCode, ContentsFinding
    from sourcebound.ingest.prepare import EMBEDDING_BATCH, embedded_text

    embedder = await services.open_embedder(collection.embedder) if count and collection.dimensions else None
    if embedder is None:
        return
    stored = list((await services.index.sample_vectors(collection.collection_id, count)).values())
    for start in range(0, len(stored), EMBEDDING_BATCH):
        batch = stored[start : start + EMBEDDING_BATCH]
        texts = [
            embedded_text(each.title, each.heading_path, each.text, embedder, collection.chunker) for each in batch
        ]
        for each, vector in zip(batch, await embedder.embed_documents(texts), strict=True):
            lengths = hypot(*each.vector) * hypot(*vector)
            is_comparable = len(each.vector) == len(vector) and lengths
            products = (a * b for a, b in zip(each.vector, vector, strict=False))
            cosine = sum(products) / lengths if is_comparable else 0.0
            if cosine < SAME_VECTOR:
                message = f"its vector is not that of its text: the cosine of the two is {cosine:.3f}"
                yield ContentsFinding(ContentsCode.VECTOR_ALTERED, each.chunk_id, message)
