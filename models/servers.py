"""Checks a model server before the first request: can it be reached, is the key valid, does it have the model?

A wrong address, key or name costs the user an hour if it shows as a failed run, and a minute if one sentence reports it
before the run begins.
"""

import difflib
from typing import Any, Final, NamedTuple

import httpx
from pydantic import SecretStr

from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.faults import ServerWording

PROBE_SECONDS: Final = 10.0
SHOWN_NAMES: Final = 5
BUSY: Final = (408, 429)


class ServerFacts(NamedTuple):
    """The facts that a server reports about itself and a model."""

    digest: str | None = None
    """The digest of the model's weights, if the server reports one."""
    context_window: int | None = None
    """The largest context window that the server allows the model, if it reports one."""
    models: tuple[str, ...] = ()
    """The names of its models; empty if it has no list."""


async def examine_openai(
    profile: ModelProfile, url: str, api_key: SecretStr | None, wording: ServerWording
) -> ServerFacts:
    """Examine a server of OpenAI's protocol.

    Args:
        profile: The model.
        url: The address including `/v1`.
        api_key: The key.
        wording: The wording of messages about the server.

    Returns:
        The facts that the server reports.

    Raises:
        ModelError: It cannot be reached, or does not speak the protocol.
        ConfigurationError: It refuses the key, or does not have the model.
    """
    async with _client() as client:
        headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
        missing = _no_list_error(wording) if profile.listed else None
        listing = await _request_json(client, "GET", f"{url.rstrip('/')}/models", wording, missing, headers=headers)
    entries = {str(entry["id"]): entry for entry in _read_entries(listing, "data", wording) if "id" in entry}
    _check_listed(profile, tuple(entries), wording)
    window = entries.get(profile.model, {}).get("max_model_len")
    return ServerFacts(None, window if isinstance(window, int) else None, tuple(entries))


async def examine_ollama(
    profile: ModelProfile, url: str, auth: tuple[str, str] | None, wording: ServerWording
) -> ServerFacts:
    """Examine an Ollama server: its list of models, and the context window of the model.

    Args:
        profile: The model.
        url: The address, without user and password.
        auth: User and password.
        wording: The wording of messages about the server.

    Returns:
        The facts that the server reports.

    Raises:
        ModelError: It cannot be reached, or is not an Ollama server.
        ConfigurationError: It refuses the user, or does not have the model.
    """
    async with _client() as client:
        missing = ConfigurationError(
            f"{wording.address} is not an Ollama server.", as_sentence(wording.when_unreachable), code="MODEL_ADDRESS"
        )
        listing = await _request_json(client, "GET", f"{url.rstrip('/')}/api/tags", wording, missing, auth=auth)
        entries = {str(entry["name"]): entry for entry in _read_entries(listing, "models", wording) if "name" in entry}
        _check_listed(profile, tuple(entries), wording)
        body = {"model": profile.model}
        details = await _request_json(client, "POST", f"{url.rstrip('/')}/api/show", wording, auth=auth, json=body)
    listed_model = entries.get(profile.model) or entries.get(f"{profile.model}:latest") or {}
    info = details.get("model_info") if isinstance(details, dict) else None
    windows = [
        value for key, value in (info or {}).items() if key.endswith(".context_length") and isinstance(value, int)
    ]
    digest = listed_model.get("digest")
    return ServerFacts(str(digest) if digest else None, windows[0] if windows else None, tuple(entries))


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PROBE_SECONDS, follow_redirects=False)


def _no_list_error(wording: ServerWording) -> ConfigurationError:
    return ConfigurationError(
        f"{wording.address} has no list of models.",
        "Correct the address, which usually ends with /v1. If the server has no list, set `listed = false` in the "
        "model's profile.",
        code="MODEL_ADDRESS",
    )


async def _request_json(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    wording: ServerWording,
    missing: ConfigurationError | None = None,
    **options: Any,
) -> Any:
    """Make a request and return its JSON, or None if the server does not have that page or is too busy.

    Args:
        client: The HTTP client.
        method: The HTTP method.
        url: The address.
        wording: The wording of messages about the server.
        missing: The error to raise if the server does not have that page.
        **options: Headers and body.

    Raises:
        ModelError: It cannot be reached, or its answer is not JSON.
        ConfigurationError: It requires another key, or redirects to another address.
    """
    server = wording.address
    try:
        answer = await client.request(method, url, **options)
    except httpx.InvalidURL:
        raise ConfigurationError(f"{server} is not a valid address.", as_sentence(wording.when_unreachable)) from None
    except httpx.HTTPError as error:
        raise _connection_error(error, url, wording) from None
    if _is_plain_to_tls(answer, url):
        raise _scheme_error(server, "https", "http")
    if answer.status_code in (401, 403):
        raise ConfigurationError(
            f"{server} does not accept the key.", as_sentence(wording.when_unauthorised), code="MODEL_KEY_REFUSED"
        )
    if 300 <= answer.status_code < 400:
        raise ConfigurationError(f"{server} redirects to another address.", "Set the address that it redirects to.")
    if missing and 400 <= answer.status_code < 500 and answer.status_code not in BUSY:
        raise missing
    if answer.status_code >= 400:
        return None
    try:
        return answer.json()
    except ValueError:
        raise ModelError(
            f"{server} does not speak the protocol of a model server.", as_sentence(wording.when_unreachable)
        ) from None


def _connection_error(error: httpx.HTTPError, url: str, wording: ServerWording) -> ModelError | ConfigurationError:
    server, secure = wording.address, url.startswith("https:")
    description = str(error)
    if secure and ("WRONG_VERSION_NUMBER" in description or "record layer" in description):
        return _scheme_error(server, "http", "https")
    if secure and "CERTIFICATE" in description:
        return ModelError(
            f"{server} has a certificate that this machine does not trust.",
            "Set SSL_CERT_FILE to the file of its authority.",
        )
    if not secure and isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return ModelError(f"{server} answers, but not in http.", "If it uses https, write the address with https://.")
    if isinstance(error, httpx.TimeoutException):
        return ModelError(f"{server} did not answer in {PROBE_SECONDS:g} s.", as_sentence(wording.when_unreachable))
    return ModelError(f"{server} cannot be reached.", as_sentence(wording.when_unreachable))


def _is_plain_to_tls(answer: httpx.Response, url: str) -> bool:
    """Tell whether an https server reports that it received plain http."""
    if url.startswith("https:"):
        return False
    moved = answer.is_redirect and answer.headers.get("location", "").startswith("https:")
    return moved or (answer.status_code == 400 and "https" in answer.text[:1000].lower())


def _scheme_error(server: str, actual: str, configured: str) -> ConfigurationError:
    return ConfigurationError(
        f"{server} uses {actual}, and its address says {configured}.",
        f"Write the address with {actual}://.",
        code="MODEL_ADDRESS",
    )


def _read_entries(listing: Any, key: str, wording: ServerWording) -> list[dict[str, Any]]:
    """Return the entries of a list of models; empty if the server has no list.

    Raises:
        ModelError: The response is not such a list.
    """
    if listing is None:
        return []
    entries = listing.get(key) if isinstance(listing, dict) else None
    if not isinstance(entries, list):
        raise ModelError(
            f"{wording.address} does not speak the protocol of a model server.", as_sentence(wording.when_unreachable)
        )
    return [entry for entry in entries if isinstance(entry, dict)]


def _check_listed(profile: ModelProfile, names: tuple[str, ...], wording: ServerWording) -> None:
    """Check that the server's list of models, if it has one, contains the model."""
    if not profile.listed or not names or {profile.model, f"{profile.model}:latest"} & {*names}:
        return
    alternatives = difflib.get_close_matches(profile.model, names, SHOWN_NAMES, 0.3) or list(names[:SHOWN_NAMES])
    raise ConfigurationError(
        f"{wording.address} has no model {profile.model!r}. It has, for example, {', '.join(alternatives)}.",
        as_sentence(wording.when_unknown),
        code="UNKNOWN_MODEL",
    )


def as_sentence(wording: str) -> str:
    """Convert a clause to a sentence."""
    return f"{wording[0].upper()}{wording[1:]}."
