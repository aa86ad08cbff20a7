"""The page at `/`: fixed files of this package. Everything else on it comes from the routes of the caller (R6-7)."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from fastapi import APIRouter, Request, Response

from sourcebound.api.problems import Problem

router = APIRouter(include_in_schema=False)
INDEX: Final = "index.html"
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""The page loads from this server only, has no inline script, and turns no text into HTML."""


class PageFile(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str
    """Its entity tag."""


@router.get("/")
async def index(request: Request) -> Response:
    """Return the page."""
    return _serve(request, INDEX)


@router.get("/page/{name}")
async def part(request: Request, name: str) -> Response:
    """Return a script, the style sheet or the icon of the page."""
    return _serve(request, name)


def _serve(request: Request, name: str) -> Response:
    found = load_page().get(name)
    if found is None:
        raise Problem(404, "NOT_FOUND", "there is no such address.", "Open the page at /.")
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": found.tag}
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


@cache
def load_page() -> dict[str, PageFile]:
    """Return the files of the page by name."""
    loaded: dict[str, PageFile] = {}
    for entry in (files("sourcebound.api") / "page").iterdir():
        media_type = MEDIA_TYPES.get("." + entry.name.rpartition(".")[2])
        if media_type:
            content = entry.read_bytes()
            loaded[entry.name] = PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:16]}"')
    return loaded
