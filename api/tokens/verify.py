"""The check of bearer tokens: signature, issuer, audience and times; and the rights in their claims.

Only algorithms of the settings are accepted, whatever a token says of itself. The keys are those that the issuer
publishes now, so a new key is found when a token names it, and a withdrawn one is refused after five minutes.
"""

import asyncio
import hashlib
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

import jwt
from jwt.exceptions import PyJWKClientConnectionError, PyJWKClientError

from sourcebound.api.problems import Problem
from sourcebound.api.tokens.keys import IssuerKeys
from sourcebound.api.tokens.settings import TokenSettings
from sourcebound.contracts.labels import MAX_CALLER_LABELS, is_label
from sourcebound.store.keys.api_keys import SCOPES

LOG = logging.getLogger("sourcebound.api")
SKEW_SECONDS: Final = 60
"""The difference between the clocks of the issuer and of this machine that is tolerated."""
FETCHING_THREADS: Final = 2
"""One waits for the issuer, and one for the first. Further tokens wait for a thread."""
MAX_WAITING: Final = 64
"""The most tokens that wait for the issuer. A further one is a 503 at once."""
MAX_CHARACTERS: Final = 16_000
REQUIRED: Final = ("exp", "iss", "aud", "sub")
EVERY: Final = "*"
"""The name in a claim that means all collections, or every document whatever its labels."""


class TokenRights(NamedTuple):
    """The holder of a valid token and the rights in its claims."""

    holder: str
    """A digest of issuer and subject, which names no person."""
    scopes: frozenset[str]
    collections: frozenset[str] | None
    """None: all."""
    labels: frozenset[str] | None
    """None: labels do not restrict it."""


class TokenVerifier:
    """The check of the tokens of one issuer.

    Args:
        settings: The issuer, and the meaning of claims.
    """

    def __init__(self, settings: TokenSettings) -> None:
        self._settings = settings
        self._keys = IssuerKeys(settings)
        self._threads = ThreadPoolExecutor(FETCHING_THREADS, thread_name_prefix="issuer-keys")
        self._waiting = 0

    def close(self) -> None:
        """End the threads that ask the issuer, each after its present read, without waiting for it."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def verify(self, token: str) -> TokenRights:
        """Return the rights of a token.

        Raises:
            Problem: The token is not valid (401), has too many labels (403), or the keys of the issuer cannot be read
                (503).
        """
        try:
            if len(token) > MAX_CHARACTERS:
                raise jwt.DecodeError("too long")
            if jwt.get_unverified_header(token).get("alg") not in self._settings.algorithms:
                raise jwt.InvalidAlgorithmError("not permitted")
            key = self._keys.find_known(token) or await self._fetch(token)
            claims = jwt.decode(
                token,
                key.key,
                algorithms=list(self._settings.algorithms),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                leeway=SKEW_SECONDS,
                options={"require": list(REQUIRED)},
            )
        except PyJWKClientConnectionError as error:
            LOG.error("the keys of the issuer of bearer tokens cannot be read: %s", error)
            detail = "the keys of the token's issuer cannot be read."
            raise Problem(503, "ISSUER_UNAVAILABLE", detail, "Try again later.", {"Retry-After": "10"}) from error
        except (jwt.PyJWTError, PyJWKClientError) as error:
            raise _refuse(error) from error
        return self._read_rights(claims)

    async def _fetch(self, token: str) -> jwt.PyJWK:
        """Return a key that is not remembered. A slow issuer takes no thread that other work of the server needs.

        Raises:
            PyJWKClientConnectionError: The issuer cannot be read, or too many tokens wait for it.
            PyJWTError: The issuer has no such key, or the token cannot be read.
        """
        if self._waiting >= MAX_WAITING:
            raise PyJWKClientConnectionError(f"{MAX_WAITING} tokens wait for the issuer already")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._keys.find, token)
        finally:
            self._waiting -= 1

    def _read_rights(self, claims: dict[str, Any]) -> TokenRights:
        prefix = self._settings.scope_prefix
        named = _list_names(claims.get(self._settings.scope_claim), separator=True)
        scopes = frozenset(name.removeprefix(prefix) for name in named if name.startswith(prefix))
        collections = _list_names(claims.get(self._settings.collections_claim), separator=False)
        labels = _list_names(claims.get(self._settings.labels_claim), separator=False)
        held = None if EVERY in labels else frozenset(filter(is_label, labels))
        if held is not None and len(held) > MAX_CALLER_LABELS:
            raise _too_many_labels(self._settings.labels_claim, len(held))
        subject = f"{self._settings.issuer}\n{claims['sub']}".encode()
        return TokenRights(
            holder=f"oidc_{hashlib.sha256(subject).hexdigest()[:12]}",
            scopes=scopes & frozenset(SCOPES),
            collections=None if EVERY in collections else frozenset(collections),
            labels=held,
        )


def _list_names(claim: object, *, separator: bool) -> list[str]:
    """Return the names in a claim: a list, or a text of one name or, with `separator`, of several."""
    if isinstance(claim, str):
        return claim.split() if separator else [claim]
    return [name for name in claim if isinstance(name, str)] if isinstance(claim, list) else []


def _too_many_labels(claim: str, count: int) -> Problem:
    """Return the problem of a token with more labels than a caller may have. Fewer would hide documents silently."""
    detail = f"the claim {claim} of the token has {count} labels, and at most {MAX_CALLER_LABELS} are permitted."
    next_step = f"Let the issuer put only groups that are labels of documents into {claim}."
    return Problem(403, "TOKEN_LABELS", detail, next_step)


def _refuse(error: Exception) -> Problem:
    """Return the problem of a token that is not valid, in one sentence."""
    code, detail = "TOKEN_INVALID", "the token cannot be read."
    if isinstance(error, jwt.ExpiredSignatureError):
        code, detail = "TOKEN_EXPIRED", "the token has expired."
    elif isinstance(error, jwt.ImmatureSignatureError):
        detail = "the token is not valid yet."
    elif isinstance(error, jwt.InvalidAudienceError):
        detail = "the token is for another audience."
    elif isinstance(error, jwt.InvalidIssuerError):
        detail = "the token is of another issuer."
    elif isinstance(error, jwt.InvalidAlgorithmError):
        detail = "the token is signed with an algorithm that is not accepted."
    elif isinstance(error, PyJWKClientError):
        detail = "the issuer has no such key as the token names."
    elif isinstance(error, jwt.MissingRequiredClaimError):
        detail = f"the token lacks the claim {error.claim}."
    elif isinstance(error, jwt.InvalidSignatureError):
        detail = "the signature of the token is wrong."
    next_step = "Sign in again, and send the new token: Authorization: Bearer TOKEN"
    return Problem(401, code, detail, next_step, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
