"""Embedders behind HTTP: Ollama, and OpenAI or any server that speaks its protocol.

Rule: nothing is trusted and nothing is hidden. Every request has a deadline and is made once; what comes
back must be one finite vector a text, of the length that the first answer had, and is brought to unit
length here. A fault becomes a `ModelError` that names the server and the next step but repeats nothing of
the server's own words, which may quote the key; for the same reason the cause is cut off (`from None`).

Connections are not kept open between requests, so one embedder serves several event loops in turn.
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
"""What these see by default, special tokens left out; Ollama cuts longer texts off without a word."""
OLLAMA_MAX_TOKENS_OTHERWISE = 254
WORDS_AND_MARKS = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]")
LONG_CHARACTERS = re.compile(r"[\u0800-\U0010ffff]")
PROBE = "How long is a vector?"
NO_KEEP_ALIVE = {"Connection": "close"}
MALFORMED = (ValueError, TypeError, LookupError, AttributeError)
"""What the clients raise when an answer is not what their protocol says."""


class RemoteServer(NamedTuple):
    """A model on a server, the client that asks it, and what an error message says of it."""

    name: str
    url: str
    client: "Embeddings"
    faults: tuple[type[Exception], ...]
    timeout_seconds: float
    when_unreachable: str
    when_unknown: str
    when_unauthorised: str


class RemoteEmbedder:
    """An embedder served over HTTP; `connect_ollama` and `connect_openai` make one.

    Args:
        server: Whom to ask.
        dimensions: Length of every vector, learnt from a first answer.
        max_tokens: Tokens of text that one vector can see, special tokens left out.
        batch_size: Texts in one request.
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
        """Length of a vector."""
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        """Tokens of text that one vector can see, special tokens left out."""
        return self._max_tokens

    def count_tokens(self, text: str) -> int:
        """An estimate on the high side, as the model's own tokenizer is not at hand; see `estimate_tokens`."""
        return estimate_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector of `dimensions` floats a text, in order, one request a batch.

        Raises:
            ModelError: `EMBEDDER_UNAVAILABLE`: unreachable, too slow, failing or overloaded;
                `EMBEDDER_REJECTED`: the request was refused, or an answer is not one usable vector a text.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), self._batch_size):
            answer = await _request(self._server, list(texts[start : start + self._batch_size]))
            for vector in answer:
                if len(vector) != self._dimensions:
                    raise _unusable(self._server, f"a vector has {len(vector)} numbers, not {self._dimensions}")
                vectors.append(vector)
        return vectors

    async def embed_query(self, text: str) -> list[float]:
        """The unit vector of a question.

        Raises:
            ModelError: As `embed_documents`.
        """
        (vector,) = await self.embed_documents([text])
        return vector


async def connect_ollama(
    model: str, host: str, *, timeout_seconds: float = TIMEOUT_SECONDS, batch_size: int = BATCH_SIZE
) -> RemoteEmbedder:
    """Opens a model of an Ollama server; one request learns the length of its vectors.

    Args:
        model: Its name there, such as `nomic-embed-text` or `bge-m3:latest`.
        host: `OLLAMA_HOST` in any form that Ollama accepts: `host`, `host:port` or a URL.
        timeout_seconds: Deadline of one request.
        batch_size: Texts in one request.

    Raises:
        ConfigurationError: `host` is not an address.
        ModelError: As `RemoteEmbedder.embed_documents`.
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
    """Opens an embedding model of OpenAI, or of a server that speaks its protocol.

    Args:
        model: Its name there, such as `text-embedding-3-small`.
        api_key: The key; a server of one's own (`base_url`) may do without.
        base_url: The server's address up to and with `/v1`; OpenAI's when omitted.
        timeout_seconds: Deadline of one request.
        batch_size: Texts in one request.

    Raises:
        ConfigurationError: OpenAI is asked and there is no key.
        ModelError: As `RemoteEmbedder.embed_documents`.
    """
    if api_key is None and base_url is None:
        raise ConfigurationError("OpenAI's embedders need a key and there is none.", "Set OPENAI_API_KEY.")
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
            # Otherwise tiktoken downloads a vocabulary to cut texts itself.
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
    """Tokens of `text`, estimated on the high side for any tokenizer.

    Three ASCII letters are a token, and so is any other character that is not a space; a character of three
    or more UTF-8 bytes counts twice, because byte-level tokenizers split such characters.
    """
    return len(WORDS_AND_MARKS.findall(text)) + len(LONG_CHARACTERS.findall(text))


async def _connect(server: RemoteServer, max_tokens: int, batch_size: int) -> RemoteEmbedder:
    (probe,) = await _request(server, [PROBE])
    return RemoteEmbedder(server, dimensions=len(probe), max_tokens=max_tokens, batch_size=batch_size)


async def _request(server: RemoteServer, texts: list[str]) -> list[list[float]]:
    """Asks once; gives one unit vector a text."""
    try:
        async with asyncio.timeout(server.timeout_seconds):
            answer = await server.client.aembed_documents(texts)
    except server.faults as error:
        raise _fault(server, error) from None
    except MALFORMED:
        raise _unusable(server, "it does not follow the protocol") from None
    if len(answer) != len(texts):
        raise _unusable(server, f"there are {len(answer)} vectors for {len(texts)} texts")
    return [_unit_vector(vector, server) for vector in answer]


def _unit_vector(vector: Sequence[float], server: RemoteServer) -> list[float]:
    """The vector at unit length, once it is known to be one."""
    try:
        length = math.hypot(*vector)
    except TypeError:
        raise _unusable(server, "a vector is not a list of numbers") from None
    if not math.isfinite(length) or length == 0:
        raise _unusable(server, "a vector is empty, all zeros or not finite")
    return [number / length for number in vector]


def _fault(server: RemoteServer, error: Exception) -> ModelError:
    """The error for a request that failed; of the server's answer only the status is told."""
    status = getattr(error, "status_code", None)
    who = f"The embedder {server.name} at {server.url}"
    if status is None:
        what = f"cannot be reached or gave no answer in {server.timeout_seconds:g} s ({type(error).__name__})"
        return ModelError(f"{who} {what}.", server.when_unreachable, code="EMBEDDER_UNAVAILABLE")
    if status in (408, 429) or status >= 500:
        step = "Wait and try again; if it persists, look at the server's log or your quota."
        return ModelError(f"{who} failed with HTTP status {status}.", step, code="EMBEDDER_UNAVAILABLE")
    steps = {401: server.when_unauthorised, 403: server.when_unauthorised, 404: server.when_unknown}
    step = steps.get(status, "Check that it is an embedding model and that the texts are not too long for it.")
    return ModelError(f"{who} refused with HTTP status {status}.", step, code="EMBEDDER_REJECTED")


def _unusable(server: RemoteServer, why: str) -> ModelError:
    return ModelError(
        f"The embedder {server.name} at {server.url} gave an answer that cannot be used: {why}.",
        "Check that it is an embedding model; if its vectors have changed, ingest the documents again.",
        code="EMBEDDER_REJECTED",
    )
