# Set up, show, check and test the project. Needs Python 3.11 or newer and make.
PYTHON ?= python3
BIN = .venv/bin
SOURCES = src tests benchmarks
# Of this very code: what an earlier commit left there must not be gone on with.
REPRODUCED = experiments/reproduced/$(shell git rev-parse --short HEAD 2>/dev/null || echo here)
EXPERIMENTS = $(sort $(basename $(notdir $(wildcard experiments/*.toml))))
export DEVNET_DATA ?= $(wildcard ../shared/data)

.PHONY: help demo test check browser bench reproduce clean

help:  ## say what can be made
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 10

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	@touch $@

demo: .venv/installed  ## set up and go the whole way on made-up payments: fit, alerts, scores, report
	@$(BIN)/devnet demo

test: .venv/installed  ## set up and run all tests
	$(BIN)/python -m pytest -q

check: .venv/installed  ## format, lint, types and fast tests
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m "not slow"

browser:  ## install the browser that the reports are tested in (Debian, as root)
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; }

bench: .venv/installed  ## measure speed against named rivals in one run
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/tables.py

reproduce: .venv/installed  ## run all experiments anew and compare them with the committed results (three hours)
	for name in $(EXPERIMENTS); do \
	    $(BIN)/devnet experiment run $$name --results $(REPRODUCED) || exit 1; done
	$(BIN)/devnet experiment verify --results $(REPRODUCED) --against experiments/results
	mv $(REPRODUCED)/*.jsonl experiments/results/
	$(BIN)/devnet experiment report

clean:  ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
