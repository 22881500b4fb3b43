# `make fuzz` and `make test` set up everything they need in .venv.
PYTHON ?= python3
BUDGET ?= 60s
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: fuzz test test-sessions test-drift test-chaos chaos lint types docs bugs bench bench-minimize bench-cluster build clean

fuzz: $(INSTALLED)
	$(BIN)/relaxfuzz run --budget $(BUDGET) || test $$? -eq 1  # 1 says that bugs were found

test: $(INSTALLED)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not slow and not session"

# Whole sessions as users have them: every command of the docs, pytest in foreign repositories.
test-sessions: $(INSTALLED)
	$(BIN)/pytest -q -n 2 --dist worksteal -m "session and not slow"

# A TVM that lacks one of some sixty names: an hour or so. What has passed is not done again.
test-drift: $(INSTALLED)
	$(BIN)/pytest -v -n 2 --dist worksteal -m slow tests/drift

# Real faults, done to real campaigns: an hour or so.
test-chaos: $(INSTALLED)
	$(BIN)/pytest -q -m slow tests/chaos

# One campaign with many faults, beside an undisturbed one. CHAOS='--dask' does it on a cluster.
chaos: $(INSTALLED)
	$(BIN)/python -m tests.chaos.campaign $(CHAOS)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy -p relaxfuzz -p bench

# The site, in site/: a broken link or an undocumented public name is an error.
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# docs/bugs.md, out of the records in corpus/.
bugs: $(INSTALLED)
	$(BIN)/python -m relaxfuzz.corpus.page

bench: $(INSTALLED)
	$(BIN)/python -m bench

# MODULES=archive.tar.xz adds the largest modules of an archive of TVM JSON.
bench-minimize: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m bench.reducers $(if $(MODULES),--modules $(MODULES))

# The sdist first, then the wheel from it, as users of the sdist would.
build: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build --installer pip

# For an otherwise idle machine.
bench-cluster: $(INSTALLED)
	$(BIN)/python -m bench.cluster

clean:
	rm -rf $(VENV) dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group dev --editable ".[tvm,pytest,report,cluster]"
	touch $@
