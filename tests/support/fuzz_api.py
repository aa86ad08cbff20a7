"""Send generated requests to every route of a server, and compare its answers with its OpenAPI document.

    python -m support.fuzz_api PATH_OF_ST [EXAMPLES]

The server is a process with a database of its own that holds the example manuals. No answer may have a status of 500 or
more, and each must have a status, a media type and a form that the document names.
"""

import os
import subprocess
import sys
from pathlib import Path

import httpx

from support.places import ROOT
from support.processes.commands import PROGRAM
from support.processes.homes import reachable_folder, wait_until

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
REQUEST_SECONDS = 60


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=REQUEST_SECONDS).is_success
    except httpx.TransportError:
        return False


def main() -> None:
    program, examples = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "50"
    with reachable_folder() as folder:
        environment = {**os.environ, "SOURCEBOUND_HOME": str(folder / "home"), "SOURCEBOUND_LOG_LEVEL": "warning"}
        manuals = str(ROOT / "examples" / "manuals")
        subprocess.run([PROGRAM, "ingest", manuals, "--collection", "demo"], env=environment, check=True)
        serve = [str(PROGRAM), "serve", "--port", "0"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=environment) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            wait_until(lambda: answers(url))
            options = ["--checks", ",".join(CHECKS), "--max-examples", examples, "--seed", "1"]
            options += ["--request-timeout", str(REQUEST_SECONDS), "--no-color"]
            command = [str(Path(program).resolve()), "run", f"{url}/openapi.json", *options]
            done = subprocess.run(command, cwd=folder, check=False)
            server.terminate()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
