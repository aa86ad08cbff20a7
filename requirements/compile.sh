#!/bin/sh
# Re-resolves the locks from pyproject.toml's ranges (needs uv). The locks of the models' weights and of axe-core are pinned
# by hand. Tests of optional parts need optional.lock, with the versions of dev.lock. schemathesis has an environment of its own, because it needs other versions than we have.
set -eu
cd "$(dirname "$0")/.."
compile() { uv pip compile --quiet --generate-hashes --universal --python-version 3.11 --no-header --no-annotate "$@"; }
compile pyproject.toml requirements/build.in -o requirements/runtime.lock
compile pyproject.toml requirements/build.in --extra dev -c requirements/runtime.lock -o requirements/dev.lock
printf 'llama-index-core\nhaystack-ai\nrapidocr>=3.10,<4\n' | compile - -c requirements/dev.lock -o requirements/optional.lock
echo "schemathesis>=4,<5" | compile - -o requirements/schemathesis.lock
