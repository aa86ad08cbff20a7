"""The collections that a golden set asks: the documents of the evaluation, and for some items documents of their own.

Items with the same documents share a collection. Everything is checked before the first question is asked.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sourcebound.contracts.corpus.collection import Collection
from sourcebound.errors import ConfigurationError, RequestError
from sourcebound.evals.golden.items import GoldenItem, read_items
from sourcebound.ingest.loaders.sidecar import Sidecar
from sourcebound.wiring import Services

SHOWN = 5


class GoldenSet(NamedTuple):
    """The items of a file."""

    path: Path
    items: tuple[GoldenItem, ...]
    sha256: str


def read_set(path: Path) -> GoldenSet:
    """Read a golden set.

    Raises:
        RequestError: The file cannot be read, or has an invalid line. The message names line and field.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}.", "Check the path.", code="PATH_MISSING"
        ) from error
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8.", "Save it as UTF-8.", code="INVALID_SET") from error
    items, findings = read_items(text, path.name)
    if findings:
        raise RequestError(
            f"{path} is not a golden set: {shorten(findings)}.",
            "docs/evaluation.md describes the fields of an item.",
            code="INVALID_SET",
        )
    return GoldenSet(path, items, hashlib.sha256(data).hexdigest())


def name_collection(documents: Iterable[Path]) -> str:
    """Return the name of the collection of documents, of their place: two checkouts never share one."""
    places = "\n".join(sorted(str(each.resolve()) for each in documents))
    return f"eval-{hashlib.sha256(os.fsencode(places)).hexdigest()[:8]}"


def collection_of(base: str, item: GoldenItem) -> str:
    """Return the name of the collection of an item: the base, or one of its own if it has documents of its own."""
    if not item.documents:
        return base
    return f"{base}-{hashlib.sha256('/'.join(sorted(item.documents)).encode()).hexdigest()[:8]}"


async def open_collections(
    services: Services, golden: GoldenSet, base: str, documents: Sequence[Path]
) -> dict[str, Collection]:
    """Open the collections of a set, after an incremental ingest if documents are given.

    Args:
        services: The services, with the rights of the owner if documents are given.
        golden: The set.
        base: The name of the collection.
        documents: Files and folders to ingest; none for a collection that exists.

    Returns:
        The collections by name.

    Raises:
        ConfigurationError: A collection does not exist or is empty.
        RequestError: A document cannot be ingested, or the set names a document that its collection does not have.
    """
    groups: dict[str, tuple[str, ...]] = {}
    for item in golden.items:
        if item.frozen is None:
            groups.setdefault(collection_of(base, item), item.documents)
    if not documents and any(groups.values()):
        raise RequestError(
            f"{golden.path} has items with documents of their own, which need a collection of their own.",
            "Give the documents of the set with --documents PATH.",
        )
    for name, own in groups.items() if documents else ():
        await _ingest(services, [*documents, *(golden.path.parent / each for each in own)], name)
    collections = {name: await _open(services, name) for name in groups}
    known = {
        name: {each.knowledge_id for each in await services.index.list_documents(collection.collection_id)}
        for name, collection in collections.items()
    }
    if unknown := find_unknown(golden.items, base, known):
        raise RequestError(
            f"{golden.path} names documents that the collection does not have: {shorten(unknown)}.",
            f"Ingest them, or correct the set. `sourcebound documents list --collection {base}` lists the documents.",
            code="UNKNOWN_DOCUMENT",
        )
    return collections


def find_unknown(items: Iterable[GoldenItem], base: str, known: Mapping[str, set[str]]) -> list[str]:
    """Find the documents that a set names and that do not exist.

    Args:
        items: The items.
        base: The name of the collection.
        known: The ids of the documents of each collection.

    Returns:
        One text for each item and document.
    """
    findings = []
    for item in items:
        documents = set() if item.frozen else known[collection_of(base, item)]
        named = dict.fromkeys(each.document for place in item.citations for each in place)
        named |= dict.fromkeys((*filter(None, [item.filters.knowledge_id]), *(item.filters.knowledge_ids or ())))
        if item.frozen is None:
            findings += [f"{name} (item {item.id})" for name in named if name not in documents]
    return findings


def shorten(findings: Sequence[str]) -> str:
    """Join the first findings, and say how many more there are."""
    more = len(findings) - SHOWN
    return "; ".join(findings[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


async def _ingest(services: Services, paths: Sequence[Path], collection: str) -> None:
    work = await services.open_ingest()
    summary = await work.run(list(paths), collection, Sidecar(), prune=True)
    if summary.skipped:
        first = summary.skipped[0]
        raise RequestError(f"a document cannot be ingested: {first.message}", first.next_step, code=first.code)


async def _open(services: Services, name: str) -> Collection:
    collection = await services.index.find_collection(name)
    if collection is None or not collection.chunks:
        state = "there is no collection" if collection is None else "there are no documents in the collection"
        raise ConfigurationError(
            f"{state} {name!r}.",
            "Give the documents of the set with --documents PATH, or another --collection.",
            code="COLLECTION_NOT_FOUND",
        )
    return collection
