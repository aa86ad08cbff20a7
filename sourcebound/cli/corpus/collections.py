"""`sourcebound collections`: the list of the collections."""

from typing import TYPE_CHECKING

from sourcebound.cli.console import run_async, say

if TYPE_CHECKING:
    from sourcebound.contracts.corpus.collection import Collection


def collections() -> None:
    """List the collections with their size, embedder and language."""
    found = run_async(_list)
    if not found:
        say("There is no collection yet. Next: sourcebound ingest PATH --collection NAME")
    for collection in found:
        print(
            f"{collection.name}  {collection.documents} documents, {collection.chunks} chunks  "
            f"{collection.embedding_model}  {collection.language}  {collection.index_version}"
        )


async def _list() -> "list[Collection]":
    from sourcebound.settings import get_settings
    from sourcebound.wiring import open_services

    async with open_services(get_settings()) as services:
        return await services.index.list_collections()
