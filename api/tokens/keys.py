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
from jwt.exceptions import PyJWKClientConnectionError

from sourcebound.api.tokens.settings import TokenSettings, is_secure

PATH: Final = "/.well-known/openid-configuration"
KEYS_SECONDS: Final = 300
"""The time that published keys are remembered."""
REFRESH_SECONDS: Final = 10
"""The shortest time between two reads of the keys, however many tokens name an unknown one, and between two attempts to
read a description that cannot be read."""
DISCOVERY_SECONDS: Final = 3600
"""The time that the address of the keys is remembered."""
FETCH_SECONDS: Final = 5
USES: Final = ("sig", None)
"""The uses of a key that may sign tokens. None: the issuer does not say."""
MAX_BYTES: Final = 1_000_000


class IssuerKeys:
    """The keys of one issuer. Threads may ask for keys at once.

    Args:
        settings: The issuer.
    """

    def __init__(self, settings: TokenSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._client: jwt.PyJWKClient | None = None
        self._again_at = 0.0

    def find_known(self, token: str) -> jwt.PyJWK | None:
        """Return the key that a token names if it is remembered. Waits for nothing: no thread, no lock, no issuer.

        Raises:
            PyJWTError: The token cannot be read.
        """
        cache = self._client.jwk_set_cache if self._client else None
        known = cache.get() if cache else None
        key_id = jwt.get_unverified_header(token).get("kid")
        if known is None or not key_id:
            return None
        return next((key for key in known.keys if key.key_id == key_id and key.public_key_use in USES), None)

    def find(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names, from the issuer if it is not remembered. Waits for other calls of this.

        Raises:
            PyJWKClientConnectionError: The issuer does not answer, or its description or its keys are not valid.
            PyJWTError: The issuer has no such key, or the token cannot be read.
        """
        client = self._open()
        try:
            return client.get_signing_key_from_jwt(token)
        except (OSError, ValueError) as error:  # a connection that ends early, or an answer that is not JSON
            raise PyJWKClientConnectionError(f"{client.uri}: {error}") from error

    def _open(self) -> jwt.PyJWKClient:
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
            self._client = jwt.PyJWKClient(
                url, lifespan=KEYS_SECONDS, timeout=FETCH_SECONDS, cooldown_duration=REFRESH_SECONDS
            )

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
