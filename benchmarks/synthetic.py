"""Input and instruments of the pipeline benchmark for all its sides: passages, questions, model server, stopwatch."""

import asyncio
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, NamedTuple

import httpx
import numpy as np

from sourcebound.contracts.corpus.collection import StoredDocument
from sourcebound.contracts.corpus.document import Chunk, DocumentMetadata, Page, ParsedDocument
from sourcebound.contracts.execution.generation import Generation
from sourcebound.contracts.outcome import proceed
from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.prompt.build import Prompt, canonical_prompt
from sourcebound.contracts.request import Run
from sourcebound.contracts.retrieval.retrieval_bundle import RetrievalBundle
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.store.search.retriever import PostgresRetriever

DIMENSIONS: Final = 384
WORDS: Final = 200
COMMON_WEIGHT: Final = 0.7
"""The weight of a component common to all vectors, as in texts of one subject; without it a gate would drop most."""
CHAT: Final = "/chat/completions"


class Corpus(NamedTuple):
    """Passages with their vectors, and questions with theirs."""

    texts: list[str]
    vectors: np.ndarray[Any, np.dtype[np.float32]]
    questions: dict[str, list[float]]


def make_corpus(count: int) -> Corpus:
    """Make passages of two hundred words with a natural word distribution; the questions are sentences of them."""
    draw, noise = random.Random(7), np.random.default_rng(7)
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = list(dict.fromkeys("".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(12_000)))
    weights = [1 / (rank + 10) for rank in range(len(words))]
    texts = [_passage(draw.choices(words, weights, k=WORDS), draw) for _ in range(count)]
    vectors = noise.standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors += COMMON_WEIGHT * vectors[0]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    questions = {}
    for number in draw.sample(range(count), min(count, 400)):
        near = vectors[number] + 0.02 * noise.standard_normal(DIMENSIONS, dtype=np.float32)
        questions[texts[number].split(". ")[1] + "?"] = (near / np.linalg.norm(near)).tolist()
    return Corpus(texts, vectors, questions)


def _passage(words: list[str], draw: random.Random) -> str:
    sentences = []
    while words:
        length = draw.randint(9, 16)
        sentences.append(" ".join(words[:length]).capitalize() + ".")
        words = words[length:]
    return " ".join(sentences)


class PrecomputedEmbedder(MiniLmEmbedder):
    """An embedder with precomputed vectors of all questions."""

    def __init__(self, questions: Mapping[str, list[float]]) -> None:
        super().__init__()
        self._vectors = questions

    async def embed_query(self, text: str) -> list[float]:
        """Return the vector of one of the questions."""
        return self._vectors[text]


class ModelClient:
    """A client of the model server, which quotes the first sentence of the first source in the prompt.

    Args:
        client: The connections to the server.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    @property
    def url(self) -> str:
        """The URL of the server."""
        return str(self._client.base_url)

    async def answer(self, prompt: bytes) -> str:
        """Return the answer to a prompt."""
        return (await self._client.post("/", content=prompt)).text


class InstantModel:
    """The model server as the product's generator."""

    def __init__(self, server: ModelClient) -> None:
        self._server = server

    async def generate(self, prompt: Prompt, policy: Policy) -> Generation:
        """Generate with one request."""
        started = perf_counter()
        text = await self._server.answer(canonical_prompt(prompt.messages))
        return Generation(
            outcome=proceed("generate"),
            raw_model_text=text,
            model_name="instant",
            provider="instant",
            prompt_sha256=prompt.prompt_sha256,
            finish_reason="stop",
            attempts=1,
            llm_latency_ms=1000 * (perf_counter() - started),
        )


class InstantModels:
    """A registry with one model."""

    def __init__(self, server: ModelClient) -> None:
        self._model = InstantModel(server)

    def check(self, name: str, policy: Policy) -> None:
        """Accept every prompt."""

    async def open(self, name: str) -> InstantModel:
        """Return the one model."""
        return self._model

    async def close(self) -> None:
        """Do nothing, because the caller owns the connections."""


def make_document(corpus: Corpus, part: slice) -> StoredDocument:
    """Make a document of some passages."""
    knowledge_id, texts, chunks, start = f"document-{part.start}", corpus.texts[part], [], 0
    for ordinal, text in enumerate(texts):
        chunk_id, end = f"{knowledge_id}#{ordinal}", start + len(text)
        position = {"page_index": 0, "page_number": 1, "heading_path": (), "char_start": start, "char_end": end}
        chunks.append(Chunk.model_validate({"chunk_id": chunk_id, "ordinal": ordinal, "text": text, **position}))
        start = end + 1
    metadata = DocumentMetadata(title=f"Document {part.start}")
    pages = (Page(index=0, number=1, text="\n".join(texts)),)
    return StoredDocument(
        knowledge_id=knowledge_id,
        source_path=f"/nowhere/{knowledge_id}",
        source_reference=knowledge_id,
        source_digest=knowledge_id.encode(),
        parsed=ParsedDocument(media_type="text/plain", metadata=metadata, pages=pages),
        metadata=metadata,
        chunks=chunks,
        vectors=corpus.vectors[part].tolist(),
        further_words=["" for _ in chunks],
    )


@contextmanager
def model_server() -> Iterator[str]:
    """Run the server in its own process and yield its URL."""
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def _quote(messages: list[dict[str, str]]) -> str:
    text = messages[-1]["content"]
    quote = text[text.index("[C0") :].split("\n", 2)[1].split(". ")[0]
    return f"{quote.removesuffix('.')}. [C0]"


def _chat_completion(text: str) -> bytes:
    """Format an answer as OpenAI's interface does."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    completion = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return json.dumps({**completion, "choices": [choice], "usage": usage}).encode()


async def serve() -> None:
    """Print the port, then answer until the process ends."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
                request = json.loads(await reader.readexactly(size))
                if CHAT.encode() in head:
                    kind, body = "application/json", _chat_completion(_quote(request["messages"]))
                else:
                    kind, body = "text/plain", _quote(request).encode()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                writer.write(head + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())


class Stopwatch:
    """The time of the latest retrieval, in milliseconds."""

    latest = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a block."""
        started = perf_counter()
        yield
        self.latest = 1000 * (perf_counter() - started)


class TimedRetriever:
    """The product's retriever with a stopwatch."""

    def __init__(self, retriever: PostgresRetriever, stopwatch: Stopwatch) -> None:
        self._retriever, self._stopwatch = retriever, stopwatch

    async def retrieve(self, run: Run, policy: Policy) -> RetrievalBundle:
        """Retrieve, and time it."""
        with self._stopwatch.running():
            return await self._retriever.retrieve(run, policy)
