# JobFlow for Volcano. `make help` says what there is; each command makes the environment that it needs by itself.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTS ?= tests
WORKERS ?= 2
IMAGE ?= jobflow:0.1.0

.PHONY: help demo up down test test-quick check bench simulate mutants model chart image release-check lock clean faults

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## see it work: a small cluster in memory, three JobFlows, four refusals; a minute
	@$(BIN)/python -m devcluster demo

up: $(READY) ## the same, left running for kubectl; `make down` ends it
	@$(BIN)/python -m devcluster stack --detach

down: $(READY) ## end what `make up` left running
	@$(BIN)/python -m devcluster stack --stop

test: $(READY) ## everything that CI runs; needs Go, or the binaries of a real API server, for all of it
	@$(BIN)/python -m tests.support.binaries >/dev/null 2>&1 || \
	  echo "First Go builds a real kube-apiserver, once: some five minutes. Without Go what needs it is skipped."
	@echo "All tests take about forty minutes on two cores."
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m "not bench and not campaign" $(TESTS)

test-quick: $(READY) ## the tests that need no processes and no API server
	$(BIN)/python -m pytest -n $(WORKERS) -m "not bench and not integration and not real and not mutants" $(TESTS)

check: $(READY) ## format, lint, types, contracts between the rooms, and the tables of the README
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.support.readme --check

bench: $(READY) ## the benchmarks, each beside a limit of the same run; BENCH="chain fan" picks some
	@$(BIN)/python -m tests.bench $(BENCH)

faults: $(READY) ## real processes with faults between them and the API server, write by write; some ten minutes
	$(BIN)/python -m pytest -n $(WORKERS) tests/faults

simulate: $(READY) ## a campaign of the seeded simulator; N=10000 SEED=1
	@$(BIN)/python -m tests.simulation --runs $(or $(N),10000) --seed $(or $(SEED),1)

mutants: $(READY) ## mistakes put into copies of the programs, each against the test that has to see it
	@$(BIN)/python -m tests.mutants $(MUTANTS)

model: $(READY) ## every state that a JobFlow of up to four entries can come to
	@$(BIN)/python -m tests.model

chart: $(READY) ## check the Helm chart and package it, into dist/
	@helm=$$($(BIN)/python -m tests.support.helm --build) && $$helm lint --strict charts/jobflow && \
	  mkdir -p dist && $$helm package charts/jobflow -d dist

image: ## build the image; IMAGE=registry.example.org/jobflow:0.1.0
	docker build -t $(IMAGE) --build-arg REVISION=$$(git rev-parse HEAD) .

release-check: $(READY) ## make what a release consists of, into dist/, and try it in an empty environment
	@$(BIN)/python -m tests.support.release

lock: ## pin all dependencies anew, with hashes (needs uv)
	uv pip compile --generate-hashes --universal --extra uvloop --no-header --no-emit-index-url \
	  pyproject.toml -o requirements.txt
	uv pip compile --generate-hashes --universal --extra uvloop --group dev --no-header --no-emit-index-url \
	  pyproject.toml -o requirements-dev.txt

clean: ## remove the environment and everything that was made
	rm -rf $(VENV) .devcluster .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: uv where it is there, else venv and pip. The stamp is written last, so that a broken start starts over.
$(READY): requirements-dev.txt pyproject.toml
	@test -n "$(PYTHON)" && $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; where it is not on the PATH: make PYTHON=/path/to/python3" >&2; exit 1; }
	@if uv --version >/dev/null 2>&1; then \
	  echo "Making the environment $(VENV) with uv" >&2; \
	  test -x $(BIN)/python || uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV); \
	  uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-dev.txt && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	else \
	  echo "Making the environment $(VENV) with venv and pip (a minute or two; uv is faster where it is installed)" >&2; \
	  test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV) || { \
	    echo "python3 -m venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .; \
	fi
	@touch $@
