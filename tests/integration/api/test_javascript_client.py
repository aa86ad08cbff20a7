"""The official JavaScript client of OpenAI against the server, streamed and not (§10)."""

import json
import shutil
import subprocess

import pytest

from support.places import ROOT
from support.processes.http_server import ANSWER, QUESTION, Served

CLIENTS = ROOT / "tests" / "clients"


@pytest.mark.contract("CP-12")
def test_the_javascript_client_asks_and_streams(served: Served) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (CLIENTS / "node_modules" / "openai").is_dir():
        pytest.skip("the npm package openai is not installed: npm ci --prefix tests/clients")
    done = subprocess.run(
        [node, CLIENTS / "openai_client.mjs", f"{served.url}/v1", QUESTION],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    text = seen["completion"]
    assert text.startswith(f"{ANSWER} [1]\n\n- [1] HP-200 Circulation Pump")
    assert (seen["chunks"], seen["response"], seen["deltas"], seen["helper"]) == ([text], text, [text], text)
    assert (seen["support"], seen["last"]) == ("MEDIUM", "response.completed")
    assert seen["models"] == ["sourcebound", "sourcebound/default"]
    assert seen["error"] == ["NotFoundError", 404, "MODEL_NOT_FOUND"]
