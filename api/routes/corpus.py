"""The corpus: collections, their documents, and the pages of those."""

from datetime import date, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel

from sourcebound.api.callers import CallerOf, require_document, requiring
from sourcebound.api.problems import Problem
from sourcebound.api.server import ServerOf
from sourcebound.contracts.request import Name

MAX_AFTER: Final = 4096
"""The longest knowledge id is a path below a folder."""
router = APIRouter(tags=["documents"], dependencies=[Depends(requiring("read"))])


class CollectionView(BaseModel):
    """A collection."""

    name: str
    documents: int
    chunks: int
    language: str
    embedding_model: str
    index_version: str


class CollectionList(BaseModel):
    """The collections that the caller may read."""

    collections: list[CollectionView]
    default: str
    """The collection of questions that name none."""
    scopes: list[str]
    """The rights of the caller: `ask`, `read`, `ingest`."""


class DocumentView(BaseModel):
    """A document of a collection."""

    knowledge_id: str
    title: str
    revision: str | None
    event_date: date | None
    pages: int
    chunks: int
    """The passages that a search finds. A document without any is stored and cannot be found."""
    ingested_at: datetime
    labels: list[str]
    """A key with labels opens the document if it holds all of these."""


class DocumentList(BaseModel):
    """Documents of a collection, ordered by knowledge id."""

    collection: str
    documents: list[DocumentView]
    total: int
    """The number of documents of the whole list, which may be longer than this part."""
    next_after: str | None
    """The value of `after` for the next part. Null: this is the last one."""


class PageView(BaseModel):
    """A page of a document, as text."""

    collection: str
    knowledge_id: str
    title: str
    revision: str | None
    source_reference: str
    media_type: str
    event_date: date | None
    equipment_id: str | None
    number: int
    pages: int
    has_image: bool
    """Whether `/image` and `/marks` show the page as it was printed."""
    text: str


@router.get("/v1/collections")
async def list_collections(server: ServerOf, caller: CallerOf) -> CollectionList:
    """Return the collections that the caller may read. They have the counts of the documents that it may read."""
    index = server.services.index
    found = [each for each in await index.list_collections() if caller.may_use(each.name)]
    counts = {each.collection_id: (each.documents, each.chunks) for each in found}
    if caller.labels is not None:
        counts = dict.fromkeys(counts, (0, 0)) | await index.count_visible(caller.labels)
    return CollectionList(
        collections=[
            CollectionView(
                name=each.name,
                documents=counts[each.collection_id][0],
                chunks=counts[each.collection_id][1],
                language=each.language,
                embedding_model=each.embedding_model,
                index_version=each.index_version,
            )
            for each in found
        ],
        default=server.services.settings.collection,
        scopes=sorted(caller.scopes),
    )


@router.get("/v1/documents")
async def list_documents(
    server: ServerOf,
    caller: CallerOf,
    collection: Annotated[Name, Query()],
    contains: Annotated[str | None, Query(max_length=200)] = None,
    after: Annotated[str | None, Query(max_length=MAX_AFTER)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> DocumentList:
    """Return documents of a collection: the first ones, or the next ones after a knowledge id (`next_after`).

    `contains` selects those whose title, knowledge id, revision or labels have this text, in letters of any case.
    """
    caller.require_collection(collection)
    found = await server.services.index.find_collection(collection)
    if found is None:
        raise Problem(
            404, "COLLECTION_NOT_FOUND", f"there is no collection {collection!r}.", "See GET /v1/collections."
        )
    listed = await server.services.sources.list_documents(found.collection_id, caller.labels, contains, after, limit)
    return DocumentList(
        collection=collection,
        documents=[
            DocumentView.model_validate({name: getattr(each, name) for name in DocumentView.model_fields})
            for each in listed.documents
        ],
        total=listed.total,
        next_after=listed.documents[-1].knowledge_id if listed.has_more else None,
    )


@router.get("/v1/documents/{knowledge_id:path}/pages/{number}")
async def read_page(
    server: ServerOf,
    caller: CallerOf,
    knowledge_id: str,
    number: Annotated[int, Path(ge=1, le=10_000_000)],
    collection: Annotated[Name, Query()],
) -> PageView:
    """Return a page by its number, from 1. A document without page numbers has its parts counted."""
    await require_document(server, caller, collection, knowledge_id)
    page = await server.services.sources.read_page(collection, knowledge_id, number)
    if page is None:
        raise Problem(
            404,
            "DOCUMENT_NOT_FOUND",
            "the document has no such page.",
            "See GET /v1/documents?collection=…",
        )
    return PageView(collection=collection, knowledge_id=knowledge_id, **page._asdict())
