# Each target does everything it needs, from a fresh clone on; later runs reuse .venv and what is built.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
JOBS ?= 2
# The build of torch on Linux: cpu, one for CUDA such as cu130, or pypi.
TORCH ?= cpu
PYTEST_ARGS ?=
RECORDS_ARGS ?=
# The game of make train, and the configuration of the first agent of each.
GAME ?= skullking
GAMES := skullking:skullking drmario:drmario_first prospector:prospector \
    lantern_walk:lantern_walk_first
FIRST_AGENT := $(if $(filter 1,$(words $(GAME))),$(patsubst $(GAME):%,training/configs/%.yaml, \
    $(filter $(GAME):%,$(GAMES))))

PY := $(CURDIR)/.venv/bin/python
VENV := .venv/installed
LINT_VENV := .venv/lint-installed
RLLIB := $(CURDIR)/.venv-rllib/bin/python
RLLIB_VENV := .venv-rllib/installed
EXTENSION := build/extension
KERNELS := build/kernels

.PHONY: train known-game studio test slow-test rllib rllib-test docs bench records gpu-check lint build kernels again debug-test sanitize-test clang-test plain-test versions clean

# make train GAME=drmario; a game that there is not is refused before anything is built.
train: known-game $(EXTENSION)
	$(PY) -m training train --config $(FIRST_AGENT)

known-game:
	@test -n "$(FIRST_AGENT)" || { \
	    echo "GAME=$(GAME) is not possible: it must be one of" \
	    "$(foreach each,$(GAMES),$(firstword $(subst :, ,$(each))))."; exit 2; }

studio: $(EXTENSION)
	$(PY) -m training studio

test: $(KERNELS)
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not slow" $(PYTEST_ARGS)

# Of tests with many slow cases a drawn share; all of them with ALL=1, the same again with SLOW_SEED=N.
slow-test: $(KERNELS)
	SLOW_SEED=$(if $(ALL),all,$${SLOW_SEED:-$$(date +%s)}) $(PY) -m pytest -n $(JOBS) --dist worksteal -m slow $(PYTEST_ARGS)

# Ray pins another Gymnasium, so it lives in an environment of its own; the extensions are those built above.
rllib: $(RLLIB_VENV) $(EXTENSION)

rllib-test: rllib
	$(RLLIB) -m pytest tests/test_rllib_adapter.py tests/training/rllib $(PYTEST_ARGS)

# The site, in build/docs/index.html; nothing is downloaded, and a warning is an error.
docs: $(EXTENSION)
	$(PY) -m tools.site

bench: $(EXTENSION)
	$(PY) -m training benchmark --short

# Every record of speeds again, on a quiet machine: make records RECORDS_ARGS="--only bars --load 0.3"
records: $(EXTENSION)
	$(PY) -m tools.records $(RECORDS_ARGS)

# Without a CUDA device it says so, and that is all.
gpu-check: $(EXTENSION)
	$(PY) -m training benchmark gpu-check

# cython-lint starts pycodestyle by name, hence PATH.
lint: $(LINT_VENV)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	PATH="$(dir $(PY)):$$PATH" cython-lint fastenv
	mkdir -p build
	PATH="$(dir $(PY)):$$PATH" PYTHONPATH="$(CURDIR):$(CURDIR)/typings" basedpyright \
	    --verifytypes fastenv --ignoreexternal > build/types.txt || (cat build/types.txt; exit 1)
	$(PY) -m tools.pages

build: $(EXTENSION)

# The workers of the tests would each compile the same kernels: Numba's cache has them before.
kernels: $(KERNELS)

$(KERNELS): $(EXTENSION) $(wildcard fastenv/*.py fastenv/*/*.py tests/*.py)
	$(PY) -m tests.kernels
	touch $@

# The package is installed without its extensions: they are built in place below, where a change is noticed.
$(VENV): requirements-dev.txt pyproject.toml setup.py
	test -x "$(PY)" || "$(PYTHON)" -m venv .venv
	$(PY) -m tools.install packages requirements-dev.txt --torch $(TORCH)
	FASTENV_NO_EXTENSION=1 $(PY) -m pip install --quiet --no-build-isolation --editable .
	touch $@

# Programs of lint are 0.3 GB, most of it for a checker that runs on Node.js: others do without.
$(LINT_VENV): $(VENV) requirements-lint.txt
	$(PY) -m tools.install packages requirements-lint.txt
	touch $@

$(RLLIB_VENV): requirements-rllib.txt
	test -x "$(RLLIB)" || "$(PYTHON)" -m venv .venv-rllib
	$(RLLIB) -m pip install --quiet --requirement requirements-rllib.txt
	touch $@

# New pins or flags do not change time stamps of sources, so what they made before is removed.
# Where no compiler works, games step in plain Python, and the next make tries again.
$(EXTENSION): $(VENV) $(shell find fastenv -name '*.pyx' -o -name '*.pxd' -o -name '*.h') \
    $(if $(shell find fastenv -name '*.so'),,again)
	$(if $(filter $(VENV),$?),rm -rf build/cython build/temp.* build/lib.*)
	$(PY) -m tools.install extensions
	mkdir -p $(@D)
	touch $@

# Checked builds need a compiler. They live in a copy: the release build here stays as it is.
# Only Python's own streams are captured: what C code reports before it dies must reach the terminal.
# The copy has Numba's cache too, which asks for sources of the same content.
# $(call parity_in_copy,NAME,BUILD SWITCH,ENVIRONMENT OF THE TESTS)
define parity_in_copy
	rm -rf build/$(1)
	mkdir -p build/$(1)
	tar -cf - --exclude='*.so' --exclude='*.pyc' fastenv training tests tools docs/examples \
	    setup.py pyproject.toml README.md LICENSE | tar -xf - -C build/$(1)
	cd build/$(1) && $(2) FASTENV_REQUIRE_EXTENSION=1 $(PY) setup.py -q build_ext --inplace
	cd build/$(1) && $(2) $(3) $(PY) -m pytest -n $(JOBS) --dist worksteal --capture=sys \
	    -m "not slow" tests/parity tests/test_batch.py tests/test_rollouts.py tests/prospector/test_core*.py tests/drmario/test_core*.py \
	    tests/drmario/test_greedy.py \
	    tests/skullking/test_validate.py tests/prospector/test_validate.py \
	    tests/gameboy/test_parity.py tests/gameboy/test_validate.py tests/gameboy/test_lanes.py \
	    tests/test_packaging.py::test_core_is_built_as_asked $(PYTEST_ARGS)
endef

debug-test: $(VENV)
	$(call parity_in_copy,debug,FASTENV_DEBUG=1,)

# Python itself is not instrumented: the sanitizer must be loaded first, and its leaks are not ours.
sanitize-test: $(VENV)
	$(call parity_in_copy,sanitize,FASTENV_SANITIZE=1,ASAN_OPTIONS=detect_leaks=0 \
	    UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$$(gcc -print-file-name=libasan.so)")

# Another compiler than GCC, and standard C alone, as other compilers get it.
clang-test: $(VENV)
	$(call parity_in_copy,clang,CC=clang,)

plain-test: $(VENV)
	$(call parity_in_copy,plain,FASTENV_PLAIN_C=1,)

# Environments of their own, in a temporary folder: .venv and what is built here stay as they are.
versions: $(VENV)
	$(PY) -m tools.versions

# Runs are results, not products of the build, and stay; so does .venv, which is slow to fetch again.
clean:
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find fastenv training benchmarks tests tools -name __pycache__ -prune -exec rm -rf {} +
	find fastenv -name '*.so' -delete
