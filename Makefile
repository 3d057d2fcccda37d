# Set up, show, check and test the project. Needs Python 3.11 or newer and make.
PYTHON ?= python3
BIN = .venv/bin
SOURCES = src tests benchmarks docs/scripts examples release
OLDEST_TESTS = $(addprefix tests/,core engine significance explanation detectors/test_base.py \
    detectors/competitors/test_boosting_libraries.py tables/columns tables/readings tables/test_encoder.py tables/test_scoring.py \
    tables/test_table_model.py $(addprefix tables/sources/test_,csv.py excel.py json_lines.py opening.py parquet.py unpacking.py) \
    deep/images $(addprefix deep/sequences/test_,own_modules.py series.py series_table.py window_features.py) \
    serving/onnx serving/service serving/test_scoring_on_a_cluster.py review/test_store.py \
    review/server/test_doors.py review/server/test_queue_views.py review/server/test_taking_back.py report/test_fit_page.py \
    cli/test_export.py cli/test_wrong_words.py cli/test_shell_hints.py)
NEWEST_TESTS = $(addprefix tests/,core engine significance detectors/test_base.py tables/readings tables/test_encoder.py \
    tables/test_scoring.py serving/onnx/test_matrix_models.py serving/service review/test_store.py \
    review/server/test_doors.py report/test_fit_page.py cli/test_export.py cli/test_wrong_words.py cli/test_shell_hints.py)
TOOLS = hypothesis pandas polars pytest pytest-xdist
# Bytecode is kept, whatever the shell says: hundreds of processes would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE
export DEVNET_DATA ?= $(wildcard ../shared/data)
# Figures in documents and results are those of processors without AVX-512; others compute alike with these settings.
test check reproduce picture: export OPENBLAS_CORETYPE ?= Haswell
test check reproduce picture: export NPY_DISABLE_CPU_FEATURES ?= X86_V4 AVX512_ICL AVX512_SPR
# Tests fill the cores by processes. Threads of theirs, above all torch's, would wait for each other most of the time; those of
# ours are tried by tests of their own, and by `make newest`.
test check picture oldest newest: export OMP_NUM_THREADS ?= 1
test check oldest: export LOKY_MAX_CPU_COUNT ?= 1
# One process more than cores: some tests wait for servers, browsers and workers.
PYTEST = -m pytest -q --durations 15 --durations-min 10 --numprocesses $(shell expr $$($(PYTHON) -c 'import os; print(os.cpu_count())') + 1) --dist worksteal

.PHONY: help demo docs test check campaign recipes browser picture bench reproduce setup oldest newest release clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 11

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[all]" --group dev
	@touch $@

demo: .venv/installed  ## set up and run all steps on made-up payments: fit, alerts, scores, report
	@$(BIN)/devnet demo

docs: .venv/documented  ## build the site in build/site; a dead link fails
	$(BIN)/python docs/scripts/stage.py
	$(BIN)/zensical build --strict --clean

.venv/documented: .venv/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	@touch $@

test: .venv/installed  ## set up and run all tests, on all cores
	$(BIN)/python $(PYTEST)

check: .venv/installed  ## check format, lint and types, and run the fast tests
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/python $(PYTEST) -m "not slow"

campaign: .venv/installed  ## try thousands of damaged models, odd tables, kills and hostile names; may be stopped and resumed
	PYTHONPATH=tests $(BIN)/python -m campaigns

recipes: .venv/installed  ## try the recipes for Spark (needs Java), Ray, Polars and DuckDB
	@command -v java >/dev/null || { apt-get -qq update && apt-get -qq install -y default-jre-headless; }
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group recipes
	$(BIN)/python -m pytest -q tests/test_recipes.py

browser:  ## install the browser that reports and the analysts' page are tested in (Debian, as root)
	@command -v chromium >/dev/null || { apt-get -qq update && apt-get -qq install -y chromium; }

picture: demo browser  ## take the pictures of the report and of the analysts' page, and draw those of the examples
	chromium --headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run \
	    --hide-scrollbars --user-data-dir=$$(mktemp -d) --window-size=1200,1305 \
	    --screenshot=docs/pictures/report.png $(CURDIR)/devnet-demo/report.html
	$(BIN)/python docs/scripts/pictures.py devnet-demo
	$(BIN)/python docs/scripts/signals.py
	cd docs/pictures/examples && for one in payments text matrix own_network; do \
	    $(CURDIR)/$(BIN)/python $(CURDIR)/examples/$$one.py || exit; done

bench: .venv/installed  ## measure speed against named rivals in the same run
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/graphs.py
	$(BIN)/python benchmarks/sequences.py

reproduce: .venv/installed  ## run all experiments again (QUICK=1: ten minutes) and compare; may be stopped and resumed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group raw --group feedback
	$(BIN)/devnet experiment reproduce $(if $(QUICK),--quick)

setup: .venv/documented .venv-oldest/installed .venv-newest/installed  ## set up what all jobs of .ci/run need

oldest: .venv-oldest/installed  ## run tests of every room with the oldest Python here and the oldest versions allowed
	.venv-oldest/bin/python $(PYTEST) -m "not slow" -W ignore::DeprecationWarning $(OLDEST_TESTS)

.venv-oldest/installed: pyproject.toml constraints.txt
	$$($(PYTHON) release/pythons.py oldest) -m venv --clear .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(PYTHON) release/lower_bounds.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --no-compile --constraint .venv-oldest/constraints.txt \
	    --editable ".[all,dask,images,onnx,torch]" lightgbm $(TOOLS) httpx
	@touch $@

newest: .venv-newest/installed  ## run the demo and tests from the wheel with the newest Python here
	.venv-newest/bin/python -m pip install --quiet --no-deps --force-reinstall .
	.venv-newest/bin/devnet demo --folder build/newest --rows 10000
	.venv-newest/bin/python $(PYTEST) -m "not slow" $(NEWEST_TESTS)

# Without torch: not every index has a build without CUDA for every Python.
.venv-newest/installed: pyproject.toml constraints.txt
	$$($(PYTHON) release/pythons.py newest) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.venv-newest/bin/python -m pip install --quiet --no-compile --constraint constraints.txt ".[all,dask,onnx]" $(TOOLS) httpx2
	@touch $@

release: .venv/installed  ## check and tag a release: make release VERSION=1.2.0
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group release
	$(BIN)/python release/release.py $(VERSION)

clean:  ## remove the environment and caches
	rm -rf .venv .venv-oldest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
