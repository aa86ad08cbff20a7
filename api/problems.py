"""Errors of the server as problem details (RFC 9457): a stable code, one sentence, and what to do next (S-3, S-5).

A problem exists only where no run was recorded. The outcome of a recorded run is a response with status 200. Faults of
the database, the models and the configuration are described in general words. Their detail goes to the operator's log.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from sourcebound.errors import ConfigurationError, ModelError, RequestError, SourceboundError, StoreError

LOG = logging.getLogger("sourcebound.api")
MEDIA_TYPE: Final = "application/problem+json"
UNPROCESSABLE: Final = 422
OPENAI_PATHS: Final = ("/v1/chat/", "/v1/models", "/v1/responses")
STATUS_OF: Final[Mapping[str, int]] = {
    "RUN_NOT_FOUND": 404,
    "EVIDENCE_NOT_FOUND": 404,
    "CONVERSATION_NOT_FOUND": 404,
    "COLLECTION_NOT_FOUND": 404,
    "DOCUMENT_NOT_FOUND": 404,
    "ACCESS_REFUSED": 403,
    "RUN_EXISTS": 409,
    "RUN_AT_WORK": 409,
    "RUN_NOT_ENDED": 409,
    "NOT_RECORDED": 409,
    "NOT_CHAINED": 409,
    "NO_SIGNING_KEY": 409,
    "RUN_ERASED": 410,
    "RUN_PRUNED": 410,
    "INDEX_EMBEDDER_MISMATCH": 409,
    "INDEX_LANGUAGE_MISMATCH": 409,
    "UNKNOWN_LANGUAGE": UNPROCESSABLE,
    "UNKNOWN_POLICY": UNPROCESSABLE,
    "UNKNOWN_MODEL": UNPROCESSABLE,
}
"""The HTTP status of an error's code. Other errors of a request are 422."""
OWN_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "RUN_NOT_FOUND": ("there is no such run.", "Use the run_id of a response."),
    "RUN_NOT_ENDED": ("the run has not ended.", "Ask for it again in a moment."),
    "RUN_AT_WORK": ("the run has not ended.", "Ask for it again in a moment."),
    "RUN_EXISTS": ("there is a run with this id already.", "Ask again with a new id."),
    "EVIDENCE_NOT_FOUND": ("the run has no such source.", "Use the anchor of one of its citations."),
    "CONVERSATION_NOT_FOUND": ("there is no such conversation.", "Start one with POST /v1/conversations."),
    "INDEX_EMBEDDER_MISMATCH": (
        "the collection was made with another embedder or chunk size.",
        "Upload into another collection.",
    ),
    "INDEX_LANGUAGE_MISMATCH": ("the collection has another language.", "Leave the language out."),
    "UNKNOWN_LANGUAGE": (
        "there is no such language.",
        "Use a text search configuration of PostgreSQL, such as german, or simple.",
    ),
    "UNKNOWN_POLICY": ("there is no such policy.", "Leave the policy out, or name a released one."),
    "UNKNOWN_MODEL": ("there is no such model.", "Leave the model out, or name one that the server offers."),
    "NO_SIGNING_KEY": ("the server has no key to sign receipts with.", "Its operator makes one: sourcebound keys init"),
    "NOT_RECORDED": ("the run has no audit record, so it has no receipt.", "Ask again."),
    "RUN_ERASED": ("the texts of the run were erased.", "Ask again."),
    "RUN_PRUNED": ("the texts of the run were removed because of their age.", "Ask again."),
}
"""What a caller reads where the words of an error speak to a user of the command line."""


class FieldError(BaseModel):
    """A field of the request that is not acceptable."""

    field: str
    message: str


class ProblemDetails(BaseModel):
    """An error, as every route reports it."""

    type: str = Field(examples=["urn:sourcebound:RUN_NOT_FOUND"])
    title: str
    status: int
    code: str = Field(description="Stable.", examples=["RUN_NOT_FOUND"])
    detail: str = Field(description="What happened, in one sentence.")
    next_step: str = Field(description="What to do about it.")
    request_id: str
    errors: list[FieldError] = []


class Problem(Exception):
    """An answer that is a problem.

    Args:
        status: The HTTP status.
        code: The stable code.
        detail: What happened, in one sentence.
        next_step: What to do about it.
        headers: Further headers of the answer.
        errors: The fields that are not acceptable.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        next_step: str,
        headers: Mapping[str, str] | None = None,
        errors: list[FieldError] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.next_step = next_step
        self.headers = headers
        self.errors = errors or []

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the problem details."""
        return ProblemDetails(
            type=f"urn:sourcebound:{self.code}",
            title=self.code.replace("_", " ").capitalize(),
            status=self.status,
            code=self.code,
            detail=self.detail,
            next_step=self.next_step,
            request_id=request_id,
            errors=self.errors,
        ).model_dump(mode="json")

    def openai_error(self) -> dict[str, Any]:
        """Return the error in the form that clients of OpenAI read."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"message": f"{self.detail} {self.next_step}", "type": kind, "code": self.code, "param": None}

    def response(self, request_id: str, path: str = "") -> JSONResponse:
        """Return the HTTP answer.

        Args:
            request_id: The id of the request.
            path: Its path. Clients of OpenAI's routes find the error in their own form too.
        """
        extra = {"error": self.openai_error()} if path.startswith(OPENAI_PATHS) else {}
        return JSONResponse({**self.body(request_id), **extra}, self.status, self.headers, MEDIA_TYPE)


def as_problem(error: SourceboundError) -> Problem:
    """Return the problem of an error.

    Args:
        error: An error of the engine or of a store.

    Returns:
        The problem. Errors that are not the caller's are described without names of servers, files and settings.
    """
    code = error.failure_code
    if code in STATUS_OF or isinstance(error, RequestError):
        detail, next_step = OWN_WORDS.get(code, (error.message, error.next_step))
        return Problem(STATUS_OF.get(code, UNPROCESSABLE), code, detail, next_step)
    LOG.error("%s: %s %s %s", code, error.message, error.next_step, error.detail)
    if isinstance(error, ConfigurationError):
        return Problem(500, code, "the server is not set up for this request.", "Ask its operator to read its log.")
    if isinstance(error, ModelError):
        return Problem(503, code, "the model cannot be reached.", "Try again later.", {"Retry-After": "5"})
    if isinstance(error, StoreError) and error.is_unavailable:
        return without_database(code)
    return Problem(500, code, "the request failed.", "Ask the operator of the server to read its log.")


def without_database(code: str = StoreError.code) -> Problem:
    """Return the problem of a request while the database does not answer."""
    return Problem(503, code, "the database does not answer.", "Try again later.", {"Retry-After": "5"})


def request_id_of(request: Request) -> str:
    """Return the id of a request, which the limits gave it."""
    return str(request.scope["state"]["request_id"])


def add_problem_handlers(app: FastAPI) -> None:
    """Make every error of an application an answer with problem details."""

    @app.exception_handler(Problem)
    async def own(request: Request, error: Problem) -> JSONResponse:
        return error.response(request_id_of(request), request.scope["path"])

    @app.exception_handler(SourceboundError)
    async def fault(request: Request, error: SourceboundError) -> JSONResponse:
        return as_problem(error).response(request_id_of(request), request.scope["path"])

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _invalid_request(error).response(request_id_of(request), request.scope["path"])

    @app.exception_handler(HTTPException)
    async def of_framework(request: Request, error: HTTPException) -> JSONResponse:
        return _framework_problem(error).response(request_id_of(request), request.scope["path"])

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> JSONResponse:
        problem = Problem(500, "FAULT", "the request failed.", "Ask the operator of the server to read its log.")
        return problem.response(request_id_of(request), request.scope["path"])


def _invalid_request(error: RequestValidationError) -> Problem:
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return Problem(400, "MALFORMED_JSON", "the body of the request is not JSON.", "Send a JSON object.")
    if any(each["loc"] == ("body",) and each["type"] == "model_attributes_type" for each in found):
        detail, next_step = "the body of the request is not a JSON object.", "Send one, as application/json."
        return Problem(UNPROCESSABLE, "INVALID_REQUEST", detail, next_step)
    fields = [FieldError(field=_field_name(each["loc"]), message=str(each["msg"])) for each in found]
    named = f"the field {fields[0].field!r} is not acceptable: {fields[0].message}."
    return Problem(UNPROCESSABLE, "INVALID_REQUEST", named, "Correct the field, or leave it out.", errors=fields)


def _field_name(place: tuple[Any, ...]) -> str:
    """Return the name of a field without the part of the request that it is in."""
    return ".".join(map(str, place[1:])) or "body"


def _framework_problem(error: HTTPException) -> Problem:
    if error.status_code == 404:
        return Problem(404, "NOT_FOUND", "there is no such address.", "See /openapi.json for the routes.")
    if error.status_code == 405:
        detail, next_step = "the route does not have this method.", "See /openapi.json for the routes."
        return Problem(405, "METHOD_NOT_ALLOWED", detail, next_step, error.headers)
    detail = "the request cannot be read."
    return Problem(error.status_code, "BAD_REQUEST", detail, "Correct the request.", error.headers)
