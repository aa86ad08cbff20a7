"""A model that was exported to ONNX: a folder with its network and its tokenizer.

The folder has the usual layout: `tokenizer.json`, and `model.onnx` or `onnx/model.onnx`. Nothing is downloaded, and no
code from the folder runs. One run reads one text, or one pair, on one thread, so that it always gives the same result.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sourcebound.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL_FILES: Final = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")
TOKENIZER_FILE: Final = "tokenizer.json"
LONGEST_OTHERWISE: Final = 512
"""The tokens of a text where the folder does not say how many the model reads."""


class OnnxModel:
    """The network and the tokenizer of a folder.

    Args:
        folder: The folder of the model.
        kind: What it is used as, for messages and codes: `embedder` or `reranker`.

    Raises:
        ModelError: `EMBEDDER_MISSING` or `RERANKER_MISSING` if a file is not there, `…_CORRUPT` if one cannot be read.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder.expanduser().resolve(), kind
        model = next((self._folder / name for name in MODEL_FILES if (self._folder / name).is_file()), None)
        if model is None or not (self._folder / TOKENIZER_FILE).is_file():
            missing = MODEL_FILES[0] if model is None else TOKENIZER_FILE
            raise ModelError(
                f"{folder} has no {missing}, so there is no {kind} in it.",
                f"Name the folder of a model in ONNX form that is {_with_article(kind)}, with its tokenizer.json.",
                code=f"{kind.upper()}_MISSING",
            )
        self._model = model
        self.tokenizer = self._open_tokenizer()
        self._session = self._open_session(model)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self.outputs = [each.name for each in self._session.get_outputs()]

    @cached_property
    def name(self) -> str:
        """`onnx:`, the name of the folder, and the first digits of the SHA-256 of its model and tokenizer."""
        digest = hashlib.sha256()
        for path in (*sorted(self._model.parent.glob(f"{self._model.name}*")), self._folder / TOKENIZER_FILE):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return f"onnx:{self._folder.name}@{digest.hexdigest()[:8]}"

    def run(self, encoding: "Encoding", output: str) -> "NDArray[np.float32]":
        """Return an output of the network for one tokenized text or pair.

        Args:
            encoding: The tokens, with the special ones.
            output: The name of the output.

        Raises:
            ModelError: The network cannot be run (`…_CORRUPT`).
        """
        import numpy as np

        given: dict[str, Sequence[int]] = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        try:
            values = {name: np.array([given[name]], dtype=np.int64) for name in self._inputs}
            (found,) = self._session.run([output], values)
        except Exception as error:  # the runtime has an exception of its own for each of its faults
            raise self.corrupt("its model cannot be run") from error
        result: NDArray[np.float32] = np.asarray(found)
        return result

    def read(self, name: str) -> dict[str, Any]:
        """Return a JSON file of the folder; empty if there is none.

        Raises:
            ModelError: The file is not JSON (`…_CORRUPT`).
        """
        path = self._folder / name
        if not path.is_file():
            return {}
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise self.corrupt(f"its {name} is not JSON") from error
        return content if isinstance(content, dict) else {}

    def corrupt(self, reason: str) -> ModelError:
        """Return the error of a model that cannot be used."""
        return ModelError(
            f"The {self._kind} in {self._folder} cannot be used: {reason}.",
            "Export or download the model again.",
            code=f"{self._kind.upper()}_CORRUPT",
        )

    def _open_tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
        except Exception as error:  # the library raises Exception itself
            raise self.corrupt(f"its {TOKENIZER_FILE} cannot be read") from error
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
            raise self.corrupt(f"{model.name} is not a model that can be opened") from error


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
