"""The network that reads which sentence of a passage answers a question. It needs nothing but PyTorch."""

from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, HEAD_SIZE = 6, 384, 12, 32
EPSILON: Final = 1e-12


class SentenceNetwork(nn.Module):
    """The layers of MiniLM with two heads: the score of each sentence, and that of no sentence.

    The word vectors stay as they are, because the product shares them with the embedder.

    Args:
        weights: The tensors of all-MiniLM-L6-v2.
        most_tokens: The word-pieces that one run reads.
    """

    def __init__(self, weights: dict[str, Tensor], most_tokens: int) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(weights["embeddings.word_embeddings.weight"], freeze=True)
        self.places = nn.Parameter(weights["embeddings.position_embeddings.weight"][:most_tokens].clone())
        self.segments = nn.Parameter(weights["embeddings.token_type_embeddings.weight"].clone())
        self.norm = _norm(weights, "embeddings.LayerNorm")
        self.layers = nn.ModuleList(Layer(weights, f"encoder.layer.{number}") for number in range(LAYERS))
        self.mid, self.head, self.none = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor, segments: Tensor, mask: Tensor, spans: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score of each sentence [sentences], and that of no sentence [passages].

        Args:
            ids: The word-pieces of each passage with its question, [passages, tokens].
            segments: 0 for the question and 1 for the passage.
            mask: Whether a place holds a word-piece.
            spans: The passage, the first word-piece and the end of each sentence, [sentences, 3].
        """
        first, second = self.segments
        hidden = self.words(ids) + self.places[: ids.shape[1]] + first + segments[..., None] * (second - first)
        hidden = self.drop(self.norm(hidden))
        for layer in self.layers:
            hidden = layer(hidden, mask[:, None, None, :])
        hidden = hidden.float()
        passage, start, end = spans.T
        sums = functional.pad(hidden.cumsum(1), (0, 0, 1, 0))
        means = (sums[passage, end] - sums[passage, start]) / (end - start)[:, None]
        read = self.drop(functional.gelu(self.mid(means + hidden[passage, start])))
        return self.head(read).squeeze(-1), self.none(self.drop(hidden[:, 0])).squeeze(-1)


class Layer(nn.Module):
    """One transformer layer of BERT."""

    def __init__(self, weights: dict[str, Tensor], name: str) -> None:
        super().__init__()
        attention = f"{name}.attention"
        self.query, self.key, self.value = (
            _linear(weights, f"{attention}.self.{part}") for part in ("query", "key", "value")
        )
        self.output, self.first = (
            _linear(weights, f"{attention}.output.dense"),
            _norm(weights, f"{attention}.output.LayerNorm"),
        )
        self.wide, self.narrow = (
            _linear(weights, f"{name}.intermediate.dense"),
            _linear(weights, f"{name}.output.dense"),
        )
        self.second = _norm(weights, f"{name}.output.LayerNorm")

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the word-pieces after the layer."""
        passages, tokens, _ = hidden.shape
        query, key, value = (
            part(hidden).view(passages, tokens, HEADS, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / HEAD_SIZE**0.5
        mixed = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) @ value
        hidden = self.first(hidden + self.output(mixed.transpose(1, 2).reshape(passages, tokens, WIDTH)))
        return self.second(hidden + self.narrow(functional.gelu(self.wide(hidden))))


def _linear(weights: dict[str, Tensor], name: str) -> nn.Linear:
    outputs, inputs = weights[f"{name}.weight"].shape
    return _filled(nn.Linear(inputs, outputs), weights, name)


def _norm(weights: dict[str, Tensor], name: str) -> nn.LayerNorm:
    return _filled(nn.LayerNorm(WIDTH, eps=EPSILON), weights, name)


def _filled(module: Any, weights: dict[str, Tensor], name: str) -> Any:
    module.load_state_dict({part: weights[f"{name}.{part}"] for part in ("weight", "bias")})
    return module
