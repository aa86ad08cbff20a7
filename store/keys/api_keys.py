"""API keys: made once and shown once; the database holds a digest, the scopes and the collections of each.

Only the owner of the tables makes and revokes keys. The role of the application reads them (R5P-8).
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from sourcebound.errors import RequestError
from sourcebound.store.connection.database import Pool, Row, fetch_one, store_faults
from sourcebound.store.connection.queries import query

FORM: Final = re.compile(r"sb_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
SCOPES: Final = ("ask", "read", "ingest")
"""`ask`: questions and feedback; `read`: documents, runs and evidence; `ingest`: uploads."""
DEFAULT_SCOPES: Final = ("ask", "read")


class ApiKey(NamedTuple):
    """A key without its secret."""

    key_id: str
    name: str
    scopes: tuple[str, ...]
    collections: tuple[str, ...] | None
    """None: all collections."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    labels: tuple[str, ...] | None = None
    """It opens the documents all of whose labels are among these. None: every document of its collections."""

    @property
    def state(self) -> str:
        """`active`, `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= datetime.now(UTC) else "active"


class MadeKey(NamedTuple):
    """A new key, and the text that its holder sends. Nothing can show the text again."""

    key: ApiKey
    text: str


class KeyLookup(NamedTuple):
    """The result of looking for the key of a request."""

    is_required: bool
    """Whether a key was ever made. From then on, each request needs one."""
    key: ApiKey | None
    """The key whose text was given, whatever its state; None for any other text."""


class ApiKeys:
    """The table `api_keys`.

    Args:
        pool: Connections to its database.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def make(
        self,
        name: str,
        scopes: Sequence[str],
        collections: Sequence[str] | None,
        expires_at: datetime | None,
        labels: Sequence[str] | None = None,
    ) -> MadeKey:
        """Make a key.

        Args:
            name: A name for people.
            scopes: Some of `SCOPES`.
            collections: The collections that it opens; None for all.
            expires_at: The time from which it opens nothing.
            labels: The labels of its holder: it opens the documents all of whose labels are among them. None for every
                document.
        """
        key_id = secrets.token_hex(6)
        text = f"sb_{key_id}_{secrets.token_urlsafe(32)}"
        values = {
            "key_id": key_id,
            "name": name,
            "digest": _digest(text),
            "scopes": list(scopes),
            "collections": None if collections is None else list(collections),
            "expires_at": expires_at,
            "labels": None if labels is None else list(labels),
        }
        with store_faults():
            async with self._pool.connection() as connection:
                row = await (await connection.execute(query("insert_api_key"), values)).fetchone()
        assert row is not None
        return MadeKey(_to_key(row), text)

    async def look_up(self, text: str | None) -> KeyLookup:
        """Look for the key with this text.

        Args:
            text: The text that a caller gave; None if it gave none.
        """
        match = FORM.fullmatch(text or "")
        row = await fetch_one(self._pool, query("find_api_key"), {"key_id": match[1] if match else None})
        assert row is not None
        is_known = row["digest"] is not None and hmac.compare_digest(row["digest"], _digest(text or ""))
        return KeyLookup(row["is_required"], _to_key(row) if is_known else None)

    async def list(self) -> list[ApiKey]:
        """Return every key, the oldest first."""
        with store_faults():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(query("list_api_keys"))
                return [_to_key(row) for row in await cursor.fetchall()]

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key. A revoked key stays revoked, and opens nothing from now on.

        Raises:
            RequestError: There is no such key (`KEY_NOT_FOUND`).
        """
        row = await fetch_one(self._pool, query("revoke_api_key"), {"key_id": key_id})
        if row is None:
            raise RequestError(f"there is no key {key_id!r}.", "See `sourcebound keys list`.", code="KEY_NOT_FOUND")
        return _to_key(row)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _to_key(row: Row) -> ApiKey:
    return ApiKey(
        key_id=row["key_id"],
        name=row["name"],
        scopes=tuple(row["scopes"]),
        collections=None if row["collections"] is None else tuple(row["collections"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        labels=None if row["labels"] is None else tuple(row["labels"]),
    )
