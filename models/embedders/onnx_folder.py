"""Embedders from a folder: any sentence embedder that was exported to ONNX, such as a larger or a multilingual one.

The folder has the usual layout of such models: `tokenizer.json`, `model.onnx` (or `onnx/model.onnx`), and if the model
needs them `1_Pooling/config.json`, `config_sentence_transformers.json` (its prefixes) and `sentence_bert_config.json`
(its longest text). Nothing is downloaded, and no code from the folder runs.

As in `minilm`, one run embeds one text on one thread, so that a text always gets the same vector.
"""

import asyncio
import hashlib
import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sourcebound.errors import ModelError
from sourcebound.models.embedders.minilm import usable_cores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
TOKENIZER_FILE: Final = "tokenizer.json"
LONGEST_OTHERWISE: Final = 512
"""The tokens of a text where the folder does not say how many the model reads."""
WHOLE_TEXT: Final = "sentence_embedding"
"""The output that some exports have for the vector of the whole text."""
QUERY_PROMPTS: Final = ("query",)
DOCUMENT_PROMPTS: Final = ("document", "passage")


class OnnxFolderEmbedder:
    """The embedder `onnx:FOLDER`.

    Args:
        folder: The folder of the model.

    Raises:
        ModelError: `EMBEDDER_MISSING` when a file is not there, `EMBEDDER_CORRUPT` when one cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
        if self._model is None or not (folder / TOKENIZER_FILE).is_file():
            missing = MODEL_FILES[0] if self._model is None else TOKENIZER_FILE
            raise ModelError(
                f"{folder} has no {missing}, so there is no embedder in it.",
                "Name the folder of an embedder in ONNX form, with its tokenizer.json.",
                code="EMBEDDER_MISSING",
            )
        self._workers = ThreadPoolExecutor(usable_cores(), thread_name_prefix="onnx")
        self._prompts: dict[str, str] = self._read("config_sentence_transformers.json").get("prompts") or {}
        self._takes_first = bool(self._read("1_Pooling/config.json").get("pooling_mode_cls_token"))
        self._tokenizer = self._open_tokenizer()
        self._session = self._open_session(self._model)
        self._inputs = [each.name for each in self._session.get_inputs()]
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = WHOLE_TEXT if WHOLE_TEXT in outputs else outputs[0]
        longest = int(self._read("sentence_bert_config.json").get("max_seq_length") or LONGEST_OTHERWISE)
        self._max_tokens = longest - self._tokenizer.num_special_tokens_to_add(is_pair=False)
        self._dimensions = len(self._embed("a"))

    @cached_property
    def name(self) -> str:
        """`onnx:`, the name of the folder, and the first digits of the SHA-256 of its model and tokenizer."""
        digest = hashlib.sha256()
        assert self._model is not None
        for path in (*sorted(self._model.parent.glob(f"{self._model.name}*")), self._folder / TOKENIZER_FILE):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"onnx:{self._folder.name}@{digest.hexdigest()[:8]}"

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
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

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

        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self._max_tokens)
        encoding = self._tokenizer.post_process(encoding)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        try:
            values = {name: np.array([given[name]], dtype=np.int64) for name in self._inputs}
            (found,) = self._session.run([self._output], values)
            vector = self._pool(found)
        except Exception as error:  # the runtime has an exception of its own for each of its faults
            raise self._corrupt("its model cannot be run") from error
        length = float(np.linalg.norm(vector))
        if vector.ndim != 1 or not math.isfinite(length) or length == 0:
            raise self._corrupt("its model gives no vector for a text")
        values_of_text: list[float] = (vector / length).tolist()
        return values_of_text

    def _pool(self, found: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the vector of a text: that of its first token, or the mean of all."""
        states: NDArray[np.float32] = found[0]
        if states.ndim == 1:
            return states
        pooled: NDArray[np.float32] = states[0] if self._takes_first else states.mean(axis=0)
        return pooled

    def _open_tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
        except Exception as error:  # the library raises Exception itself
            raise self._corrupt(f"its {TOKENIZER_FILE} cannot be read") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _open_session(self, model: Path) -> "InferenceSession":
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it must be set before the import
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime has an exception of its own for each of its faults
            raise self._corrupt(f"{model.name} is not a model that can be opened") from error

    def _read(self, name: str) -> dict[str, Any]:
        path = self._folder / name
        if not path.is_file():
            return {}
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise self._corrupt(f"its {name} is not JSON") from error
        return content if isinstance(content, dict) else {}

    def _corrupt(self, reason: str) -> ModelError:
        return ModelError(
            f"The embedder in {self._folder} cannot be used: {reason}.",
            "Export or download the model again.",
            code="EMBEDDER_CORRUPT",
        )
