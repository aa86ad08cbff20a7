"""The callers and their rights. Each route that reads or asks goes through `identify` (R6-7).

From the first key on that was ever made, each request needs an active key. A key opens its collections and nothing
else, whether or not the caller knows the id of a run, a conversation or a document.

A server without keys is for the person at this machine: it answers loopback addresses only, and only where the browser
or client addressed it by a loopback name, so that no web page elsewhere can reach it through a name of its own. It
refuses requests that a browser sends for a page of another origin, because a form can send an upload without asking.
"""

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, Request

from sourcebound.api.problems import Problem
from sourcebound.api.server import Server, ServerOf
from sourcebound.contracts.labels import may_see
from sourcebound.contracts.run_page.page import documents_of
from sourcebound.contracts.state import AskInput
from sourcebound.store.connection.visibility import restrict_to
from sourcebound.store.keys.api_keys import SCOPES, ApiKey
from sourcebound.store.runs.conversations import RunAccess
from sourcebound.store.runs.log import RunSummary
from sourcebound.store.search.corpus import PostgresIndex

if TYPE_CHECKING:
    from sourcebound.api.tokens.verify import TokenVerifier

LOCAL_NAMES: Final = ("localhost", "::1")
BEARER: Final = "bearer "
TOKEN_DOTS: Final = 2
"""A token has three parts, which dots separate. A key has none."""
Scope = Literal["ask", "read", "ingest"]


class Caller(NamedTuple):
    """The sender of a request.

    It decides which collections the request may name, and is asked again for each document whose text is served.
    """

    key_id: str | None = None
    """The id of its key, or of the holder of its token. None: the local user of a server without keys."""
    scopes: frozenset[str] = frozenset(SCOPES)
    collections: frozenset[str] | None = None
    """The collections that it may read; None: all."""
    labels: frozenset[str] | None = None
    """It may read the documents all of whose labels are among these; None: every document of its collections."""

    def may_use(self, collection: str | None) -> bool:
        """Whether the caller may read a collection. A run of an external bundle has none: None needs all of them."""
        return self.collections is None or (collection is not None and collection in self.collections)

    def may_see(self, labels: Sequence[str] | None) -> bool:
        """Whether the caller holds all of these labels, of a document or of the caller of a run (None: all)."""
        return self.labels is None or (labels is not None and may_see(self.labels, labels))

    def may_read(self, run: RunSummary | RunAccess) -> bool:
        """Whether the caller may read everything that the caller of a run could see."""
        return self.may_use(run.collection) and self.may_see(run.caller_labels)

    def restrict(self, request: AskInput) -> AskInput:
        """Return a request that searches only what the caller sees."""
        return request if self.labels is None else {**request, "caller_labels": sorted(self.labels)}

    def restrict_reads(self) -> None:
        """Restrict the reads of this context to what the caller sees, also where a route forgets to check."""
        restrict_to(self.collections, self.labels)

    def require_scope(self, scope: Scope) -> None:
        """Raise a problem unless the caller has a scope."""
        if scope not in self.scopes:
            detail, next_step = f"the key does not have the scope {scope!r}.", "Use another key."
            raise Problem(403, "SCOPE_FORBIDDEN", detail, next_step)

    def require_collection(self, collection: str | None) -> None:
        """Raise a problem unless the caller may read a collection, whether or not it exists."""
        if not self.may_use(collection):
            raise Problem(
                403,
                "COLLECTION_FORBIDDEN",
                "the key does not open this collection.",
                "Name a collection of the key: GET /v1/collections",
            )

    def require_labels(self, labels: Sequence[str]) -> None:
        """Raise a problem unless the caller holds the labels that it gives to documents."""
        if not self.may_see(labels):
            detail, next_step = "the key does not have all of these labels.", "Give labels of the key only."
            raise Problem(403, "LABEL_FORBIDDEN", detail, next_step)


class CallerAccess(NamedTuple):
    """Decides for one caller which documents may be read (R6-7)."""

    documents: PostgresIndex
    caller: Caller

    async def may_read(self, caller: str | None, collection: str, knowledge_id: str) -> bool:
        """Return whether the caller may read the document, and whether it is still in its collection."""
        if not self.caller.may_use(collection):
            return False
        labels = await self.documents.find_labels(collection, knowledge_id)
        return labels is not None and self.caller.may_see(labels)


async def identify(request: Request, server: ServerOf) -> Caller:
    """Return the sender of a request, after checking that this server answers it.

    From here on, reads of this request see the collections of the caller only, also where a route forgets to check.

    Raises:
        Problem: It has no active key and no valid token (401), or the server needs neither and the request does not
            come from this machine (403).
    """
    given = _given_key(request)
    tokens: TokenVerifier | None = request.app.state.tokens
    if tokens and given and given.count(".") == TOKEN_DOTS:
        caller = Caller(*await tokens.verify(given))
        caller.restrict_reads()
        return caller
    found = await server.services.api_keys.look_up(given)
    if found.is_required or tokens:
        caller = _caller_of(found.key, is_given=given is not None)
    else:
        _require_this_machine(request)
        caller = Caller()
    caller.restrict_reads()
    return caller


def requiring(scope: Scope) -> Callable[..., Awaitable[None]]:
    """Return the dependency of routes that need a scope."""

    async def require_scope(caller: CallerOf) -> None:
        caller.require_scope(scope)

    return require_scope


def _given_key(request: Request) -> str | None:
    header = request.headers.get("authorization", "")
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else None


def _caller_of(key: ApiKey | None, *, is_given: bool) -> Caller:
    if key is not None and key.state == "active":
        rights = (None if names is None else frozenset(names) for names in (key.collections, key.labels))
        return Caller(key.key_id, frozenset(key.scopes), *rights)
    if key is not None:
        code, detail = f"KEY_{key.state.upper()}", f"the key is {key.state}."
    elif is_given:
        code, detail = "KEY_UNKNOWN", "there is no such key."
    else:
        code, detail = "KEY_REQUIRED", "the request has no key."
    next_step = "Send an active key of this server: Authorization: Bearer KEY"
    raise Problem(401, code, detail, next_step, {"WWW-Authenticate": "Bearer"})


def _host_name(request: Request) -> str:
    """Return the name under which the client addressed the server; empty if it is not a name.

    It is read from the header itself: `request.url` has the address of the server in place of a name that it rejects.
    """
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _is_foreign(origin: str, host: str | None) -> bool:
    try:
        return urlsplit(origin).netloc != host
    except ValueError:
        return True


def _require_this_machine(request: Request) -> None:
    if not (request.client is None or is_loopback(request.client.host)):
        raise Problem(
            403,
            "KEYS_REQUIRED",
            "a server without keys answers this machine only.",
            "Use it from the machine that it runs on, or ask its operator for a key.",
        )
    if not is_loopback(_host_name(request)):
        raise Problem(
            403,
            "FOREIGN_HOST",
            "a server without keys answers only under a name of this machine.",
            "Address it as 127.0.0.1 or localhost.",
        )
    origin = request.headers.get("origin")
    if origin is not None and _is_foreign(origin, request.headers.get("host")):
        raise Problem(
            403,
            "FOREIGN_ORIGIN",
            "a server without keys answers no web page of another origin.",
            "Use the page of this server, or a program.",
        )


CallerOf = Annotated[Caller, Depends(identify)]


async def require_conversation(server: Server, caller: Caller, conversation_id: str) -> None:
    """Raise a problem unless the caller may read every run of a conversation. A new one has no run."""
    runs = await server.services.conversations.list_access(conversation_id)
    if not all(map(caller.may_read, runs)):
        raise Problem(
            404, "CONVERSATION_NOT_FOUND", "there is no such conversation.", "Start one with POST /v1/conversations."
        )


async def find_run(server: Server, caller: Caller, run_id: str) -> RunSummary:
    """Return a run that the caller may read.

    Raises:
        Problem: There is none (404), whether it does not exist, its caller could see what this one may not, or one of
            its documents was hidden from this caller later.
    """
    run = await server.services.run_log.find_run(run_id)
    if run is None or not caller.may_read(run) or await _has_hidden(server, caller, run):
        raise Problem(404, "RUN_NOT_FOUND", "there is no such run.", "Use the run_id of a response.")
    return run


async def require_document(server: Server, caller: Caller, collection: str, knowledge_id: str) -> None:
    """Raise a problem unless the caller may read a document, whether or not it exists."""
    caller.require_collection(collection)
    if not await CallerAccess(server.services.index, caller).may_read(caller.key_id, collection, knowledge_id):
        raise Problem(
            404, "DOCUMENT_NOT_FOUND", "the collection has no such document.", "See GET /v1/documents?collection=…"
        )


async def _has_hidden(server: Server, caller: Caller, run: RunSummary) -> bool:
    """Whether the search of a run found a document that is hidden from the caller now."""
    if caller.labels is None or run.collection is None:
        return False
    documents = documents_of(await server.engine.state(run.thread_id, run.run_id))
    return bool(await server.services.index.list_hidden(run.collection, sorted(documents), caller.labels))


def is_loopback(host: str) -> bool:
    """Whether a name or an address is one of this machine's loopback interface."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.lower() in LOCAL_NAMES
    return address.is_loopback or bool(getattr(address, "ipv4_mapped", None) and address.ipv4_mapped.is_loopback)  # type: ignore[union-attr]
