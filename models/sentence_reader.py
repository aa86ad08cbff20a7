"""The reader of sentences: a small network that was trained to tell which of them answers a question (R4-9).

The network reads the question, the name of the document and the chunk together. It is derived from all-MiniLM-L6-v2
(Apache-2.0): its layers were trained on, and it shares the word vectors, so `sentence_reader.onnx` refers to the same
weights as `minilm.onnx`. Its matrices are whole numbers of eight bits ([training](../training/README.md)).

Rule: one run reads one chunk on one thread, without padding. So other chunks do not change its numbers. A chunk that is
too long for one run is read in parts.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from sourcebound.contracts.extractive.features import MOST_ODDS, UNREAD, Reading
from sourcebound.contracts.extractive.labels import name_document
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.reading import READ_CHUNKS
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.minilm import CLS, SEP, MiniLmEmbedder, shared_minilm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding

NETWORK: Final = Path(__file__).with_name("sentence_reader.onnx")
MOST_ASKED: Final = 48
"""The word-pieces of the question that are read."""
MOST_NAMED: Final = 16
"""Those of the document's name."""
MOST_TOKENS: Final = 320
"""All that one run reads."""
STOP: Final = 1012
"""The word-piece of the full stop after the name."""


class SentenceReader:
    """Reads which sentences answer a question.

    Args:
        embedder: MiniLM.
        network: The file of the network.
    """

    def __init__(self, embedder: MiniLmEmbedder, network: Path = NETWORK) -> None:
        self._embedder = embedder
        self._network = network
        self._workers = ThreadPoolExecutor(READ_CHUNKS, thread_name_prefix="sentence-reader")
        self._session: InferenceSession | None = None
        self._lock = Lock()

    def __call__(
        self, question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]
    ) -> list[list[Reading]]:
        """Return what is read of each sentence of each chunk.

        Raises:
            ModelError: The weights are missing or are not the pinned ones.
        """
        return list(self._workers.map(lambda chunk: self._read(question.text, *chunk), chunks))

    def _read(self, question: str, chunk: EvidencePart, sentences: Sequence[Sentence]) -> list[Reading]:
        """Return what is read of each sentence of a chunk."""
        import numpy as np

        head, asked = write_head(self._embedder.encode, question, name_document(chunk.source))
        text, room = self._embedder.encode(chunk.text), MOST_TOKENS - len(head) - 1
        found = [UNREAD] * len(sentences)
        for start in range(0, len(text.ids), room):
            part = slice(start, start + room)
            starts = np.array([start for start, _ in text.offsets[part]])
            masks = {
                place: mask
                for place, each in enumerate(sentences)
                if found[place] is UNREAD and (mask := (starts >= each.start) & (starts < each.end)).any()
            }
            if masks:
                ids = [*head, *text.ids[part], SEP]
                likely = self._run(ids, asked, len(head), list(masks.values()))
                for place, each in zip(masks, likely, strict=True):
                    found[place] = each
        return found

    def _run(self, ids: list[int], asked: int, head: int, masks: "list[NDArray[np.bool_]]") -> list[Reading]:
        """Run the network.

        Args:
            ids: The word-pieces.
            asked: The number of those up to the end of the question.
            head: The number of those before the text of the chunk.
            masks: For each sentence, which word-pieces of the text are its own. Each has one.
        """
        import numpy as np

        means = np.zeros((len(masks), len(ids)), dtype=np.float32)
        for row, mask in enumerate(masks):
            means[row, head : head + len(mask)] = mask / mask.sum()
        inputs = {
            "token_ids": np.array(ids, dtype=np.int64),
            "parts": (np.arange(len(ids)) >= asked).astype(np.int64),
            "means": means,
            "firsts": np.array([head + mask.argmax() for mask in masks], dtype=np.int64),
        }
        scores, nothing = self._get_session().run(["sentences", "nothing"], inputs)
        odds = np.clip(np.rint(100 * (scores - nothing)), -MOST_ODDS, MOST_ODDS)
        likely = np.rint(1000 * np.exp(scores - np.logaddexp.reduce([*scores, *nothing])))
        return [Reading(int(each), int(share)) for each, share in zip(odds, likely, strict=True)]

    def _get_session(self) -> "InferenceSession":
        with self._lock:
            if self._session is None:
                self._session = self._embedder.open_graph(self._network)
        return self._session


def write_head(encode: "Callable[[str], Encoding]", question: str, name: str) -> tuple[list[int], int]:
    """Return the word-pieces before the text of a chunk, and how many of them belong to the question.

    Args:
        encode: Returns the word-pieces of a text, without special tokens.
        question: The question.
        name: The name of the document.
    """
    asked = [CLS, *encode(question).ids[:MOST_ASKED], SEP]
    return [*asked, *encode(name).ids[:MOST_NAMED], STOP], len(asked)


@cache
def shared_reader() -> SentenceReader:
    """Return the reader of this process, so that the network is opened once.

    Raises:
        ModelError: `EMBEDDER_MISSING` when there are no weights.
    """
    return SentenceReader(shared_minilm())
