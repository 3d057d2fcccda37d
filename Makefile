# Set up, show, check and test the project. Needs Python 3.11 or newer and make.
PYTHON ?= python3
BIN = .venv/bin
SOURCES = src tests benchmarks
export DEVNET_DATA ?= $(wildcard ../shared/data)
# Figures in documents and results are those of processors without AVX-512; others compute alike with these settings.
test check reproduce: export OPENBLAS_CORETYPE ?= Haswell
test check reproduce: export NPY_DISABLE_CPU_FEATURES ?= X86_V4 AVX512_ICL AVX512_SPR

.PHONY: help demo test check campaign recipes browser picture pictures bench reproduce clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 11

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[all]" --group dev
	@touch $@

demo: .venv/installed  ## set up and run all steps on made-up payments: fit, alerts, scores, report
	@$(BIN)/devnet demo

test: .venv/installed  ## set up and run all tests, on all cores
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile

check: .venv/installed  ## check format, lint and types, and run the fast tests
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile -m "not slow"

campaign: .venv/installed  ## try thousands of damaged models, odd tables, kills and hostile names; may be stopped and resumed
	PYTHONPATH=tests $(BIN)/python -m campaigns

recipes: .venv/installed  ## try the recipes for Spark (needs Java), Ray, Polars and DuckDB
	@command -v java >/dev/null || { apt-get -qq update && apt-get -qq install -y default-jre-headless; }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group recipes
	$(BIN)/python -m pytest -q tests/test_recipes.py

browser:  ## install the browser that reports and the analysts' page are tested in (Debian, as root)
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; }

picture: demo browser  ## take the README's picture of the report
	chromium --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run \
	    --hide-scrollbars --user-data-dir=$$(mktemp -d) --window-size=1200,1305 \
	    --screenshot=docs/pictures/report.png $(CURDIR)/devnet-demo/report.html

pictures: .venv/installed  ## draw the pictures of the guides
	$(BIN)/python docs/pictures/signals.py

bench: .venv/installed  ## measure speed against named rivals in the same run
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/graphs.py
	$(BIN)/python benchmarks/sequences.py

reproduce: .venv/installed  ## run all experiments again (QUICK=1: ten minutes) and compare; may be stopped and resumed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group raw --group feedback
	$(BIN)/devnet experiment reproduce $(if $(QUICK),--quick)

clean:  ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
