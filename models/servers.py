"""Looks at a model server before it is asked anything: is it there, is the key right, does it have the model?

A wrong address, key or name costs a person an hour when it shows as a failed run, and a minute when it is said in one
sentence before the run begins.
"""

import difflib
from typing import Any, Final, NamedTuple

import httpx
from pydantic import SecretStr

from sourcebound.contracts.execution.model_profile import ModelProfile
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.faults import ServerWords

PROBE_SECONDS: Final = 10.0
SHOWN_NAMES: Final = 5
BUSY: Final = (408, 429)


class ServerFacts(NamedTuple):
    """What a server says of itself and of a model."""

    digest: str | None = None
    """Digest of the model's weights, where the server knows one."""
    context_window: int | None = None
    """Tokens that the server gives the model at most, where it says so."""
    models: tuple[str, ...] = ()
    """The names that it lists; empty where it keeps no list."""


async def examine_openai(profile: ModelProfile, url: str, api_key: SecretStr | None, words: ServerWords) -> ServerFacts:
    """Looks at a server of OpenAI's protocol.

    Args:
        profile: The model.
        url: The address up to and with `/v1`.
        api_key: The key.
        words: What messages say of the server.

    Returns:
        What the server says.

    Raises:
        ModelError: It cannot be reached, or does not speak the protocol.
        ConfigurationError: It refuses the key, or does not have the model.
    """
    async with _client() as client:
        headers = {"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {}
        missing = _no_list(words) if profile.listed else None
        listing = await _get(client, "GET", f"{url.rstrip('/')}/models", words, missing, headers=headers)
    entries = {str(entry["id"]): entry for entry in _entries(listing, "data", words) if "id" in entry}
    _check_listed(profile, tuple(entries), words)
    window = entries.get(profile.model, {}).get("max_model_len")
    return ServerFacts(None, window if isinstance(window, int) else None, tuple(entries))


async def examine_ollama(
    profile: ModelProfile, url: str, auth: tuple[str, str] | None, words: ServerWords
) -> ServerFacts:
    """Looks at an Ollama server: its list of models, and the window that the model was made for.

    Args:
        profile: The model.
        url: The address, without user and password.
        auth: User and password.
        words: What messages say of the server.

    Returns:
        What the server says.

    Raises:
        ModelError: It cannot be reached, or is no Ollama server.
        ConfigurationError: It refuses the user, or does not have the model.
    """
    async with _client() as client:
        missing = ConfigurationError(
            f"{words.address} is no Ollama server.", as_sentence(words.when_unreachable), code="MODEL_ADDRESS"
        )
        listing = await _get(client, "GET", f"{url.rstrip('/')}/api/tags", words, missing, auth=auth)
        entries = {str(entry["name"]): entry for entry in _entries(listing, "models", words) if "name" in entry}
        _check_listed(profile, tuple(entries), words)
        body = {"model": profile.model}
        shown = await _get(client, "POST", f"{url.rstrip('/')}/api/show", words, auth=auth, json=body)
    known = entries.get(profile.model) or entries.get(f"{profile.model}:latest") or {}
    info = shown.get("model_info") if isinstance(shown, dict) else None
    windows = [
        value for key, value in (info or {}).items() if key.endswith(".context_length") and isinstance(value, int)
    ]
    digest = known.get("digest")
    return ServerFacts(str(digest) if digest else None, windows[0] if windows else None, tuple(entries))


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PROBE_SECONDS, follow_redirects=False)


def _no_list(words: ServerWords) -> ConfigurationError:
    return ConfigurationError(
        f"{words.address} has no list of models.",
        "Correct the address, which mostly ends with /v1; if the server keeps no list, say `listed = false` in the "
        "model's profile.",
        code="MODEL_ADDRESS",
    )


async def _get(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    words: ServerWords,
    missing: ConfigurationError | None = None,
    **options: Any,
) -> Any:
    """The JSON of an answer; None where the server does not have that page, or is too busy to say.

    Args:
        client: Makes the request.
        method: Its method.
        url: Its address.
        words: What messages say of the server.
        missing: What to raise where the server does not have that page.
        **options: Headers and body.

    Raises:
        ModelError: It cannot be reached, or its answer is not JSON.
        ConfigurationError: It asks for another key, or for another address.
    """
    where = words.address
    try:
        answer = await client.request(method, url, **options)
    except httpx.InvalidURL:
        raise ConfigurationError(f"{where} is not an address.", as_sentence(words.when_unreachable)) from None
    except httpx.HTTPError as error:
        raise _unreachable(error, url, words) from None
    if _is_plain_to_tls(answer, url):
        raise _wrong_scheme(where, "https", "http")
    if answer.status_code in (401, 403):
        raise ConfigurationError(
            f"{where} does not accept the key.", as_sentence(words.when_unauthorised), code="MODEL_KEY_REFUSED"
        )
    if 300 <= answer.status_code < 400:
        raise ConfigurationError(f"{where} answers from another address.", "Give the address that it points to.")
    if missing and 400 <= answer.status_code < 500 and answer.status_code not in BUSY:
        raise missing
    if answer.status_code >= 400:
        return None
    try:
        return answer.json()
    except ValueError:
        raise ModelError(
            f"{where} does not speak the protocol of a model server.", as_sentence(words.when_unreachable)
        ) from None


def _unreachable(error: httpx.HTTPError, url: str, words: ServerWords) -> ModelError | ConfigurationError:
    where, secure = words.address, url.startswith("https:")
    said = str(error)
    if secure and ("WRONG_VERSION_NUMBER" in said or "record layer" in said):
        return _wrong_scheme(where, "http", "https")
    if secure and "CERTIFICATE" in said:
        return ModelError(
            f"{where} shows a certificate that is not trusted here.", "Set SSL_CERT_FILE to its authority."
        )
    if not secure and isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return ModelError(f"{where} answers, but not in http.", "If it speaks https, write the address with https://.")
    if isinstance(error, httpx.TimeoutException):
        return ModelError(f"{where} gave no answer in {PROBE_SECONDS:g} s.", as_sentence(words.when_unreachable))
    return ModelError(f"{where} cannot be reached.", as_sentence(words.when_unreachable))


def _is_plain_to_tls(answer: httpx.Response, url: str) -> bool:
    """Whether a server that speaks https says that it was spoken to in http."""
    if url.startswith("https:"):
        return False
    moved = answer.is_redirect and answer.headers.get("location", "").startswith("https:")
    return moved or (answer.status_code == 400 and "https" in answer.text[:1000].lower())


def _wrong_scheme(where: str, right: str, wrong: str) -> ConfigurationError:
    return ConfigurationError(
        f"{where} speaks {right}, and its address says {wrong}.",
        f"Write the address with {right}://.",
        code="MODEL_ADDRESS",
    )


def _entries(listing: Any, key: str, words: ServerWords) -> list[dict[str, Any]]:
    """The entries of a list of models; none where the server keeps no list.

    Raises:
        ModelError: It is not such a list.
    """
    if listing is None:
        return []
    entries = listing.get(key) if isinstance(listing, dict) else None
    if not isinstance(entries, list):
        raise ModelError(
            f"{words.address} does not speak the protocol of a model server.", as_sentence(words.when_unreachable)
        )
    return [entry for entry in entries if isinstance(entry, dict)]


def _check_listed(profile: ModelProfile, names: tuple[str, ...], words: ServerWords) -> None:
    """Makes sure that the server's list, where it has one, names the model."""
    if not profile.listed or not names or {profile.model, f"{profile.model}:latest"} & {*names}:
        return
    near = difflib.get_close_matches(profile.model, names, SHOWN_NAMES, 0.3) or list(names[:SHOWN_NAMES])
    raise ConfigurationError(
        f"{words.address} has no model {profile.model!r}; it has {', '.join(near)}.",
        as_sentence(words.when_unknown),
        code="UNKNOWN_MODEL",
    )


def as_sentence(words: str) -> str:
    """A half-sentence as a sentence."""
    return f"{words[0].upper()}{words[1:]}."
