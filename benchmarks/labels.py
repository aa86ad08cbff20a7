"""Measure what labels cost a search: its time with and without them, and the memory of many callers.

    python benchmarks/labels.py [--chunks 4000] [--callers 200]

Every second document has one label of its own. Each caller holds half of the labels, drawn by chance, so no two callers
see the same documents. Others hold no label of a document and see the same ones, although their own labels differ. An
embedded server is made for it and removed at the end.
"""

import argparse
import asyncio
import gc
import random
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
from synthetic import Corpus, PrecomputedEmbedder, make_corpus, make_document

from sourcebound.contracts.policy.schema import Policy
from sourcebound.contracts.request import unrecorded_run
from sourcebound.evals.retrieval import temporary_services
from sourcebound.models.embedders.minilm import MiniLmEmbedder
from sourcebound.wiring import Services, find_policy

NAME: Final = "passages"
CHUNKS_A_DOCUMENT: Final = 20
SEARCHES_A_CALLER: Final = 3
"""The vectors of a caller are cached at its second search."""
PAIRS: Final = 300
PAGE: Final = 4096


def resident_bytes() -> int:
    """Return the memory that the process holds."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


async def fill(services: Services, corpus: Corpus) -> list[str]:
    """Store the passages, and return the labels: one of each second document."""
    made = await services.index.create_collection(NAME, "minilm", MiniLmEmbedder().name, 384, "passages", "english")
    documents = [
        make_document(corpus, slice(start, start + CHUNKS_A_DOCUMENT))
        for start in range(0, len(corpus.texts), CHUNKS_A_DOCUMENT)
    ]
    for start in range(0, len(documents), 50):
        await services.index.replace_documents(made.collection_id, documents[start : start + 50])
    labels = [f"group-{number}" for number in range(0, len(documents), 2)]
    for label, document in zip(labels, documents[::2], strict=True):
        await services.index.label_documents(made.collection_id, [document.knowledge_id], [label])
    return labels


async def search(services: Services, policy: Policy, question: str, labels: Sequence[str] | None) -> float:
    """Return the milliseconds of one search."""
    run = unrecorded_run(question, NAME, policy.policy_version, policy.sha256, "benchmark")
    run = run.model_copy(update={"caller_labels": None if labels is None else tuple(sorted(labels))})
    started = perf_counter()
    await services.retriever.retrieve(run, policy)
    return (perf_counter() - started) * 1000


async def measure_memory(
    services: Services, policy: Policy, questions: Sequence[str], callers: Sequence[Sequence[str]], kind: str
) -> None:
    """Print what the process holds more after the callers have searched, and the time of their last searches."""
    before, times = resident_bytes(), list[float]()
    for number, labels in enumerate(callers):
        for turn in range(SEARCHES_A_CALLER):
            await search(services, policy, questions[(number + turn) % len(questions)], labels)
    for number, labels in enumerate(callers):
        times.append(await search(services, policy, questions[number % len(questions)], labels))
    grown = (resident_bytes() - before) / (1 << 20)
    print(f"{len(callers)} callers {kind}: {grown:.0f} MiB more, median {np.median(times):.1f} ms", flush=True)


async def measure_cost(
    services: Services, policy: Policy, questions: Sequence[str], labels: Sequence[str], kind: str
) -> None:
    """Print the time of a search with labels against the same search without, one after the other."""
    pairs = []
    for number in range(PAIRS + 10):
        question, pair = questions[number % len(questions)], {}
        for held in (labels, None) if number % 2 else (None, labels):
            pair[held is None] = await search(services, policy, question, held)
        pairs.append((pair[False], pair[True]))
    labelled, plain = np.array(pairs[10:]).T
    ratios = np.sort(labelled / plain)
    middle, margin = PAIRS / 2, PAIRS**0.5  # of the ranks: a 95 % interval of the median
    low, high = ratios[int(middle - margin)], ratios[int(middle + margin)]
    print(
        f"{kind}: median {np.median(labelled):.1f} ms against {np.median(plain):.1f} ms; "
        f"median of the paired ratios {np.median(ratios):.2f} ({low:.2f} to {high:.2f})",
        flush=True,
    )


async def main(chunks: int, callers: int) -> None:
    """Print the memory of callers and the cost of labels."""
    corpus, draw = make_corpus(chunks), random.Random(11)
    questions = list(corpus.questions)[:20]
    async with temporary_services() as services:
        services._embedders["minilm"] = PrecomputedEmbedder(corpus.questions)
        policy = find_policy(None, embedding_model=MiniLmEmbedder().name)
        own_words = policy.retrieval.model_copy(update={"respell": False})  # the vectors of other words are not known
        policy = policy.model_copy(update={"retrieval": own_words})
        labels = await fill(services, corpus)
        for question in questions:
            await search(services, policy, question, None)
        alike = [[f"other-{number}"] for number in range(callers)]
        await measure_memory(services, policy, questions, alike, "who see the same documents")
        differing = [draw.sample(labels, len(labels) // 2) for _ in range(callers)]
        await measure_memory(services, policy, questions, differing, "who each see others")
        await measure_cost(services, policy, questions, labels, "a caller with every label")
        await measure_cost(services, policy, questions, differing[0], "a caller with half of the labels")
        await measure_cost(services, policy, questions, [], "a caller without labels")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=4000)
    parser.add_argument("--callers", type=int, default=200)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.chunks, arguments.callers))
