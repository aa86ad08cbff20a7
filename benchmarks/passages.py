"""Many real passages with their vectors, for the benchmark of a large index.

    python benchmarks/passages.py --data ../shared/data --count 100000 --cache passages.npz

The evaluation data is smaller than a large collection, so each text yields many passages: every run of three sentences,
then of four, two and five. Neighbouring passages overlap, as chunks of revised manuals do, and therefore have near
neighbours. This is harder for an approximate index than distinct texts. Embedding takes long, so a file caches it.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import sentencex
from numpy.typing import NDArray

from sourcebound.models.embedders.minilm import MiniLmEmbedder

SENTENCE_COUNTS = (3, 4, 2, 5)
MIN_CHARACTERS = 60
MAX_CHARACTERS = 900
LONG_TEXT_CHARACTERS = 200
BATCH = 2000


class Passages(NamedTuple):
    """Passages, and one unit vector for each, in the same order."""

    texts: list[str]
    vectors: NDArray[np.float32]


def read_texts(data: Path) -> Iterator[str]:
    """Yield every long text of the data sets once, from any field of a record."""
    seen: set[str] = set()
    for path in sorted([*data.rglob("*.jsonl"), *data.rglob("*.md")]):
        if path.suffix == ".md":
            candidates = [path.read_text("utf-8")] if path.name != "README.md" else []
        else:
            lines = path.read_text("utf-8").split("\n")
            candidates = [text for line in lines if line.strip() for text in _long_texts(json.loads(line))]
        for text in candidates:
            if text not in seen:
                seen.add(text)
                yield text


def _long_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if len(value) >= LONG_TEXT_CHARACTERS else []
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _long_texts(item)


def make_passages(data: Path, count: int) -> list[str]:
    """Make the first `count` passages, or fewer if the data has no more."""
    documents = [[sentence.strip() for sentence in sentencex.segment("en", text)] for text in read_texts(data)]
    passages: dict[str, None] = {}
    for length in SENTENCE_COUNTS:
        for sentences in documents:
            for start in range(max(1, len(sentences) - length + 1)):
                passage = " ".join(sentences[start : start + length])
                if MIN_CHARACTERS <= len(passage) <= MAX_CHARACTERS:
                    passages[passage] = None
        if len(passages) >= count:
            break
    return list(passages)[:count]


def load_passages(data: Path, count: int, cache: Path) -> Passages:
    """Load the passages with their vectors, from the cache if it holds exactly these texts."""
    texts = make_passages(data, count)
    if cache.is_file():
        with np.load(cache) as cached:
            if list(cached["texts"]) == texts:
                return Passages(texts, cached["vectors"])
    embedder, vectors, started = MiniLmEmbedder(), [], perf_counter()
    for start in range(0, len(texts), BATCH):
        vectors += asyncio.run(embedder.embed_documents(texts[start : start + BATCH]))
        print(f"  embedded {len(vectors)} of {len(texts)}, {perf_counter() - started:.0f} s", flush=True)
    matrix = np.asarray(vectors, dtype=np.float32)
    cache.parent.mkdir(parents=True, exist_ok=True)
    np.savez(cache, texts=np.array(texts), vectors=matrix)
    return Passages(texts, matrix)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Cache real passages and their vectors in a file.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--cache", type=Path, default=Path("passages.npz"))
    options = parser.parse_args()
    cached = load_passages(options.data, options.count, options.cache)
    print(f"{len(cached.texts)} passages, {sum(map(len, cached.texts)) // len(cached.texts)} characters each")
