"""Embedders from a folder: any sentence embedder that was exported to ONNX, such as a larger or a multilingual one.

Next to the files of `OnnxModel`, the folder may have `1_Pooling/config.json`, `config_sentence_transformers.json` (its
prefixes) and `sentence_bert_config.json` (its longest text).
"""

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sourcebound.models.embedders.minilm import usable_cores
from sourcebound.models.onnx.model import LONGEST_OTHERWISE, OnnxModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WHOLE_TEXT: Final = "sentence_embedding"
"""The output that some exports have for the vector of the whole text."""
QUERY_PROMPTS: Final = ("query",)
DOCUMENT_PROMPTS: Final = ("document", "passage")


class OnnxEmbedder:
    """The embedder `onnx:FOLDER`.

    Args:
        folder: The folder of the model.

    Raises:
        ModelError: `EMBEDDER_MISSING` when a file is not there, `EMBEDDER_CORRUPT` when one cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, "embedder")
        self._workers = ThreadPoolExecutor(usable_cores(), thread_name_prefix="onnx")
        self._prompts: dict[str, str] = self._model.read("config_sentence_transformers.json").get("prompts") or {}
        self._takes_first = bool(self._model.read("1_Pooling/config.json").get("pooling_mode_cls_token"))
        self._output = WHOLE_TEXT if WHOLE_TEXT in self._model.outputs else self._model.outputs[0]
        longest = int(self._model.read("sentence_bert_config.json").get("max_seq_length") or LONGEST_OTHERWISE)
        self._max_tokens = longest - self._model.tokenizer.num_special_tokens_to_add(is_pair=False)
        self._dimensions = len(self._embed("a"))

    @property
    def name(self) -> str:
        """`onnx:`, the name of the folder, and a digest of the model (`OnnxModel.name`)."""
        return self._model.name

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        """The most tokens of a text, without special tokens. The rest of a text is ignored."""
        return self._max_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of the whole text, without special tokens."""
        return len(self._model.tokenizer.encode(text, add_special_tokens=False).ids)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector for each text, in order, after the prefix that the model has for documents.

        Raises:
            ModelError: The model fails on a text (`EMBEDDER_CORRUPT`).
        """
        loop, prompt = asyncio.get_running_loop(), self._prompt(DOCUMENT_PROMPTS)
        runs = (loop.run_in_executor(self._workers, self._embed, prompt + text) for text in texts)
        return list(await asyncio.gather(*runs))

    async def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question, after the prefix that the model has for questions.

        Raises:
            ModelError: The model fails on the text (`EMBEDDER_CORRUPT`).
        """
        return await asyncio.to_thread(self._embed, self._prompt(QUERY_PROMPTS) + text)

    def _prompt(self, names: Sequence[str]) -> str:
        return next((self._prompts[name] for name in names if name in self._prompts), "")

    def _embed(self, text: str) -> list[float]:
        import numpy as np

        encoding = self._model.tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self._max_tokens)
        vector = self._pool(self._model.run(self._model.tokenizer.post_process(encoding), self._output)[0])
        length = float(np.linalg.norm(vector))
        if vector.ndim != 1 or not math.isfinite(length) or length == 0:
            raise self._model.corrupt("its model gives no vector for a text")
        values: list[float] = (vector / length).tolist()
        return values

    def _pool(self, states: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the vector of a text: the one that the model gives, that of its first token, or the mean of all."""
        if states.ndim == 1:
            return states
        pooled: NDArray[np.float32] = states[0] if self._takes_first else states.mean(axis=0)
        return pooled
