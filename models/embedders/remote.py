"""Embedders behind HTTP: Ollama, and OpenAI or any server that speaks its protocol.

Rule: trust nothing and hide nothing. Every request has a deadline and is made once. The response must be one finite
vector per text, of the same length as in the first response, and is normalised to unit length here. A fault becomes a
`ModelError` that names the server and the next step. It never repeats the server's own message, which may quote the
key, and for the same reason the cause is suppressed (`from None`).

Connections are not kept open between requests, so one embedder can serve several event loops in turn.
"""

import asyncio
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import SecretStr

from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.urls import ollama_url, without_credentials

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

TIMEOUT_SECONDS = 60.0
BATCH_SIZE = 64
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MAX_TOKENS = 8191
OLLAMA_MAX_TOKENS = {
    "bge-m3": 8190,
    "mxbai-embed-large": 510,
    "nomic-embed-text": 2046,
    "snowflake-arctic-embed": 510,
}
"""Default token limits of these models, excluding special tokens. Ollama truncates longer texts silently."""
OLLAMA_MAX_TOKENS_OTHERWISE = 254
WORDS_AND_MARKS = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]")
LONG_CHARACTERS = re.compile(r"[\u0800-\U0010ffff]")
PROBE = "How long is a vector?"
NO_KEEP_ALIVE = {"Connection": "close"}
MALFORMED = (ValueError, TypeError, LookupError, AttributeError)
"""The exceptions that the clients raise when a response violates their protocol."""


class RemoteServer(NamedTuple):
    """A model on a server, its client, and the texts of its error messages."""

    name: str
    url: str
    client: "Embeddings"
    faults: tuple[type[Exception], ...]
    timeout_seconds: float
    when_unreachable: str
    when_unknown: str
    when_unauthorised: str


class RemoteEmbedder:
    """An embedder served over HTTP, created by `connect_ollama` or `connect_openai`.

    Args:
        server: The server and its client.
        dimensions: The length of every vector, learnt from the first response.
        max_tokens: The maximum number of tokens in a text, excluding special tokens.
        batch_size: The number of texts in one request.
    """

    def __init__(self, server: RemoteServer, *, dimensions: int, max_tokens: int, batch_size: int) -> None:
        self._server = server
        self._dimensions = dimensions
        self._max_tokens = max_tokens
        self._batch_size = batch_size

    @property
    def name(self) -> str:
        """`ollama:MODEL` or `openai:MODEL`."""
        return self._server.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens in a text, excluding special tokens."""
        return self._max_tokens

    def count_tokens(self, text: str) -> int:
        """Return an estimate on the high side, because the model's tokenizer is unavailable. See `estimate_tokens`."""
        return estimate_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector of `dimensions` floats per text, in order, with one request per batch.

        Raises:
            ModelError: `EMBEDDER_UNAVAILABLE`: the server is unreachable, too slow, failing or overloaded.
                `EMBEDDER_REJECTED`: the request was refused, or a response is not one usable vector per text.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            answer = await _request(self._server, list(texts[start : start + self._batch_size]))
            for vector in answer:
                if len(vector) != self._dimensions:
                    raise _unusable_answer_error(
                        self._server, f"a vector has {len(vector)} numbers, not {self._dimensions}"
                    )
                vectors.append(vector)
        return vectors

    async def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question.

        Raises:
            ModelError: As for `embed_documents`.
        """
        (vector,) = await self.embed_documents([text])
        return vector


async def connect_ollama(
    model: str, host: str, *, timeout_seconds: float = TIMEOUT_SECONDS, batch_size: int = BATCH_SIZE
) -> RemoteEmbedder:
    """Open a model of an Ollama server. One request learns the length of its vectors.

    Args:
        model: Its name on the server, such as `nomic-embed-text` or `bge-m3:latest`.
        host: `OLLAMA_HOST` in any form that Ollama accepts: `host`, `host:port` or a URL.
        timeout_seconds: The deadline of one request.
        batch_size: The number of texts in one request.

    Raises:
        ConfigurationError: `host` is not an address.
        ModelError: As for `RemoteEmbedder.embed_documents`.
    """
    import httpx
    import ollama
    from langchain_ollama import OllamaEmbeddings

    url = ollama_url(host)
    server = RemoteServer(
        name=f"ollama:{model}",
        url=without_credentials(url),
        client=OllamaEmbeddings(
            model=model,
            base_url=url,
            client_kwargs={"timeout": timeout_seconds, "headers": dict(NO_KEEP_ALIVE)},
        ),
        faults=(TimeoutError, ConnectionError, ollama.ResponseError, httpx.HTTPError),
        timeout_seconds=timeout_seconds,
        when_unreachable="Start it with `ollama serve`, or set OLLAMA_HOST.",
        when_unknown=f"Run `ollama pull {model}`.",
        when_unauthorised="Put the user and password into OLLAMA_HOST as http://user:password@host.",
    )
    limit = OLLAMA_MAX_TOKENS.get(model.partition(":")[0], OLLAMA_MAX_TOKENS_OTHERWISE)
    return await _connect(server, limit, batch_size)


async def connect_openai(
    model: str,
    api_key: SecretStr | None,
    base_url: str | None = None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    batch_size: int = BATCH_SIZE,
) -> RemoteEmbedder:
    """Open an embedding model of OpenAI, or of a server that speaks its protocol.

    Args:
        model: Its name on the server, such as `text-embedding-3-small`.
        api_key: The key. Your own server (`base_url`) may not need one.
        base_url: The server's address including `/v1`; OpenAI's when omitted.
        timeout_seconds: The deadline of one request.
        batch_size: The number of texts in one request.

    Raises:
        ConfigurationError: The server is OpenAI's and there is no key.
        ModelError: As for `RemoteEmbedder.embed_documents`.
    """
    if api_key is None and base_url is None:
        raise ConfigurationError("The embedders of OpenAI need a key, and no key is set.", "Set OPENAI_API_KEY.")
    import openai
    from langchain_openai import OpenAIEmbeddings

    url = base_url or OPENAI_URL
    server = RemoteServer(
        name=f"openai:{model}",
        url=without_credentials(url),
        client=OpenAIEmbeddings(
            model=model,
            openai_api_key=api_key or SecretStr("none"),
            openai_api_base=url,
            request_timeout=timeout_seconds,
            max_retries=0,
            chunk_size=batch_size,
            # Otherwise tiktoken downloads a vocabulary to truncate texts itself.
            check_embedding_ctx_length=False,
            default_headers=NO_KEEP_ALIVE,
        ),
        faults=(TimeoutError, openai.OpenAIError),
        timeout_seconds=timeout_seconds,
        when_unreachable="Check the network and OPENAI_BASE_URL.",
        when_unknown="Check the model's name, such as openai:text-embedding-3-small, and OPENAI_BASE_URL.",
        when_unauthorised="Set OPENAI_API_KEY to a valid key.",
    )
    return await _connect(server, OPENAI_MAX_TOKENS, batch_size)


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of `text`, on the high side for any tokenizer.

    Up to three ASCII letters count as one token, and so does any other character that is not a space. A character of
    three or more UTF-8 bytes counts twice, because byte-level tokenizers split such characters.
    """
    return len(WORDS_AND_MARKS.findall(text)) + len(LONG_CHARACTERS.findall(text))


async def _connect(server: RemoteServer, max_tokens: int, batch_size: int) -> RemoteEmbedder:
    (probe,) = await _request(server, [PROBE])
    return RemoteEmbedder(server, dimensions=len(probe), max_tokens=max_tokens, batch_size=batch_size)


async def _request(server: RemoteServer, texts: list[str]) -> list[list[float]]:
    """Make one request and return one unit vector per text."""
    try:
        async with asyncio.timeout(server.timeout_seconds):
            answer = await server.client.aembed_documents(texts)
    except server.faults as error:
        raise _request_error(server, error) from None
    except MALFORMED:
        raise _unusable_answer_error(server, "it does not follow the protocol") from None
    if len(answer) != len(texts):
        raise _unusable_answer_error(server, f"there are {len(answer)} vectors for {len(texts)} texts")
    return [_unit_vector(vector, server) for vector in answer]


def _unit_vector(vector: Sequence[float], server: RemoteServer) -> list[float]:
    """Check a vector and return it at unit length."""
    try:
        length = math.hypot(*vector)
    except TypeError:
        raise _unusable_answer_error(server, "a vector is not a list of numbers") from None
    if not math.isfinite(length) or length == 0:
        raise _unusable_answer_error(server, "a vector is empty, all zeros or not finite")
    return [number / length for number in vector]


def _request_error(server: RemoteServer, error: Exception) -> ModelError:
    """Build the error for a failed request. Of the server's response only the status is mentioned."""
    status = getattr(error, "status_code", None)
    subject = f"The embedder {server.name} at {server.url}"
    if status is None:
        problem = f"cannot be reached or did not answer in {server.timeout_seconds:g} s ({type(error).__name__})"
        return ModelError(f"{subject} {problem}.", server.when_unreachable, code="EMBEDDER_UNAVAILABLE")
    if status in (408, 429) or status >= 500:
        step = "Wait and try again. If it persists, check the server's log or your quota."
        return ModelError(f"{subject} failed with HTTP status {status}.", step, code="EMBEDDER_UNAVAILABLE")
    steps = {401: server.when_unauthorised, 403: server.when_unauthorised, 404: server.when_unknown}
    step = steps.get(status, "Check that it is an embedding model and that the texts are not too long for it.")
    return ModelError(f"{subject} refused with HTTP status {status}.", step, code="EMBEDDER_REJECTED")


def _unusable_answer_error(server: RemoteServer, reason: str) -> ModelError:
    return ModelError(
        f"The embedder {server.name} at {server.url} gave an unusable answer: {reason}.",
        "Check that it is an embedding model. If its vectors have changed, ingest the documents again.",
        code="EMBEDDER_REJECTED",
    )
