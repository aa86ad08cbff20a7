"""Local models: a GGUF file of the user, served by llama.cpp in a child process of the run."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import openai
import pytest

from sourcebound.contracts.policy.releases import load_shipped_policy
from sourcebound.contracts.prompt.build import build_prompt
from sourcebound.errors import ConfigurationError, ModelError
from sourcebound.models.local.added import add_model, registry_file, remove_model
from sourcebound.models.local.server import LlamaServer
from sourcebound.models.registry import Models
from sourcebound.settings import Settings
from support.builders import answer_bundle
from support.processes.llama_server import write_model

NAME = "local:tiny"
SENTENCES = load_shipped_policy("SOURCEBOUND_SENTENCES_V2")
PROMPT = build_prompt(answer_bundle(), SENTENCES).prompt


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "Tiny Model.gguf"
    write_model(path)
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, model_file: Path) -> Path:
    folder = tmp_path_factory.mktemp("home")
    assert add_model(folder, model_file, "tiny") == NAME
    return folder


def _children() -> set[int]:
    """The servers that this process has started and that have not ended."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and b"sourcebound.models.local.server" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
    return found


def _runs(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    return False


@pytest.mark.contract("R4-2")
@pytest.mark.contract("R3-7")
@pytest.mark.contract("R4-3")
async def test_an_added_model_answers_in_the_schema_with_the_anchors_of_the_prompt_and_comes_back_when_killed(
    home: Path,
) -> None:
    models = Models(Settings(home=home))
    before = _children()
    try:
        model = await models.open(NAME)
        (server,) = _children() - before
        first = await model.generate(PROMPT, SENTENCES)
        os.kill(server, signal.SIGKILL)
        second = await model.generate(PROMPT, SENTENCES)
        assert (_children() - before) & {server} == set()
    finally:
        await models.close()
    assert _children() == before
    assert (first.provider, first.model_name) == ("local", "tiny")
    assert second.raw_model_text == first.raw_model_text != ""  # temperature 0
    assert '"answer_sentences"' in first.raw_model_text  # without the schema it would be letters
    if first.finish_reason == "stop":
        anchors = [a for row in json.loads(first.raw_model_text)["answer_sentences"] for a in row["anchors"]]
        assert {*anchors} <= {"C0", "C1"}


@pytest.mark.contract("R4-3")
async def test_a_file_with_other_content_is_not_run(tmp_path: Path, model_file: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(model_file.read_bytes())
    name = add_model(tmp_path, copy)
    assert name == "local:copy"
    with copy.open("ab") as file:
        file.write(b"\0")
    models = Models(Settings(home=tmp_path))
    with pytest.raises(ConfigurationError, match=r"has changed\. Put the file back, or run `sourcebound models add"):
        await models.open(name)
    copy.unlink()
    with pytest.raises(ConfigurationError, match="cannot be read") as error:
        await models.examine(name)
    assert error.value.failure_code == "NO_MODEL"


@pytest.mark.contract("R4-2")
async def test_a_request_without_the_key_of_the_server_is_refused(model_file: Path) -> None:
    server = LlamaServer(model_file, "tiny", 512, threads=1, api_key="a key")
    try:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="another", max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "Hello"}])
    finally:
        server.close()


@pytest.mark.contract("R4-2")
def test_the_server_ends_with_the_process_that_started_it(model_file: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from sourcebound.models.local.server import LlamaServer\n"
        f"server = LlamaServer(Path({str(model_file)!r}), 'tiny', 512, threads=1)\n"
        "print(server._process.pid, flush=True); os._exit(1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    deadline = time.monotonic() + 30
    while _runs(pid):
        assert time.monotonic() < deadline, "the server is still running"
        time.sleep(0.05)


@pytest.mark.contract("R4-2")
@pytest.mark.parametrize(
    ("content", "code"), [(b"# not a model", "NO_SERVER"), (b"GGUF", "NO_SERVER"), (b"", "NO_SERVER")]
)
def test_a_file_that_is_no_model_is_not_added(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="Check that it is a complete GGUF file") as error:
        add_model(tmp_path, path)
    assert error.value.failure_code == code
    assert len(error.value.detail.splitlines()) <= 3
    assert not registry_file(tmp_path).exists()


@pytest.mark.contract("R4-2")
def test_bad_names_and_missing_files_are_named(tmp_path: Path, model_file: Path, home: Path) -> None:
    for path, name, code in (
        (tmp_path / "none.gguf", None, "PATH_MISSING"),
        (model_file, "Two words", "INVALID_NAME"),
        (model_file, "../up", "INVALID_NAME"),
    ):
        with pytest.raises(ConfigurationError) as error:
            add_model(tmp_path, path, name)
        assert error.value.failure_code == code
    with pytest.raises(
        ConfigurationError, match=r"no local model 'local:other'\. Add one with `sourcebound models add"
    ):
        Models(Settings(home=home)).profile("local:other")


@pytest.mark.contract("R4-2")
def test_a_model_is_replaced_and_removed_and_the_others_stay(tmp_path: Path, home: Path) -> None:
    text = registry_file(home).read_text()
    registry_file(tmp_path).write_text(text.replace(NAME, "local:kept") + text.partition("[models]")[2])
    remove_model(tmp_path, NAME)
    profiles = Models(Settings(home=tmp_path)).profiles()
    assert [profile.name for profile in profiles if profile.provider == "local"] == ["local:kept"]
    with pytest.raises(ConfigurationError, match="no added model"):
        remove_model(tmp_path, NAME)
