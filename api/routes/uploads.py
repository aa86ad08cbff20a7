"""Uploads into a collection, and the removal of its documents (§10, §13)."""

from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Depends, Path, Request, Response
from starlette.requests import ClientDisconnect

from sourcebound.api.callers import CallerOf, require_document, requiring
from sourcebound.api.events import MEDIA_TYPE, stream_events, write_event
from sourcebound.api.problems import request_id_of
from sourcebound.api.server import ServerOf
from sourcebound.api.uploads import receiving
from sourcebound.api.uploads.ingesting import UploadProgress, UploadReport, Uploads
from sourcebound.contracts.request import Name

router = APIRouter(tags=["documents"], dependencies=[Depends(requiring("ingest"))])
CLIENT_GONE: Final = 499
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            receiving.MEDIA_TYPE: {
                "schema": {
                    "type": "object",
                    "required": [receiving.FILES],
                    "additionalProperties": False,
                    "properties": {
                        receiving.FILES: {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "Documents, each with its file name. NAME.meta.toml is metadata of NAME.",
                        },
                        **receiving.UploadFields.model_json_schema()["properties"],
                    },
                }
            }
        },
    }
}
EVENTS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {MEDIA_TYPE: {"example": 'event: progress\ndata: {…}\n\nevent: report\ndata: {"files": […]}\n\n'}}}
}


@router.post(
    "/v1/collections/{collection}/documents", response_model=UploadReport, responses=EVENTS, openapi_extra=BODY
)
async def upload_documents(request: Request, caller: CallerOf, collection: Annotated[Name, Path()]) -> Any:
    """Ingest documents into a collection, which the first one makes.

    Each file is added, replaces the document of its name, or is skipped with a code. A document is stored completely
    or not at all. With `Accept: text/event-stream` the answer is a stream: an event `progress` for each step, then the
    event `report`.
    """
    caller.require_collection(collection)
    uploads = cast("Uploads", request.app.state.uploads)
    progress = uploads.ingest(request, collection, caller)
    try:
        if MEDIA_TYPE in request.headers.get("accept", ""):
            return await stream_events(progress, request_id_of(request), _event_of)
        return [step async for step in progress][-1]
    except ClientDisconnect:
        return Response(status_code=CLIENT_GONE)  # which no client reads


@router.delete("/v1/collections/{collection}/documents/{knowledge_id:path}", status_code=204)
async def remove_document(
    request: Request, server: ServerOf, caller: CallerOf, collection: Annotated[Name, Path()], knowledge_id: str
) -> None:
    """Remove a document. The next search does not find it, and its evidence is no longer served.

    Records of earlier answers stay. A file on the server stays too, and its next ingest adds the document again.
    """
    await require_document(server, caller, collection, knowledge_id)
    await cast("Uploads", request.app.state.uploads).remove(collection, knowledge_id)


def _event_of(item: UploadProgress | UploadReport) -> str:
    name = "report" if isinstance(item, UploadReport) else "progress"
    return write_event(name, item.model_dump(mode="json"))
