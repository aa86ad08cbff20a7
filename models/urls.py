"""Addresses of model servers, as people write them and as messages may show them."""

from typing import Final
from urllib.parse import urlsplit

from sourcebound.errors import ConfigurationError

OLLAMA_PORT: Final = 11434


def ollama_url(host: str, name: str = "OLLAMA_HOST") -> str:
    """The URL for a value of `OLLAMA_HOST`; the client itself would take one it cannot read for its default.

    Args:
        host: The value.
        name: What it is called where it comes from.

    Raises:
        ConfigurationError: It is neither a host, `host:port` nor an http URL.
    """
    url = host if "://" in host else f"http://{host}"
    if not _is_readable(url):
        raise _no_address(name, "http://127.0.0.1:11434, host:port or host")
    return url if "://" in host or urlsplit(url).port else f"{url}:{OLLAMA_PORT}"


def openai_url(url: str, name: str = "OPENAI_BASE_URL") -> str:
    """The address of a server of OpenAI's protocol, without a slash at its end.

    Args:
        url: As it is set.
        name: What it is called where it comes from.

    Raises:
        ConfigurationError: It is no http URL, or has a user or a password, which would go before the key.
    """
    if not _is_readable(url):
        raise _no_address(name, "http://127.0.0.1:8000/v1")
    if credentials(url):
        raise ConfigurationError(
            f"{name} holds a user or a password.", "Write the address without; a key has a variable of its own."
        )
    return url.rstrip("/")


def without_credentials(url: str) -> str:
    """The URL without user, password and query, for messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def credentials(url: str) -> tuple[str, str] | None:
    """User and password of a URL, where it has them."""
    parts = urlsplit(url)
    return (parts.username or "", parts.password or "") if parts.username or parts.password else None


def _is_readable(url: str) -> bool:
    """Whether it is an http URL with a host, and a port that can be one where it has a port."""
    if any(character.isspace() for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _no_address(name: str, forms: str) -> ConfigurationError:
    return ConfigurationError(f"{name} is not an address.", f"Write it as {forms}.", code="MODEL_ADDRESS")
