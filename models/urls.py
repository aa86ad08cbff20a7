"""Parses the addresses of model servers, and makes them safe for messages."""

from typing import Final
from urllib.parse import urlsplit

from sourcebound.errors import ConfigurationError

OLLAMA_PORT: Final = 11434


def ollama_url(host: str, name: str = "OLLAMA_HOST") -> str:
    """Return the URL for a value of `OLLAMA_HOST`. The client would replace an unreadable value by its default.

    Args:
        host: The value.
        name: The name of the setting, for messages.

    Raises:
        ConfigurationError: The value is not a host, `host:port` or an http URL.
    """
    url = host if "://" in host else f"http://{host}"
    if not _is_readable(url):
        raise _bad_address_error(name, "http://127.0.0.1:11434, host:port or host")
    return url if "://" in host or urlsplit(url).port else f"{url}:{OLLAMA_PORT}"


def openai_url(url: str, name: str = "OPENAI_BASE_URL") -> str:
    """Return the address of a server of OpenAI's protocol, without a trailing slash.

    Args:
        url: The configured value.
        name: The name of the setting, for messages.

    Raises:
        ConfigurationError: It is not an http URL, or has a user or a password, which would override the key.
    """
    if not _is_readable(url):
        raise _bad_address_error(name, "http://127.0.0.1:8000/v1")
    if credentials(url):
        raise ConfigurationError(f"{name} contains a user or a password.", "Remove them. A key has its own variable.")
    return url.rstrip("/")


def without_credentials(url: str) -> str:
    """Return the URL without user, password and query, for messages."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def credentials(url: str) -> tuple[str, str] | None:
    """Return user and password of a URL, or None if it has neither."""
    parts = urlsplit(url)
    return (parts.username or "", parts.password or "") if parts.username or parts.password else None


def _is_readable(url: str) -> bool:
    """Tell whether this is an http URL with a host and, if it has a port, a valid one."""
    if any(character.isspace() for character in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _bad_address_error(name: str, formats: str) -> ConfigurationError:
    return ConfigurationError(f"{name} is not a valid address.", f"Write it as {formats}.", code="MODEL_ADDRESS")
