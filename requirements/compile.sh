#!/bin/sh
# Re-resolves the locks from pyproject.toml's ranges (needs uv). The locks of the two models' weights are pinned by hand.
set -eu
cd "$(dirname "$0")/.."
compile() { uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate "$@"; }
compile pyproject.toml requirements/build.in -o requirements/runtime.lock
compile pyproject.toml requirements/build.in --extra dev -c requirements/runtime.lock -o requirements/dev.lock
