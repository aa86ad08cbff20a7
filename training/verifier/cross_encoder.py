"""Trains the cross-encoder that was tried: `python training/verifier/cross_encoder.py WEIGHTS OUT [EPOCHS]`.

`WEIGHTS` is the folder of `model.safetensors` and `tokenizer.json` of all-MiniLM-L6-v2, `OUT` that of `train.jsonl`. It
needs the packages of `training/requirements.txt`. The first layers of MiniLM are trained on, and its word embeddings
are kept. Two heads read the first token: whether the second text supports the first, and whether it answers it. A
third head learns which tokens of a changed statement were changed.
"""

import json
import random
import sys
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

LAYERS, WIDTH, HEADS = 4, 384, 12
MAX_FIRST, MAX_TOKENS = 64, 176
TOKENS: Final = 2560
"""The tokens of a batch."""
RATE, WARM = 1.5e-4, 0.06
PLACES: Final = 0.3
"""The weight of the loss of the third head."""


class CrossEncoder(nn.Module):
    """The first layers of MiniLM with three heads: support, answering, and changed tokens."""

    def __init__(self, weights: dict[str, Tensor], layers: int = LAYERS) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(weights["embeddings.word_embeddings.weight"], freeze=True)
        self.places = nn.Parameter(weights["embeddings.position_embeddings.weight"][:MAX_TOKENS].clone())
        self.segments = nn.Parameter(weights["embeddings.token_type_embeddings.weight"].clone())
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.heads = nn.Linear(WIDTH, 2)
        self.changed = nn.Linear(WIDTH, 1)
        _copy(self.norm, weights, "embeddings.LayerNorm")
        for number, layer in enumerate(self.layers):
            layer.copy(weights, f"encoder.layer.{number}")

    def forward(self, ids: Tensor, segments: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the two scores of each pair [pairs, 2], and a score of each token [pairs, tokens]."""
        hidden = self.words(ids) + self.places[: ids.shape[1]] + self.segments[segments]
        hidden = self.norm(hidden)
        for layer in self.layers:
            hidden = layer(hidden, mask[:, None, None, :])
        return self.heads(hidden[:, 0]), self.changed(hidden).squeeze(-1)


class Layer(nn.Module):
    """One transformer layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.first, self.second = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

    def copy(self, weights: dict[str, Tensor], name: str) -> None:
        """Take the weights of a layer of MiniLM."""
        for part in ("query", "key", "value"):
            _copy(getattr(self, part), weights, f"{name}.attention.self.{part}")
        _copy(self.output, weights, f"{name}.attention.output.dense")
        _copy(self.first, weights, f"{name}.attention.output.LayerNorm")
        _copy(self.wide, weights, f"{name}.intermediate.dense")
        _copy(self.narrow, weights, f"{name}.output.dense")
        _copy(self.second, weights, f"{name}.output.LayerNorm")

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return the tokens after the layer; `mask` is true where a token may be read."""
        pairs, tokens, _ = hidden.shape
        query, key, value = (
            part(hidden).view(pairs, tokens, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        hidden = self.first(hidden + self.output(mixed.transpose(1, 2).reshape(pairs, tokens, WIDTH)))
        return self.second(hidden + self.narrow(functional.gelu(self.wide(hidden))))


def _copy(module: Any, weights: dict[str, Tensor], name: str) -> None:
    module.load_state_dict({part: weights[f"{name}.{part}"] for part in ("weight", "bias")})


def read_pair(tokenizer: Tokenizer, row: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of a pair, and which of the first text were changed (-1: not known)."""
    first = tokenizer.encode(row["a"], add_special_tokens=False)
    ids = first.ids[:MAX_FIRST]
    second = tokenizer.encode(row["b"], add_special_tokens=False).ids[: MAX_TOKENS - 3 - len(ids)]
    changed = [0] * len(ids) if row["label"] else [-1] * len(ids)
    if row.get("was"):
        spans = _changed(row["a"], row["was"])
        if spans:
            changed = [int(any(s < e1 and e > s1 for s1, e1 in spans)) for s, e in first.offsets[: len(ids)]]
    return {
        "ids": [101, *ids, 102, *second, 102],
        "segments": [0] * (len(ids) + 2) + [1] * (len(second) + 1),
        "changed": [-1, *changed],
        "task": row.get("task", 0),
        "label": row.get("label", 0),
    }


def _changed(text: str, before: str) -> list[tuple[int, int]]:
    """Return the places of words that differ from a text; where words were removed, the words beside them."""
    words, ends, place = text.split(), [], 0
    for word in words:
        place = text.index(word, place)
        ends.append((place, place + len(word)))
        place += len(word)
    spans = []
    for tag, _, _, start, end in SequenceMatcher(None, before.split(), words, autojunk=False).get_opcodes():
        if tag == "delete":
            start, end = max(0, start - 1), min(len(words), start + 1)
        if tag != "equal":
            spans.extend(ends[start:end])
    return spans


def batch(rows: list[dict[str, Any]]) -> tuple[Tensor, ...]:
    """Return tokens, segments, mask, changed tokens, heads and labels of some pairs."""
    longest = max(len(row["ids"]) for row in rows)

    def pad(name: str, value: int) -> Tensor:
        return torch.tensor([row[name] + [value] * (longest - len(row[name])) for row in rows])

    ids = pad("ids", 0)
    return (
        ids, pad("segments", 0), ids != 0, pad("changed", -1),
        torch.tensor([row["task"] for row in rows]), torch.tensor([float(row["label"]) for row in rows]),
    )  # fmt: skip


def batches(rows: list[dict[str, Any]], draw: random.Random) -> list[list[dict[str, Any]]]:
    """Return batches of about `TOKENS` tokens and of like length, in random order."""
    order = sorted(rows, key=lambda row: len(row["ids"]) + draw.uniform(-6, 6))
    made: list[list[dict[str, Any]]] = [[]]
    for row in order:
        if (len(made[-1]) + 1) * len(row["ids"]) > TOKENS:
            made.append([])
        made[-1].append(row)
    draw.shuffle(made)
    return made


def main(weights: Path, out: Path, epochs: float) -> None:
    """Train and write `cross_encoder.safetensors`."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with (out / "train.jsonl").open() as lines:
        rows = [read_pair(tokenizer, json.loads(line)) for line in lines]
    model = CrossEncoder(load_file(weights / "model.safetensors"))
    draw = random.Random(0)
    plan = batches(rows, draw)
    while len(plan) < epochs * len(batches(rows, random.Random(0))):
        plan += batches(rows, draw)
    plan = plan[: int(epochs * len(batches(rows, random.Random(0))))]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, step / (WARM * len(plan))) * max(0.02, 1 - step / len(plan))
    )
    begin, saved = time.time(), time.time()
    sums = [0.0, 0.0, 0.0, 0.0]
    print(len(rows), "pairs", sum(len(r["ids"]) for r in rows), "tokens", len(plan), "steps", flush=True)
    for step, part in enumerate(plan, 1):
        ids, segments, mask, changed, task, label = batch(part)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, places = model(ids, segments, mask)
        scores, places = scores.float(), places.float()
        chosen = scores.gather(1, task[:, None]).squeeze(1)
        loss = functional.binary_cross_entropy_with_logits(chosen, label)
        known = changed >= 0
        change = functional.binary_cross_entropy_with_logits(
            places, changed.clamp(0).float(), weight=known.float(), pos_weight=torch.tensor(4.0), reduction="sum"
        ) / known.sum().clamp(1)
        (loss + PLACES * change).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        right = ((chosen > 0) == (label > 0.5)).float()
        sums = [a * 0.99 + b for a, b in zip(sums, (loss.item(), change.item(), right.mean().item(), 1.0), strict=True)]
        if step % 50 == 0:
            rate = [round(value / sums[3], 4) for value in sums[:3]]
            print(step, "loss, places, right", rate, f"{time.time() - begin:.0f} s", flush=True)
        if time.time() - saved > 400 or step == len(plan):
            save_file({n: p.contiguous() for n, p in model.state_dict().items()}, out / "cross_encoder.safetensors")
            saved = time.time()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1.0)
