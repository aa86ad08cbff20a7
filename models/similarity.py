"""The similarity of a question and the sentences of a chunk, by the token vectors of MiniLM (R4-9).

A chunk is read whole, so that `it` and `he` are near what they mean. For each word-piece of the question the
nearest one of the sentence counts. The last chunks are kept, because popular chunks are read for many questions.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from sourcebound.contracts.extractive.features import Similarity
from sourcebound.contracts.extractive.question import Question
from sourcebound.contracts.extractive.sentences import Sentence
from sourcebound.contracts.prompt.build import EvidencePart
from sourcebound.models.embedders.minilm import MiniLmEmbedder, TokenVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT_TEXTS: Final = 128
ASKING: Final = frozenset("who whom whose when where what which why how many much long often year country city".split())
NONE: Final = Similarity(0, 0, 0, 0, 0, 0, 0, 0)


class SimilarityReader:
    """Compares sentences with a question.

    Args:
        embedder: MiniLM.
    """

    def __init__(self, embedder: MiniLmEmbedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, TokenVectors] = OrderedDict()
        self._lock = Lock()

    def __call__(
        self, question: Question, chunks: Sequence[tuple[EvidencePart, Sequence[Sentence]]]
    ) -> list[list[Similarity]]:
        """Return the similarity of each sentence of each chunk.

        Raises:
            ModelError: The weights are missing or are not the pinned ones.
        """
        asked, *read = self._read([question.text, *(chunk.text for chunk, _ in chunks)])
        weights = _PieceWeights(question, asked)
        return [
            _compare_all(asked, said, weights, sentences) for said, (_, sentences) in zip(read, chunks, strict=True)
        ]

    def _read(self, texts: Sequence[str]) -> list[TokenVectors]:
        with self._lock:
            known = {text: self._kept[text] for text in texts if text in self._kept}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(new, self._embedder.read_tokens(new), strict=True)
        with self._lock:
            for text in texts:
                self._kept[text] = known[text]
                self._kept.move_to_end(text)
            while len(self._kept) > KEPT_TEXTS:
                self._kept.popitem(last=False)
        return [known[text] for text in texts]


class _PieceWeights:
    """The weights of the question's word-pieces in each mean."""

    def __init__(self, question: Question, asked: TokenVectors) -> None:
        import numpy as np

        content, word = [], []
        self.stems: list[frozenset[str]] = []
        for start, end in asked.offsets:
            inside = [each for each in question.words if each.start <= start < each.start + len(each.form)]
            self.stems.append(frozenset(each.stem for each in inside))
            content.append(max((each.weight for each in inside), default=0))
            word.append(any(map(str.isalnum, question.text[start:end])))
        self.content = np.array(content, dtype=np.float32)
        self.every = np.array(word, dtype=np.float32)
        self.function = self.every * (self.content == 0)
        self.asking = np.array(
            [question.text[start:end].casefold() in ASKING for start, end in asked.offsets], dtype=np.float32
        )


class _Chunk(NamedTuple):
    """A chunk that has been compared with the question, word-piece by word-piece."""

    said: TokenVectors
    starts: "NDArray[np.int64]"
    """The position of each of its word-pieces in its text."""
    table: "NDArray[np.float32]"
    """The similarity of each word-piece of the question (rows) to each of the chunk (columns)."""
    nearest: "NDArray[np.float32]"
    """The similarity of the nearest word-piece of the whole chunk to each of the question."""
    asked: "NDArray[np.float32]"
    """The mean vector of the question."""

    def pieces_of(self, sentence: Sentence) -> "NDArray[np.intp]":
        """Return the word-pieces of a sentence and of the head of its table."""
        starts, (head, head_end) = self.starts, sentence.head
        within = ((starts >= sentence.start) & (starts < sentence.end)) | ((starts >= head) & (starts < head_end))
        return within.nonzero()[0]


def _compare_all(
    asked: TokenVectors, said: TokenVectors, weights: _PieceWeights, sentences: Sequence[Sentence]
) -> list[Similarity]:
    """Compare each sentence of a chunk. `vecdot`, because BLAS runs `@` on threads that then wait for more work."""
    if not asked.offsets or not said.offsets:
        return [NONE] * len(sentences)
    import numpy as np

    table = np.vecdot(asked.vectors[:, None, :], said.vectors[None, :, :])
    starts = np.array([start for start, _ in said.offsets])
    chunk = _Chunk(said, starts, table, table.max(axis=1), asked.vectors.mean(axis=0))
    return [_compare(chunk, weights, sentence) for sentence in sentences]


def _compare(chunk: _Chunk, weights: _PieceWeights, sentence: Sentence) -> Similarity:
    import numpy as np

    pieces = chunk.pieces_of(sentence)
    if not len(pieces):
        return NONE
    nearest = chunk.table[:, pieces].max(axis=1)
    content = weights.content > 0
    beyond = weights.content * np.array([not stems & sentence.title for stems in weights.stems], dtype=np.float32)
    middle = chunk.said.vectors[pieces].mean(axis=0)
    whole = chunk.asked @ middle
    lengths = float(np.linalg.norm(chunk.asked) * np.linalg.norm(middle))
    function = _mean(nearest, weights.function) if weights.function.any() else _mean(nearest, weights.every)
    return Similarity(
        content=_mean(nearest, weights.content),
        every=_mean(nearest, weights.every),
        function=function,
        asking=_mean(nearest, weights.asking),
        least=round(1000 * float(nearest[content].min())) if content.any() else 0,
        aspect=_mean(nearest, beyond if beyond.any() else weights.content),
        gap=_mean(chunk.nearest - nearest, weights.content),
        whole=round(1000 * float(whole) / max(lengths, 1e-9)),
    )


def _mean(values: "NDArray[np.float32]", weights: "NDArray[np.float32]") -> int:
    total = float(weights.sum())
    return round(1000 * float((values * weights).sum()) / total) if total else 0
