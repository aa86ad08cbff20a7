"""Trains the network that reads sentences: `python training/reader/train.py EXAMPLES START OUT`.

`EXAMPLES` is the file that `examples.py` writes, and `START` the file of tensors of all-MiniLM-L6-v2. It needs nothing
but PyTorch, NumPy and safetensors, and uses a graphics processor if there is one. It learns from the questions. The
loss of one is that of a choice among its sentences and "none". At the end it prints, for the passages that are only
measured on, how often the highest score is a right sentence, and how well the score tells the questions with an answer
from those that only look like them (AUROC). With `--seconds`, the training ends after so many of them, with a rate that
has fallen to nothing then. With `--further TRAINED`, it goes on from tensors that `earlier.py` or this command wrote,
once over the examples, in smaller batches. With `--bfloat16`, a processor with AMX needs half the time.
"""

import argparse
import math
from collections.abc import Iterator
from copy import deepcopy
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from network import SentenceNetwork
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

WARM: Final = 100
"""The steps in which the rate rises."""
JITTER: Final = 8
"""Examples whose lengths differ by less come into one batch in random order."""
ALIGNED: Final = 8
"""Rows are filled up to a multiple of so many word-pieces, which graphics processors read faster."""
HELD: Final = 0
"""The epoch of the examples that are only measured on."""
Array = np.ndarray[Any, Any]


class Pace(NamedTuple):
    """How a network is trained."""

    epochs: int
    batch: int
    """The word-pieces of a batch."""
    rate: float
    head_rate: float
    """The rate of the two heads, which begin with nothing learnt."""


WHOLE: Final = Pace(4, 32768, 3e-4, 5e-4)
FURTHER: Final = Pace(1, 4096, 1e-4, 1e-4)


class BFloat16Copy:
    """A copy of a network that learns in its place in bfloat16, which processors with AMX compute faster.

    The heads stay floats of 32 bits. The optimiser steps on the network itself, so that small steps are not lost.

    Args:
        network: The network.
    """

    def __init__(self, network: SentenceNetwork) -> None:
        self.network = deepcopy(network).bfloat16()
        for head in (self.network.mid, self.network.head, self.network.none):
            head.float()
        self._pairs = [
            (own, half)
            for own, half in zip(network.parameters(), self.network.parameters(), strict=True)
            if own.requires_grad
        ]

    def give_gradients(self) -> None:
        """Move the gradients of the copy to the network."""
        for own, half in self._pairs:
            own.grad, half.grad = half.grad.float(), None

    @torch.no_grad()
    def take_weights(self) -> None:
        """Copy the weights of the network again."""
        for own, half in self._pairs:
            half.copy_(own)


class Batch(NamedTuple):
    """Examples of about the same length."""

    ids: Tensor
    """Word-pieces, [examples, tokens], 0 where there is none."""
    segments: Tensor
    """0 for the question and 1 for the passage, of the same shape."""
    spans: Tensor
    """The example, the first word-piece and the end of each sentence, [sentences, 3]."""
    labels: Tensor
    """Whether each sentence answers, [sentences]."""


class Examples:
    """The examples of all epochs. They stay where the network is, and each batch is gathered there.

    Args:
        arrays: The arrays that `examples.py` writes.
        device: Where the network is.
        batch: The word-pieces of a batch.
        seed: Fixes the order of the batches.
    """

    def __init__(self, arrays: dict[str, Array], device: torch.device, batch: int, seed: int) -> None:
        self._arrays, self._device, self._batch_pieces = arrays, device, batch
        self._ids, self._spans = (self._put(arrays[name].astype(np.int32)) for name in ("ids", "spans"))
        self._asked, self._lengths, self._counts = (
            self._put(arrays[name].astype(np.int64)) for name in ("asked", "lengths", "sentences")
        )
        self._first_ids, self._first_spans = (each.cumsum(0) - each for each in (self._lengths, self._counts))
        self._draw = np.random.default_rng(seed)
        self.draws = int(arrays["epochs"].max())

    def batches(self, epoch: int, *, are_statements: bool = False) -> Iterator[Batch]:
        """Yield the batches of questions of an epoch, or those of statements, in random order."""
        yield from map(self._batch, self.orders(epoch, are_statements=are_statements))

    def orders(self, epoch: int, *, are_statements: bool = False) -> list[list[int]]:
        """Return the numbers of the examples of each batch."""
        chosen = (self._arrays["epochs"] == epoch) & (self._arrays["statements"] == are_statements)
        numbers = np.flatnonzero(chosen)
        lengths = self._arrays["lengths"][numbers].astype(int)
        order = np.argsort(lengths + self._draw.uniform(-JITTER, JITTER, len(lengths)), kind="stable")
        made: list[list[int]] = [[]] if len(numbers) else []
        for place in order:
            if (len(made[-1]) + 1) * (lengths[place] + 2 * JITTER) > self._batch_pieces:
                made.append([])
            made[-1].append(int(numbers[place]))
        self._draw.shuffle(made)
        return made

    def _batch(self, numbers: list[int]) -> Batch:
        longest, spans = int(self._arrays["lengths"][numbers].max()), int(self._arrays["sentences"][numbers].sum())
        rows = self._put(np.array(numbers))
        places = torch.arange(longest + -longest % ALIGNED, device=self._device)
        is_own = places < self._lengths[rows, None]
        ids = self._ids[(self._first_ids[rows, None] + places).clamp_max(len(self._ids) - 1)] * is_own
        segments = (places >= self._asked[rows, None]) & is_own
        counts = self._counts[rows]
        row = torch.arange(len(rows), device=self._device).repeat_interleave(counts, output_size=spans)
        within = torch.arange(spans, device=self._device) - (counts.cumsum(0) - counts)[row]
        found = self._spans[self._first_spans[rows][row] + within].long()
        return Batch(ids, segments.long(), torch.column_stack([row, found[:, :2]]), found[:, 2] == 1)

    def _put(self, array: Array) -> Tensor:
        return torch.from_numpy(array).to(self._device)


def loss_of(scores: Tensor, nothing: Tensor, spans: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss of the choice among each passage's sentences and none."""
    count, device = len(nothing), nothing.device
    passage = torch.cat([torch.arange(count, device=device), spans[:, 0]])
    answered = torch.zeros(count, device=device).index_add(0, spans[:, 0], labels.float()) > 0
    wanted = torch.cat([~answered, labels])
    logits = torch.cat([nothing, scores])
    highest = torch.full((count,), -1e9, device=device).scatter_reduce(0, passage, logits.detach(), "amax")
    shares = (logits - highest[passage]).exp()
    total = torch.zeros(count, device=device).index_add(0, passage, shares)
    right = torch.zeros(count, device=device).index_add(0, passage, shares * wanted)
    return (total.log() - right.clamp_min(1e-9).log()).mean()


def read(network: SentenceNetwork, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the scores of the sentences and those of none."""
    device = batch.ids.device.type
    with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
        scores, nothing = network(batch.ids, batch.segments, batch.ids != 0, batch.spans)
    return scores.float(), nothing.float()


def measure(network: SentenceNetwork, batches: list[Batch]) -> str:
    """Return the share of right sentences, and the area under the curve of answered and open questions."""
    network.eval()
    right, answered, open_ = 0, [], []
    with torch.no_grad():
        for batch in batches:
            scores, nothing = (each.cpu() for each in read(network, batch))
            spans, labels = batch.spans.cpu(), batch.labels.cpu()
            for number in range(len(nothing)):
                own = spans[:, 0] == number
                odds = float(scores[own].max() - nothing[number])
                if labels[own].any():
                    right += bool(labels[own][scores[own].argmax()])
                    answered.append(odds)
                else:
                    open_.append(odds)
    network.train()
    area = (np.array(answered)[:, None] > np.array(open_)[None]).mean()
    return f"right {right} of {len(answered)}, area {area:.3f} over {len(open_)} without an answer"


def train(network: SentenceNetwork, examples: Examples, pace: Pace, seconds: float, *, in_bfloat16: bool) -> None:
    """Train with a rate that rises for a few steps and then falls evenly to nothing.

    Args:
        network: The network. It is on the device of the examples.
        examples: The examples.
        pace: How it is trained.
        seconds: The time after which the rate has fallen to nothing, if the epochs have not ended before.
        in_bfloat16: Whether a copy in bfloat16 reads and learns.
    """
    low = BFloat16Copy(network) if in_bfloat16 else None
    reader = low.network if low else network
    heads = [*network.mid.parameters(), *network.head.parameters(), *network.none.parameters()]
    chosen = set(map(id, heads))
    rest = [each for each in network.parameters() if each.requires_grad and id(each) not in chosen]
    groups = [{"params": heads, "lr": pace.head_rate}, {"params": rest, "lr": pace.rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    steps = pace.epochs * sum(1 for _ in examples.orders(1))
    warm = min(WARM, steps // 4 + 1)
    began, step = monotonic(), 0
    reader.train()
    for epoch in range(pace.epochs):
        for batch in examples.batches(1 + epoch % examples.draws):
            done = max(step / steps, (monotonic() - began) / seconds)
            if done >= 1:
                break
            for group, rate in zip(optimizer.param_groups, (pace.head_rate, pace.rate), strict=True):
                group["lr"] = rate * min((step + 1) / warm, max(0.01, 1 - done))
            scores, nothing = read(reader, batch)
            loss = loss_of(scores, nothing, batch.spans, batch.labels)
            optimizer.zero_grad()
            loss.backward()
            if low:
                low.give_gradients()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            if low:
                low.take_weights()
            step += 1
        print(f"epoch {epoch + 1}, step {step} of {steps}, loss {loss.item():.3f}", flush=True)


def main() -> None:
    """Train and write the tensors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("examples", "start", "out"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--further", metavar="TRAINED")
    parser.add_argument("--bfloat16", action="store_true", help="layers of 16 bits, on a processor that has them")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.backends.cuda.enable_cudnn_sdp(False)  # It plans anew for every length.
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with np.load(given.examples) as file:
        arrays = dict(file)
    network = SentenceNetwork(load_file(given.start), int(arrays["most_tokens"]))
    if given.further:
        network.load_state_dict(load_file(given.further), strict=False)
    pace = FURTHER if given.further else WHOLE
    examples = Examples(arrays, device, pace.batch, given.seed)
    train(network.to(device), examples, pace, given.seconds, in_bfloat16=given.bfloat16)
    trained = {name: value.cpu() for name, value in network.state_dict().items() if name != "words.weight"}
    save_file(trained, given.out)
    for name, are_statements in (("questions:", False), ("statements:", True)):
        if held := list(examples.batches(HELD, are_statements=are_statements)):
            print(name, measure(network, held), flush=True)


if __name__ == "__main__":
    main()
