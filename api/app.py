"""The application: its routes over one set of open services."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Depends, FastAPI
from starlette.routing import Route

from sourcebound.api.asking import Asking
from sourcebound.api.callers import identify
from sourcebound.api.limits import BodySizes, RequestLimits
from sourcebound.api.metrics import Metrics
from sourcebound.api.problems import MEDIA_TYPE, ProblemDetails, add_problem_handlers
from sourcebound.api.routes import ask, chat, corpus, feedback, health, page, page_images, records, responses
from sourcebound.api.routes import uploads as uploading
from sourcebound.api.server import Server
from sourcebound.api.tokens.settings import read_token_settings
from sourcebound.api.uploads.ingesting import Uploads
from sourcebound.graph.engine import Engine
from sourcebound.settings import Settings
from sourcebound.wiring import Services

if TYPE_CHECKING:
    from sourcebound.api.mcp_server import McpEndpoint
    from sourcebound.api.tokens.verify import TokenVerifier

DESCRIPTION: Final = (
    "Answers questions from your own documents, and from nothing else. Every outcome of a recorded run has the status "
    "200: an answer, a refusal (`NO_EVIDENCE`) or a failure (`FAILED`). An error has a stable `code` "
    "(application/problem+json), and no run was recorded for it."
)
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "No run was recorded.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
}


def create_app(services: Services) -> FastAPI:
    """Build the application.

    Args:
        services: Open services, which outlive the application.

    Returns:
        An ASGI application. At its start it resumes interrupted runs. At its end it interrupts questions that have not
        ended, and the next start resumes them.
    """
    settings, engine = services.settings, Engine(services)
    metrics = Metrics()
    uploads = Uploads(services)
    server = Server(services, engine, Asking(engine, settings.max_questions, metrics), metrics)
    tokens = _open_tokens(settings)
    endpoint = _open_mcp(server)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        server.asking.resume_interrupted()
        async with endpoint.running() if endpoint else nullcontext():
            yield
        await uploads.close()
        await server.asking.close()
        if tokens:
            tokens.close()

    app = FastAPI(
        title="Sourcebound",
        version=version("sourcebound"),
        description=DESCRIPTION,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server = server
    app.state.uploads = uploads
    app.state.tokens = tokens
    app.state.page_images = page_images.PageImages(services)
    sizes = BodySizes(settings.max_request_megabytes * 1_000_000, settings.max_upload_megabytes * 1_000_000)
    app.add_middleware(RequestLimits, sizes=sizes, metrics=metrics)
    add_problem_handlers(app)
    _include_routes(app)
    if endpoint:
        app.router.routes.append(Route("/mcp", endpoint, include_in_schema=False))
    _describe_problems(app)
    return app


def _include_routes(app: FastAPI) -> None:
    """Add the routes: those that identify their caller, and the few that say nothing of what is stored."""
    checked = APIRouter(dependencies=[Depends(identify)], responses=PROBLEMS)
    for routes in (
        ask.router,
        records.router,
        corpus.router,
        page_images.router,
        uploading.router,
        feedback.router,
        chat.router,
        responses.router,
    ):
        checked.include_router(routes)
    checked.include_router(health.measured)
    app.include_router(checked)
    app.include_router(health.router)
    app.include_router(page.router)  # files only, which say nothing of what is stored


def _open_tokens(settings: Settings) -> "TokenVerifier | None":
    """Return the check of bearer tokens; None if no issuer is set (extra `oidc`)."""
    found = read_token_settings(settings)
    if found is None:
        return None
    from sourcebound.api.tokens.verify import TokenVerifier

    return TokenVerifier(found)


def _open_mcp(server: Server) -> "McpEndpoint | None":
    """Return the MCP server; None if its package (the extra `mcp`) is not installed."""
    if find_spec("mcp") is None:
        return None
    from sourcebound.api.mcp_server import McpEndpoint

    return McpEndpoint(server)


def _describe_problems(app: FastAPI) -> None:
    """Put the form of a problem into the OpenAPI document, in place of the framework's own form of errors."""
    generate = app.openapi

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = generate()
            schemas = document["components"]["schemas"]
            form = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= form.pop("$defs") | {"ProblemDetails": form}
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]
