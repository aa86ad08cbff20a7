"""Rerankers from a folder: any cross-encoder with one score that was exported to ONNX (R1-6).

A cross-encoder reads the question and a passage together. Of a pair that is too long it reads the beginning of each.
Next to the files of `OnnxModel`, the folder may have `config.json` with `max_position_embeddings`, or
`tokenizer_config.json` with `model_max_length`, its longest pair.
"""

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from sourcebound.models.embedders.minilm import usable_cores
from sourcebound.models.onnx.model import LONGEST_OTHERWISE, OnnxModel

MOST_TOKENS: Final = 512
"""The most tokens of a pair, also for models that could read more: the time grows faster than the text."""


class OnnxReranker:
    """The reranker `onnx:FOLDER`.

    Args:
        folder: The folder of the model.

    Raises:
        ModelError: `RERANKER_MISSING` if a file is not there, `RERANKER_CORRUPT` if one cannot be read, or if the model
            has not exactly one score for a pair.
    """

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, "reranker")
        self._workers = ThreadPoolExecutor(usable_cores(), thread_name_prefix="onnx")
        longest = min(
            MOST_TOKENS,
            int(self._model.read("config.json").get("max_position_embeddings") or LONGEST_OTHERWISE),
            int(self._model.read("tokenizer_config.json").get("model_max_length") or LONGEST_OTHERWISE),
        )
        self._model.tokenizer.enable_truncation(longest, strategy="longest_first")
        self._score("a", "a")

    @property
    def name(self) -> str:
        """`onnx:`, the name of the folder, and a digest of the model (`OnnxModel.name`)."""
        return self._model.name

    async def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text for a question, in order, on the model's own scale; higher is better.

        Raises:
            ModelError: The model fails on a pair (`RERANKER_CORRUPT`).
        """
        loop = asyncio.get_running_loop()
        runs = (loop.run_in_executor(self._workers, self._score, question, text) for text in texts)
        return list(await asyncio.gather(*runs))

    def _score(self, question: str, text: str) -> float:
        encoding = self._model.tokenizer.encode(question, text)
        found = self._model.run(encoding, self._model.outputs[0])
        if found.size != 1 or not math.isfinite(found.item()):
            raise self._model.corrupt("its model does not give one score for a question and a text")
        return float(found.item())
