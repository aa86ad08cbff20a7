"""Receives the files of an upload into a folder of its own.

The name of a file is untrusted: only a plain name is accepted, so that no name leads out of the folder. The folder is
removed with the upload, and an upload that does not arrive completely leaves nothing.
"""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, NamedTuple, Self

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, StringConstraints, ValidationError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from sourcebound.api.problems import Problem
from sourcebound.contracts.base import Contract
from sourcebound.contracts.labels import MAX_LABELS, Label
from sourcebound.contracts.text.sanitize import REPLACEMENT, UNSHOWABLE, one_line
from sourcebound.ingest.discovery import UPLOADED, FoundFiles, Skipped, SourceFile
from sourcebound.ingest.loaders.sidecar import SIDECAR_SUFFIX, Sidecar
from sourcebound.ingest.sandbox.failures import DocumentFailure

MEDIA_TYPE: Final = "multipart/form-data"
FILES: Final = "file"
"""The name of the parts that are files."""
LABEL: Final = "label"
"""The name of the parts that are labels."""
LABELS: Final = (
    "The labels of each file. A key with labels opens a document if it has all of its labels. Default: the labels in "
    "its metadata file NAME.meta.toml. Without those, documents keep their labels, and new ones have none."
)
MAX_FILES: Final = 100
MAX_NAME_BYTES: Final = 200
MAX_END_BYTES: Final = 500
"""The end of a body that holds the last boundary."""
BAD_NAME: Final = "BAD_NAME"
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class UploadFields(Contract):
    """The other parts of an upload: metadata of every file in it, and the language of a new collection."""

    equipment_id: Text | None = None
    knowledge_type: Text | None = None
    authority: Text | None = None
    event_date: Annotated[str | None, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] = None
    language: Text | None = None
    label: Annotated[list[Label] | None, Field(max_length=MAX_LABELS, description=LABELS)] = None

    @classmethod
    def read(cls, form: FormData) -> Self:
        """Read the fields of a form.

        Raises:
            RequestValidationError: A field is unknown or has an invalid value.
        """
        given: dict[str, Any] = {name: value for name, value in form.multi_items() if name not in (FILES, LABEL)}
        if LABEL in form:
            given[LABEL] = sorted({each for each in form.getlist(LABEL) if isinstance(each, str)})
        try:
            fields = cls.model_validate(given)
            fields.metadata()
        except ValidationError as error:
            found: list[Any] = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
            raise RequestValidationError(found) from error
        return fields

    def metadata(self) -> Sidecar:
        """Return the metadata of every file."""
        return Sidecar.model_validate(self.model_dump(exclude={"language", LABEL}))


class Upload(NamedTuple):
    """A complete upload."""

    files: FoundFiles
    """Its files with a plain name, and the others with the reason."""
    fields: UploadFields


@contextmanager
def upload_folder() -> Iterator[Path]:
    """Yield a new folder, which is removed at the end."""
    with TemporaryDirectory(prefix="sourcebound-upload-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


async def receive(request: Request, folder: Path) -> Upload:
    """Receive the files of a request.

    Args:
        request: The request. Its body was not read yet.
        folder: A folder for them.

    Raises:
        Problem: The body is not an upload, is too large, too slow, or has no file.
        RequestValidationError: A field is unknown or has an invalid value.
        starlette.requests.ClientDisconnect: The client has gone.
    """
    if not request.headers.get("content-type", "").lower().startswith(MEDIA_TYPE):
        detail = "the body of the request is not an upload."
        raise Problem(415, "NOT_AN_UPLOAD", detail, f"Send {MEDIA_TYPE} with parts named {FILES!r}.")
    form = await _read_form(request)
    try:
        fields, parts = UploadFields.read(form), form.getlist(FILES)
        return Upload(await asyncio.to_thread(_store_parts, parts, folder), fields)
    finally:
        await form.close()


async def _read_form(request: Request) -> FormData:
    """Return the parts of an upload. Its files are in temporary files, which the form closes."""
    limits: dict[str, int] = {"max_files": MAX_FILES, "max_fields": len(UploadFields.model_fields) + MAX_LABELS}
    try:
        return await MultiPartParser(request.headers, _require_end(request), **limits).parse()
    except (MultiPartException, ValueError) as error:  # a client may name an encoding that its bytes do not have
        detail = "the upload is incomplete, cannot be read, or has too many parts."
        raise Problem(400, "MALFORMED_UPLOAD", detail, f"Send at most {MAX_FILES} files, each as a part.") from error


async def _require_end(request: Request) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a body, and raise an error at its end if the last boundary is missing."""
    end = b""
    async for piece in request.stream():
        yield piece
        end = (end + piece)[-MAX_END_BYTES:]
    _, parameters = parse_options_header(request.headers["content-type"])
    if b"--" + parameters.get(b"boundary", b"") + b"--" not in end:
        raise MultiPartException("The last boundary is missing.")


def find_bad_name(name: str) -> str | None:
    """Return what keeps a name from being that of an uploaded file, as a clause; None if it is plain."""
    if not name or name.startswith("."):
        return "is empty or begins with a dot"
    if "/" in name or "\\" in name:
        return "contains a path"
    if UNSHOWABLE.search(name) or "\n" in name or "\t" in name:
        return "has characters that cannot be displayed"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"has more than {MAX_NAME_BYTES} bytes"
    return None


def _store_parts(parts: list[UploadFile | str], folder: Path) -> FoundFiles:
    """Write the files into the folder. A sidecar belongs to its document."""
    skipped: list[Skipped] = []
    stored: dict[str, Path] = {}
    for part in parts:
        name = part.filename or "" if isinstance(part, UploadFile) else ""
        reason = "was sent twice" if name in stored else find_bad_name(name)
        if isinstance(part, str) or reason:
            message = f"the file name {name!r} {reason}."
            shown = Path(one_line(name) or REPLACEMENT)
            skipped.append(Skipped(shown, BAD_NAME, message, "Rename the file, and upload it again."))
            continue
        path = folder / name
        with path.open("xb") as target:
            shutil.copyfileobj(part.file, target)
        stored[name] = path
    files = []
    for name, path in stored.items():
        if not name.endswith(SIDECAR_SUFFIX):
            files.append(SourceFile(path, name, f"{UPLOADED}{name}"))
        elif name.removesuffix(SIDECAR_SUFFIX) not in stored:
            message = f"{name} belongs to no file of this upload."
            skipped.append(Skipped(path, DocumentFailure.BAD_SIDECAR, message, "Upload it together with its file."))
    if not files and not skipped:
        detail = "the upload has no document."
        raise Problem(422, "NO_FILE", detail, f"Send each document as a part named {FILES!r} with a file name.")
    return FoundFiles(files, skipped)
