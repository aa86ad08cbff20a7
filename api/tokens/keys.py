"""The public keys of an issuer of tokens: their address is set, or read from the issuer's own description.

The description is that of OpenID Connect Discovery 1.0, section 4, at `/.well-known/openid-configuration`. It is read
when the first token arrives, so the server starts whether or not the issuer answers.
"""

import json
import threading
import time
from http.client import HTTPException
from typing import Final
from urllib.request import urlopen

import jwt
from jwt.exceptions import PyJWKClientConnectionError, PyJWTError

from sourcebound.api.tokens.settings import TokenSettings, is_secure

PATH: Final = "/.well-known/openid-configuration"
KEYS_SECONDS: Final = 300
"""The time that published keys are remembered."""
REFRESH_SECONDS: Final = 10
"""The shortest time between two reads of the keys, however many tokens name an unknown one, and between two attempts to
read keys or a description that cannot be read."""
DISCOVERY_SECONDS: Final = 3600
"""The time that the address of the keys is remembered."""
FETCH_SECONDS: Final = 5
USES: Final = ("sig", None)
"""The uses of a key that may sign tokens. None: the issuer does not say."""
MAX_BYTES: Final = 1_000_000


class _KeyReader(jwt.PyJWKClient):
    """A reader of published keys that also pauses after a read that failed.

    A set without keys for signatures is a failed read: it says nothing about a token.

    Args:
        url: The address of the keys.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, lifespan=KEYS_SECONDS, timeout=FETCH_SECONDS, cooldown_duration=REFRESH_SECONDS)
        self._again_at = 0.0

    def list_known(self) -> list[jwt.PyJWK]:
        """Return the remembered keys that may sign tokens. Waits for nothing."""
        known = self.jwk_set_cache.get() if self.jwk_set_cache else None
        return [key for key in known.keys if key.public_key_use in USES] if known else []

    def get_signing_keys(self, refresh: bool = False) -> list[jwt.PyJWK]:
        """Return the keys that may sign tokens. The caller holds the lock of the client.

        Args:
            refresh: Whether to read them again though they are remembered.

        Raises:
            PyJWKClientConnectionError: They cannot be read, or could not be a moment ago.
        """
        if time.monotonic() < self._again_at:
            raise PyJWKClientConnectionError(f"{self.uri}: the last read failed, and the next one is not due")
        try:
            return super().get_signing_keys(refresh)
        except (PyJWTError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            # the last three: PyJWT does not check the form of a key before it reads it
            self._again_at = time.monotonic() + REFRESH_SECONDS
            if self.jwk_set_cache and not self.list_known():
                self.jwk_set_cache.put(None)  # a set without keys for signatures, which would be remembered
            raise PyJWKClientConnectionError(f"{self.uri}: {error}") from error


class IssuerKeys:
    """The keys of one issuer. Threads may ask for keys at once.

    Args:
        settings: The issuer.
    """

    def __init__(self, settings: TokenSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._client: _KeyReader | None = None
        self._again_at = 0.0

    def find_known(self, token: str) -> jwt.PyJWK | None:
        """Return the key that a token names if it is remembered. Waits for nothing: no thread, no lock, no issuer.

        Raises:
            PyJWTError: The token cannot be read.
        """
        key_id = jwt.get_unverified_header(token).get("kid")
        if self._client is None or not key_id:
            return None
        return next((key for key in self._client.list_known() if key.key_id == key_id), None)

    def find(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names, from the issuer if it is not remembered. Waits for other calls of this.

        Raises:
            PyJWKClientConnectionError: The issuer does not answer, or its description or its keys are not valid, or
                have no key for signatures.
            PyJWTError: The issuer has no such key, or the token cannot be read.
        """
        return self._open().get_signing_key_from_jwt(token)

    def _open(self) -> _KeyReader:
        """Return the reader of the keys. An address that was found stays in use while the issuer does not answer.

        One thread reads the description. Others wait for it only if no address is known yet.
        """
        if self._lock.acquire(blocking=self._client is None):
            try:
                self._read_in_turn()
            finally:
                self._lock.release()
        if self._client is None:
            raise PyJWKClientConnectionError("the description of the issuer cannot be read")
        return self._client

    def _read_in_turn(self) -> None:
        """Find the address of the keys, if the time has come to look for it."""
        if time.monotonic() < self._again_at:
            return
        self._again_at = time.monotonic() + REFRESH_SECONDS
        url = self._settings.keys_url or self._try_to_discover()
        if url is not None:
            self._again_at = time.monotonic() + DISCOVERY_SECONDS
        if url is not None and (self._client is None or self._client.uri != url):
            self._client = _KeyReader(url)

    def _try_to_discover(self) -> str | None:
        """Return the address of the keys; None if the description cannot be read and an address is known."""
        try:
            return discover(self._settings.issuer)
        except PyJWKClientConnectionError:
            if self._client is None:
                raise
            return None


def discover(issuer: str) -> str:
    """Return the address of an issuer's keys, from its description.

    Args:
        issuer: The issuer, as `iss` names it.

    Raises:
        PyJWKClientConnectionError: The description cannot be read, is of another issuer, or names no address with TLS.
    """
    address = issuer.rstrip("/") + PATH
    try:
        with urlopen(address, timeout=FETCH_SECONDS) as answer:  # an address of the operator
            if not is_secure(answer.url):
                raise ValueError("it was redirected to an address without TLS")
            described = json.loads(answer.read(MAX_BYTES))
        if described.get("issuer") != issuer:
            raise ValueError(f"it is of the issuer {described.get('issuer')!r}")
        url = described.get("jwks_uri")
        if not (isinstance(url, str) and is_secure(url)):
            raise ValueError("its jwks_uri is not an https address")
    except (OSError, HTTPException, ValueError, AttributeError) as error:
        raise PyJWKClientConnectionError(f"{address}: {error}") from error
    return url
