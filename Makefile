# Plain recipes: one command a line, nothing that only one make understands.
# On Windows: make BIN=.venv/Scripts PYTHON=python
PYTHON = python3
BIN = .venv/bin
TRACES = data/raw

demo:
	$(PYTHON) scripts/make/environment.py
	$(BIN)/cache-worthy analyze examples/sample_log.jsonl

venv:
	$(PYTHON) scripts/make/environment.py --tools

test: venv check

check: lint types tests

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: venv
	$(BIN)/mypy
	$(BIN)/mypy scripts proofs tests

tests: venv
	$(BIN)/python -m pytest -rs -n 2 --dist loadscope -m "not traces and not slow"

verify: venv
	$(BIN)/python scripts/check/verify.py --traces $(TRACES)

verify-full: venv
	$(BIN)/python scripts/check/verify.py --traces $(TRACES) --full

proofs: venv
	$(BIN)/python scripts/check/proofs.py

proofs-full: venv
	$(BIN)/python scripts/check/proofs.py --full

proofs-coq: venv
	$(BIN)/python scripts/check/coq.py

# Peers to compare with; without them (no network) the figures stand alone, and say so.
peers: venv
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"

# The documentation as a site, in site/; a link that leads nowhere fails (with --quiet it would not).
docs: venv
	$(BIN)/python scripts/make/pages.py --check
	$(BIN)/python -m mkdocs build --strict

bench: peers
	$(BIN)/python scripts/bench/all.py --traces $(TRACES)

bench-full: peers
	$(BIN)/python scripts/bench/all.py --traces $(TRACES) --full

.PHONY: demo venv test check lint types tests verify verify-full proofs proofs-full proofs-coq peers docs bench bench-full
