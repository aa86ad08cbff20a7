"""Pages of documents as they were printed, and the places of words on them (§13).

A page is drawn by a confined process, as files are read (IX-2), after its file was compared with its digest (IX-3).
"""

import asyncio
from pathlib import Path as FilePath
from typing import Annotated, Final, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import StringConstraints

from sourcebound.api.callers import CallerOf, require_document, requiring
from sourcebound.api.problems import Problem
from sourcebound.api.server import ServerOf
from sourcebound.contracts.corpus.page_view import MAX_SPANS, MAX_WIDTH, MIN_WIDTH, PageMarks, PageRequest
from sourcebound.contracts.request import Name
from sourcebound.errors import DocumentError
from sourcebound.wiring import Services

router = APIRouter(tags=["documents"], dependencies=[Depends(requiring("read"))])
IMAGE: Final = "image/png"
Number = Annotated[int, Path(ge=1, le=10_000_000)]
Collection = Annotated[Name, Query()]
Span = Annotated[str, StringConstraints(pattern=r"^\d{1,9}-\d{1,9}$")]


class PageImages:
    """The kept files, and the processes that draw their pages.

    Args:
        services: The documents and the parser.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._turns = asyncio.Semaphore(services.parser.processes)

    async def view(self, collection: str, knowledge_id: str, request: PageRequest) -> bytes | PageMarks:
        """Return the image of a page, or the places of words on it.

        Raises:
            Problem: The file is not kept, or has no such page (404).
            StoreError: The file is not the one that was ingested (`FILE_ALTERED`).
        """
        async with self._turns:
            data = await self._services.sources.read_file(collection, knowledge_id)
            if data is None:
                raise _no_image()
            try:
                return await asyncio.to_thread(self._services.parser.view, FilePath(knowledge_id), data, request)
            except DocumentError as error:
                raise _no_image() from error

    async def read_text(self, collection: str, knowledge_id: str, number: int) -> str:
        """Return the stored text of a page.

        Raises:
            Problem: The document has no such page (404).
        """
        page = await self._services.sources.read_page(collection, knowledge_id, number)
        if page is None:
            raise _no_image()
        return page.text


@router.get(
    "/v1/documents/{knowledge_id:path}/pages/{number}/image",
    response_class=Response,
    responses={200: {"content": {IMAGE: {"schema": {"type": "string", "format": "binary"}}}}},
)
async def read_page_image(
    request: Request,
    server: ServerOf,
    caller: CallerOf,
    knowledge_id: str,
    number: Number,
    collection: Collection,
    width: Annotated[int, Query(ge=MIN_WIDTH, le=MAX_WIDTH, description="Pixels.")] = 1200,
) -> Response:
    """Return a page as it was printed, as PNG. Documents other than PDFs have none."""
    await require_document(server, caller, collection, knowledge_id)
    image = await _images_of(request).view(collection, knowledge_id, PageRequest(number=number, width=width))
    return Response(cast("bytes", image), media_type=IMAGE)


@router.get("/v1/documents/{knowledge_id:path}/pages/{number}/marks")
async def find_marks(
    request: Request,
    server: ServerOf,
    caller: CallerOf,
    knowledge_id: str,
    number: Number,
    collection: Collection,
    span: Annotated[list[Span], Query(max_length=MAX_SPANS, description="Offsets in the page's text: START-END.")],
) -> PageMarks:
    """Return the rectangles of ranges of the page's text, such as the quotes of a citation.

    They are in points from the top left corner of the page. A range whose words are not found on the page has none.
    """
    await require_document(server, caller, collection, knowledge_id)
    images = _images_of(request)
    text = await images.read_text(collection, knowledge_id, number)
    spans = tuple((int(start), int(end)) for start, _, end in (each.partition("-") for each in span))
    return cast(
        "PageMarks", await images.view(collection, knowledge_id, PageRequest(number=number, text=text, spans=spans))
    )


def _images_of(request: Request) -> PageImages:
    return cast("PageImages", request.app.state.page_images)


def _no_image() -> Problem:
    return Problem(404, "NO_PAGE_IMAGE", "the page cannot be shown as it was printed.", "Read its text instead.")
