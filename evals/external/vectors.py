"""An embedder that embeds a text once, because broad collections have most of their texts in common."""

from array import array
from collections.abc import Sequence

from sourcebound.contracts.ports import Embedder


class RememberedVectors:
    """An embedder with a memory for the vectors of documents.

    Args:
        embedder: Embeds what is new.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, array[float]] = {}

    @property
    def name(self) -> str:
        """The name of the embedder."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        """The most tokens that one vector covers."""
        return self._embedder.max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._embedder.count_tokens(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector for each text, in order."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = await self._embedder.embed_documents(new)
            self._vectors.update((text, array("d", vector)) for text, vector in zip(new, vectors, strict=True))
        return [self._vectors[text].tolist() for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question."""
        return await self._embedder.embed_query(text)
