"""The reader of sentences: a small network that was trained to tell which of them answers a question (R4-9).

The network reads the question, the name of the document and the chunk together. It starts from MiniLM, whose word
vectors it shares: `sentence_reader.onnx` refers to the same weights as `minilm.onnx`. Its own weights are whole numbers
of eight bits ([how it was trained](../training/README.md)). One run reads one chunk on one thread, without padding.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sourcebound.contracts.extractive.features import UNREAD, Reading
from sourcebound.contracts.extractive.labels import spell_source
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.minilm import CLS, SEP, MiniLmEmbedder, usable_cores
from sourcebound.models.similarity import SimilarityReader

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

NETWORK: Final = Path(__file__).with_name("sentence_reader.onnx")
MOST_ASKED: Final = 48
"""The word-pieces of the question that are read."""
MOST_NAMED: Final = 16
"""Those of the document's name."""
MOST_TOKENS: Final = 320
"""All that are read. A sentence beyond them is unread."""
STOP: Final = 1012
"""The word-piece of the full stop after the name."""
MOST_ODDS: Final = 1000


class SentenceReader:
    """Compares sentences with a question by their word-pieces, and reads which of them answers.

    Args:
        embedder: MiniLM.
    """

    def __init__(self, embedder: MiniLmEmbedder) -> None:
        self._embedder = embedder
        self._similarity = SimilarityReader(embedder)
        self._workers = ThreadPoolExecutor(usable_cores(), thread_name_prefix="sentence-reader")

    @cached_property
    def _network(self) -> "InferenceSession":
        return self._embedder.open_graph(NETWORK)

    def __call__(
        self, question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]
    ) -> list[list[Reading]]:
        """Return what is read of each sentence of each chunk.

        Raises:
            ModelError: The weights are missing or are not the pinned ones.
        """
        readings = self._workers.map(lambda chunk: self._read(question.text, *chunk), chunks)
        similarities = self._similarity(question, chunks)
        return [
            [Reading(each, *likely) for each, likely in zip(similarity, reading, strict=True)]
            for similarity, reading in zip(similarities, readings, strict=True)
        ]

    def _read(self, question: str, chunk: EvidencePart, sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
        """Return the odds and the share of each sentence of a chunk."""
        import numpy as np

        asked = self._embedder.encode(question).ids[:MOST_ASKED]
        named = self._embedder.encode(spell_source(chunk.source)).ids[:MOST_NAMED]
        head = [CLS, *asked, SEP, *named, STOP]
        text = self._embedder.encode(chunk.text)
        ids = [*head, *text.ids[: MOST_TOKENS - len(head) - 1], SEP]
        starts = np.array([start for start, _ in text.offsets[: len(ids) - len(head) - 1]])
        masks = [(starts >= each.start) & (starts < each.end) for each in sentences]
        read = [place for place, mask in enumerate(masks) if mask.any()]
        found = [UNREAD] * len(sentences)
        if not read:
            return found
        means = np.zeros((len(read), len(ids)), dtype=np.float32)
        for row, place in enumerate(read):
            means[row, len(head) : len(head) + len(starts)] = masks[place] / masks[place].sum()
        parts = np.zeros(len(ids), dtype=np.int64)
        parts[len(asked) + 2 :] = 1
        firsts = np.array([len(head) + masks[place].argmax() for place in read], dtype=np.int64)
        inputs = {"token_ids": np.array(ids, dtype=np.int64), "parts": parts, "means": means, "firsts": firsts}
        scores, nothing = self._network.run(["sentences", "nothing"], inputs)
        total = np.logaddexp.reduce([*scores, *nothing])
        for place, score in zip(read, scores, strict=True):
            odds = round(100 * float(score - nothing[0]))
            share = round(1000 * float(np.exp(score - total)))
            found[place] = (max(-MOST_ODDS, min(MOST_ODDS, odds)), share)
        return found
