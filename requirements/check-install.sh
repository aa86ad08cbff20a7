#!/bin/sh
# Installs a wheel into a clean environment, with the locked versions and the weights, and answers a question from there.
# usage: requirements/check-install.sh dist/sourcebound-VERSION-py3-none-any.whl
set -eu
wheel=$(realpath "$1")
root=$(realpath "$(dirname "$0")/..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place" # the account that runs PostgreSQL must reach it
${PYTHON:-python3} -m venv "$place/venv"
install() { "$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
install --no-deps --require-hashes -r "$root/requirements/runtime.lock"
install --no-deps --require-hashes -r "$root/requirements/embedder.lock"
install --no-deps "$wheel"
cd "$place" # not the repository, so that only the wheel is imported
export SOURCEBOUND_HOME="$place/home"
"$place/venv/bin/sourcebound" --version
"$place/venv/bin/sourcebound" ingest "$root/examples/manuals" --collection demo
"$place/venv/bin/sourcebound" ask "What oil charge does the bearing frame of the HP-200 take in revision C?" --collection demo
