"""Real passages, many of them, with their vectors: what the benchmarks of a large index search.

    python benchmarks/passages.py --data ../shared/data --count 100000 --cache passages.npz

The evaluation data is smaller than a large collection, so each text gives many passages: every run of three sentences,
then of four, of two, of five. Neighbouring passages overlap, as real chunks of revised manuals do, and so have near
neighbours: a harder case for an approximate index than distinct texts. Embedding takes long, so it is kept in a file.
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

RUNS = (3, 4, 2, 5)
LEAST_CHARACTERS = 60
MOST_CHARACTERS = 900
LONG = 200
BATCH = 2000


class Passages(NamedTuple):
    """Passages and one unit vector each, in the same order."""

    texts: list[str]
    vectors: NDArray[np.float32]


def read_texts(data: Path) -> Iterator[str]:
    """Every long text of the data sets, each once, wherever it stands in a record."""
    seen: set[str] = set()
    for path in sorted([*data.rglob("*.jsonl"), *data.rglob("*.md")]):
        if path.suffix == ".md":
            found = [path.read_text("utf-8")] if path.name != "README.md" else []
        else:
            lines = path.read_text("utf-8").split("\n")
            found = [text for line in lines if line.strip() for text in _long_texts(json.loads(line))]
        for text in found:
            if text not in seen:
                seen.add(text)
                yield text


def _long_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if len(value) >= LONG else []
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _long_texts(item)


def make_passages(data: Path, count: int) -> list[str]:
    """The first `count` passages; fewer where the data has no more."""
    documents = [[sentence.strip() for sentence in sentencex.segment("en", text)] for text in read_texts(data)]
    chosen: dict[str, None] = {}
    for length in RUNS:
        for sentences in documents:
            for start in range(max(1, len(sentences) - length + 1)):
                passage = " ".join(sentences[start : start + length])
                if LEAST_CHARACTERS <= len(passage) <= MOST_CHARACTERS:
                    chosen[passage] = None
        if len(chosen) >= count:
            break
    return list(chosen)[:count]


def load_passages(data: Path, count: int, cache: Path) -> Passages:
    """The passages with their vectors, from the cache where it holds these very texts."""
    texts = make_passages(data, count)
    if cache.is_file():
        with np.load(cache) as kept:
            if list(kept["texts"]) == texts:
                return Passages(texts, kept["vectors"])
    embedder, vectors, began = MiniLmEmbedder(), [], perf_counter()
    for start in range(0, len(texts), BATCH):
        vectors += asyncio.run(embedder.embed_documents(texts[start : start + BATCH]))
        print(f"  embedded {len(vectors)} of {len(texts)}, {perf_counter() - began:.0f} s", flush=True)
    made = np.asarray(vectors, dtype=np.float32)
    cache.parent.mkdir(parents=True, exist_ok=True)
    np.savez(cache, texts=np.array(texts), vectors=made)
    return Passages(texts, made)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Real passages and their vectors, kept in a file.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--cache", type=Path, default=Path("passages.npz"))
    asked = parser.parse_args()
    kept = load_passages(asked.data, asked.count, asked.cache)
    print(f"{len(kept.texts)} passages, {sum(map(len, kept.texts)) // len(kept.texts)} characters each")
