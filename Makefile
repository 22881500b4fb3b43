# `make fuzz` and `make test` set up everything they need in .venv.
PYTHON ?= python3
TVM ?= 0.26.0
BUDGET ?= 60s
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RELAXFUZZ := --editable ".[pytest,report,cluster,onnx]"
RELAXFUZZ_WITH_TVM := --editable ".[tvm,pytest,report,cluster,onnx]"
# Campaigns and tests start hundreds of processes: without bytecode, each compiles relaxfuzz anew.
unexport PYTHONDONTWRITEBYTECODE
PYTEST := pytest -q -n 2 --dist worksteal

TESTS_OF_PYTHON := tests/generators/test_ops.py tests/generators/test_modules.py tests/corpus/test_seeds.py \
	tests/fuzz/pytest_plugin tests/oracles/test_lines.py
# Where TVM computes something else than the references, it does so with any Python.
OF_TVM_ALONE := --deselect tests/generators/test_ops.py::test_known_difference
TESTS_OF_TVM := tests/generators tests/corpus/test_seeds.py tests/fuzz/pytest_plugin \
	tests/test_versions_in_source.py tests/oracles/catalogue tests/oracles/evaluate \
	tests/oracles/metamorphic tests/oracles/tensorir

# $(call install,FOLDER,PYTHON,REQUIREMENTS): relaxfuzz, editable, in an environment of its own.
define install
	test -x $(1)/bin/python || $(2) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(1)/bin/python -m pip install --quiet $(3)
endef

# $(call campaign,FOLDER,BUDGET): 1 says that bugs were found.
define campaign
	rm -rf $(1)/campaign
	$(1)/bin/relaxfuzz run --seed 1 --budget $(2) --out $(1)/campaign || test $$? -eq 1
endef

.PHONY: fuzz test test-python test-tvm test-sessions lint types docs records bugs zoo bench bench-profile bench-minimize bench-cluster bench-versus bench-find settings silences bench-silence bench-onnx bench-models bench-judge build clean

fuzz: $(INSTALLED)
	$(BIN)/relaxfuzz run --budget $(BUDGET) || test $$? -eq 1  # 1 says that bugs were found

test: $(INSTALLED)
	$(BIN)/$(PYTEST) -m "not slow and not session"

# Another Python, in .venv-python3.13: make test-python PYTHON=python3.13
OTHER_PYTHON := .venv-$(notdir $(PYTHON))
test-python: $(INSTALLED)
	$(call install,$(OTHER_PYTHON),$(PYTHON),--group test $(RELAXFUZZ_WITH_TVM))
	$(BIN)/python -m tests.generators.digests 200 >$(VENV)/modules
	$(OTHER_PYTHON)/bin/python -m tests.generators.digests 200 >$(OTHER_PYTHON)/modules
	diff $(VENV)/modules $(OTHER_PYTHON)/modules  # the same seed, the same modules
	$(OTHER_PYTHON)/bin/$(PYTEST) -m "not slow and not session" $(OF_TVM_ALONE) $(TESTS_OF_PYTHON)
	$(call campaign,$(OTHER_PYTHON),60s)

# Another release of TVM, in .venv-tvm-0.26.0: make test-tvm TVM=0.26.0
OTHER_TVM := .venv-tvm-$(TVM)
test-tvm:
	$(call install,$(OTHER_TVM),$(PYTHON),--group test apache-tvm==$(TVM) $(RELAXFUZZ))
	$(OTHER_TVM)/bin/$(PYTEST) -m "not slow and not session" $(TESTS_OF_TVM)
	$(call campaign,$(OTHER_TVM),60s)

# Whole sessions as users have them: every command of the docs, pytest in foreign repositories.
test-sessions: $(INSTALLED)
	$(BIN)/$(PYTEST) -m "session and not slow"

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy -p relaxfuzz -p bench

# The site, in site/: a broken link or an undocumented public name is an error.
docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The identities and consequences of the records in corpus/, as their reproducers show them: half an hour.
# RECORDS='NAME ...' renews only these.
records: $(INSTALLED)
	$(BIN)/python -m bench.records $(RECORDS)

# docs/bugs.md and docs/bugs/, out of the records in corpus/.
bugs: $(INSTALLED)
	$(BIN)/python -m bench.bugs

bench: $(INSTALLED)
	$(BIN)/python -m bench

# Where the time of a campaign goes, beside the last profile.
bench-profile: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m bench.profile

# The campaigns of two checkouts, in turn: make bench-versus OLD=../before VERSUS='--modules 96'
bench-versus: $(INSTALLED)
	$(BIN)/python -m bench.versus $(OLD) $(VERSUS)

# How soon two checkouts meet the known bugs, beside each other: FIND='--budget 300 --yield'
bench-find: $(INSTALLED)
	$(BIN)/python -m bench.find $(OLD) $(FIND)

# Campaigns on passes with known faults: ZOO='values --seconds 60'
zoo: $(INSTALLED)
	$(BIN)/python -m tests.specimens $(ZOO)

# The price of each rule of silence: true reports that it takes, false ones that it saves.
# SILENCE='--budget 120 --workers 2': minutes; 45 by default.
bench-silence: $(INSTALLED)
	$(BIN)/python -m bench.silence --write $(SILENCE)

# ONNX's node tests: evaluator and build beside the expected values. ONNX=resize: only these.
bench-onnx: $(INSTALLED)
	$(BIN)/python -m bench.onnx $(ONNX)

# Models of torchvision and transformers, for docs/models.md, in an environment of its own: an hour.
# MODELS='llama gpt2': only these.
OF_MODELS := .venv-models
bench-models:
	$(call install,$(OF_MODELS),$(PYTHON),--requirement bench/models/requirements.txt $(RELAXFUZZ_WITH_TVM))
	$(OF_MODELS)/bin/python -m bench.models $(MODELS)

# The share of planted faults that oracles report: MODULES=archive.tar.xz JUDGE='--budget 600'
bench-judge: $(INSTALLED)
	$(BIN)/python -m bench.judge $(if $(MODULES),--modules $(MODULES)) $(JUDGE)

# The table of docs/settings.md, out of the records of the settings.
settings: $(INSTALLED)
	$(BIN)/python -m bench.settings
	$(BIN)/python -m bench.formats

# The rules of silence in docs/silence.md, out of their inventory.
silences: $(INSTALLED)
	$(BIN)/python -m bench.silence --inventory

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
	rm -rf .venv .venv-* dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# `make test-python PYTHON=...` compares with the environment of the usual Python.
$(INSTALLED): pyproject.toml
	$(call install,$(VENV),$(if $(filter test-python,$(MAKECMDGOALS)),python3,$(PYTHON)),--group dev $(RELAXFUZZ_WITH_TVM))
	touch $@
