"""Ingests uploads: the same parser, chunker and store as on the command line, with a report for each file.

An upload that has arrived is ingested to its end even if its client has gone. The connection that stores documents has
more rights than that of questions, so it is open during an ingest only.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, Literal

from fastapi import Request
from pydantic import BaseModel, Field

from sourcebound.api.callers import Caller
from sourcebound.api.problems import UNPROCESSABLE, FieldError, Problem
from sourcebound.api.uploads.receiving import Upload, receive, upload_folder
from sourcebound.errors import StoreError
from sourcebound.ingest.discovery import UPLOADED, Skipped
from sourcebound.ingest.pipeline import Progress
from sourcebound.ingest.summary import IngestSummary
from sourcebound.wiring import Services, open_corpus

LOG = logging.getLogger("sourcebound.api")
OWN_WORDS: Final = {
    "KNOWLEDGE_ID_TAKEN": (
        "another file has the knowledge id of {name}.",
        "Rename the file, or upload it with a file {name}.meta.toml that gives another knowledge_id.",
    ),
    "TOO_LARGE": ("{name} is too large.", "Split the document."),
    "TOO_SLOW": ("{name} could not be read in time.", "Split the document."),
    "OUT_OF_MEMORY": ("{name} needs too much memory to be read.", "Split the document."),
}
"""What a caller reads where the words of a skipped file name settings or files of the server (S-5)."""
STATUS_OF: Final = {"TOO_LARGE": 413, "LABEL_FORBIDDEN": 403}
"""The status of an upload whose first file was skipped for this reason, and none was ingested. Others are 422."""


class UploadedFile(BaseModel):
    """The result of an upload for one file."""

    name: str
    outcome: Literal["added", "replaced", "unchanged", "skipped"]
    knowledge_id: str | None = Field(None, description="Names the document from now on.")
    code: str | None = Field(None, description="Why it was skipped. Stable.", examples=["NO_TEXT"])
    message: str | None = None
    next_step: str | None = None


class UploadReport(BaseModel):
    """The result of an upload. A skipped file does not stop the others."""

    collection: str
    files: list[UploadedFile]
    chunks: int = Field(description="The number of new chunks.")


class UploadProgress(BaseModel):
    """The progress of an upload that is being ingested."""

    files_done: int
    files: int
    chunks: int
    name: str = Field(description="The file that is being ingested.")


class Uploads:
    """The uploads in progress.

    Args:
        services: The parser, the embedders and the settings.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._limit = services.settings.max_uploads
        self._in_progress = 0
        self._tasks: set[asyncio.Task[UploadReport]] = set()

    async def ingest(
        self, request: Request, collection: str, caller: Caller
    ) -> AsyncIterator[UploadProgress | UploadReport]:
        """Receive an upload completely and ingest it: its progress, and its report at the end.

        Args:
            request: The request. Its body was not read yet.
            collection: The collection; its first document makes it.
            caller: The caller. It gives labels of its own only, and replaces no document that is hidden from it.

        Raises:
            Problem: There are too many uploads, the body is not an upload, or no file was ingested.
            RequestValidationError: A field of the upload is invalid.
            starlette.requests.ClientDisconnect: The client has gone before the end of the upload.
            SourceboundError: The collection does not fit, or the database or the embedder does not answer.
        """
        steps: asyncio.Queue[UploadProgress | None] = asyncio.Queue()
        with ExitStack() as stack:
            stack.enter_context(self._take_place())
            upload = await receive(request, stack.enter_context(upload_folder()))
            caller.require_labels(upload.fields.label or ())
            held = stack.pop_all()
        work = self._ingest(upload, collection, caller, lambda state: steps.put_nowait(_step_of(state)))
        task = asyncio.create_task(work)
        self._tasks.add(task)

        def end(ended: "asyncio.Task[UploadReport]") -> None:
            held.close()
            self._tasks.discard(ended)
            steps.put_nowait(None)
            if not ended.cancelled():
                ended.exception()  # asking for it marks it as read: a client that has gone reads none

        task.add_done_callback(end)
        while (step := await steps.get()) is not None:
            yield step
        yield await asyncio.shield(task)

    async def close(self) -> None:
        """Interrupt what is left. Documents that are already stored stay."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @contextmanager
    def _take_place(self) -> Iterator[None]:
        if self._in_progress >= self._limit:
            detail = f"the server receives {self._limit} uploads at once, and no more."
            raise Problem(429, "TOO_MANY_UPLOADS", detail, "Upload again in a moment.", {"Retry-After": "5"})
        self._in_progress += 1
        try:
            yield
        finally:
            self._in_progress -= 1

    async def remove(self, collection: str, knowledge_id: str) -> None:
        """Remove a document; one that does not exist is already removed.

        Raises:
            Problem: The account of the server may not change documents (403).
            SourceboundError: The database does not answer.
        """
        with _not_permitted_as_problem("remove"):
            async with open_corpus(self._services.settings) as index:
                found = await index.find_collection(collection)
                if found is not None:
                    await index.remove_documents(found.collection_id, [knowledge_id])

    async def _ingest(
        self, upload: Upload, collection: str, caller: Caller, report: Callable[[Progress], None]
    ) -> UploadReport:
        fields = upload.fields
        with _not_permitted_as_problem("store"):
            async with open_corpus(self._services.settings) as index:
                known = await index.find_collection(collection)
                embedder = known.embedder if known else None
                work = await self._services.open_ingest(report, index=index, embedder=embedder)
                summary = await work.run_files(
                    upload.files,
                    collection,
                    fields.metadata(),
                    language=fields.language,
                    labels=fields.label,
                    held=caller.labels,
                )
        return report_on(upload, summary)


@contextmanager
def _not_permitted_as_problem(action: str) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        if error.failure_code != "STORE_FORBIDDEN":
            raise
        LOG.error("the account of the database may not %s documents: set SOURCEBOUND_INGEST_DATABASE_URL", action)
        detail = f"the server may not {action} documents."
        raise Problem(403, "UPLOADS_NOT_PERMITTED", detail, "Ask its operator to permit uploads.") from error


def report_on(upload: Upload, summary: IngestSummary) -> UploadReport:
    """Return the report of an upload.

    Raises:
        Problem: All its files were skipped. It has the code of the first one, and `errors` names each.
    """
    files = [
        UploadedFile(
            name=each.source_path.removeprefix(UPLOADED), outcome=each.outcome.value, knowledge_id=each.knowledge_id
        )
        for each in summary.ingested
    ]
    skipped = [_describe(each) for each in summary.skipped]
    if skipped and not files:
        first = skipped[0]
        errors = [FieldError(field=each.name, message=each.message or "") for each in skipped]
        code = first.code or ""
        status = STATUS_OF.get(code, UNPROCESSABLE)
        raise Problem(status, code, first.message or "", first.next_step or "", errors=errors)
    order = {file.path.name: place for place, file in enumerate(upload.files.files)}
    files.sort(key=lambda file: order.get(file.name, len(order)))
    return UploadReport(collection=summary.collection, files=[*files, *skipped], chunks=summary.chunks)


def _describe(skipped: Skipped) -> UploadedFile:
    """Return the result for a skipped file, without the folder in which the server held it."""
    name = skipped.path.name if skipped.path.is_absolute() else str(skipped.path)
    message, next_step = OWN_WORDS.get(skipped.code, (skipped.message, skipped.next_step))
    if skipped.code in OWN_WORDS:
        message, next_step = message.format(name=name), next_step.format(name=name)
    elif skipped.path.is_absolute():
        message = message.replace(str(skipped.path), name)
    return UploadedFile(name=name, outcome="skipped", code=skipped.code, message=message, next_step=next_step)


def _step_of(state: Progress) -> UploadProgress:
    return UploadProgress(files_done=state.files_done, files=state.files, chunks=state.chunks_done, name=state.name)
