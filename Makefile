# One command surface. `make` alone explains itself; CI calls the same targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup jars fmt lint types contracts sizes test test-fast chaos bench docs docs-serve demo lock clean

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[36mmake %-12s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv with everything; .venv/bin/headwater is the command
	@echo "ready: $(VENV)/bin/headwater --help"

$(READY): requirements.lock pyproject.toml tools/setup.sh tools/build_proto.py $(wildcard src/headwater/format/proto/*.proto)
	@tools/setup.sh $(VENV)
	@touch $@

jars: $(READY) ## Fetch Spark's table-format jars from Maven Central into the cache
	@$(PY) -m headwater.app.jars

fmt: $(READY) ## Format the code and sort the imports
	@$(VENV)/bin/ruff check -q --fix-only . ; $(VENV)/bin/ruff format .

lint: $(READY) ## Ruff, mypy --strict, import contracts, file sizes
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(PY) tools/check_sizes.py

test: $(READY) ## Every test, on real servers and real Spark (starts what it needs)
	@tools/test.sh

test-fast: $(READY) ## The tests that need neither Spark nor kill -9
	$(VENV)/bin/pytest -q tests/unit tests/property tests/conformance tests/architecture

chaos: $(READY) ## Kill at every failpoint with every seed, 200 tables, more histories (about three hours)
	HEADWATER_CHAOS=full HEADWATER_SEEDS=3 tools/test.sh tests/chaos \
	  tests/spark/test_many_tables.py tests/spark/test_modes.py tests/spark/test_load.py tests/spark/test_prefixes.py
	HEADWATER_CHAOS=full HEADWATER_SEEDS=3 tools/test.sh iceberg

bench: $(READY) ## Run a benchmark: make bench NAME=log
	@$(PY) -m benchmarks.$(or $(NAME),log)

docs: $(READY) ## Build the documentation into site/
	$(PY) -m tools.gen_reference
	$(VENV)/bin/mkdocs build -q --strict

docs-serve: docs ## Serve the documentation on loopback
	$(VENV)/bin/mkdocs serve -a 127.0.0.1:8000

demo: $(READY) ## A shop database, captured live into Delta tables and proven equal (ARGS="--table-format parquet")
	@case "$(ARGS)" in *parquet*) ;; *) echo "fetching Spark's jars, once"; $(PY) -m headwater.app.jars ;; esac
	@$(VENV)/bin/headwater demo $(ARGS)

lock: ## Resolve the dependencies anew into requirements.lock
	uv pip compile pyproject.toml --quiet --universal --all-extras --group dev --group docs --group bench \
	  --generate-hashes --no-header --output-file requirements.lock

clean: ## Remove the environment and every cache of this checkout
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis site
