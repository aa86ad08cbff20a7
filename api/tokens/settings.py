"""The settings of bearer tokens: which issuer signs them, for whom, and what their claims permit."""

from importlib.util import find_spec
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from sourcebound.api.callers import is_loopback
from sourcebound.errors import ConfigurationError
from sourcebound.settings import Settings

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""The algorithms that a setting may name. All sign with a private key, so no published key can sign a token."""


class TokenSettings(NamedTuple):
    """The source of tokens, and the meaning of their claims."""

    issuer: str
    audience: str
    keys_url: str | None
    """None: the issuer's own description names it."""
    algorithms: tuple[str, ...]
    scope_claim: str
    scope_prefix: str
    collections_claim: str
    labels_claim: str


def read_token_settings(settings: Settings) -> TokenSettings | None:
    """Return the settings of tokens; None if no issuer is set.

    Raises:
        ConfigurationError: A setting is missing or unsafe, or the extra `oidc` is not installed.
    """
    if settings.oidc_issuer is None:
        return None
    if settings.oidc_audience is None:
        raise _error("SOURCEBOUND_OIDC_ISSUER also needs an audience.", "AUDIENCE")
    if not is_secure(settings.oidc_keys_url or settings.oidc_issuer):
        raise _error("the keys of the issuer would be read without TLS.", "ISSUER or _KEYS_URL to an https address")
    algorithms = tuple(name.strip() for name in settings.oidc_algorithms.split(",") if name.strip())
    if not algorithms or not ALGORITHMS.issuperset(algorithms):
        raise _error(
            "an algorithm of tokens is unknown or not safe.", f"ALGORITHMS to some of {', '.join(sorted(ALGORITHMS))}"
        )
    if find_spec("jwt") is None:
        raise ConfigurationError(
            "bearer tokens need PyJWT.", "Run `pip install 'sourcebound[oidc]'`.", code="OIDC_UNAVAILABLE"
        )
    return TokenSettings(
        settings.oidc_issuer,
        settings.oidc_audience,
        settings.oidc_keys_url,
        algorithms,
        settings.oidc_scope_claim,
        settings.oidc_scope_prefix,
        settings.oidc_collections_claim,
        settings.oidc_labels_claim,
    )


def is_secure(address: str) -> bool:
    """Whether an address has TLS, or is one of this machine."""
    try:
        url = urlsplit(address)
    except ValueError:
        return False
    return url.scheme == "https" or (url.scheme == "http" and is_loopback(url.hostname or ""))


def _error(message: str, missing: str) -> ConfigurationError:
    return ConfigurationError(message, f"Set SOURCEBOUND_OIDC_{missing}.", code="BAD_OIDC_SETTINGS")
