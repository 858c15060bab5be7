# On a machine with only Python and make: `make run` plays and shows games, `make test` checks everything, `make help` tells more.

# ---- settings; any of them may be given on the command line, as in `make run RUN_FLAGS="--games 4"`
PYTHON    ?=
EXTRAS    ?= test,viz
RUN_FLAGS ?=
BENCHMARK ?=
RESULTS   ?=
SOAK      ?=
DRILLS    ?=
ACCELERATOR ?=
GROWTH    ?=
WORKERS   ?= 2
PYTEST    ?=

VENV  := .venv
BIN   := $(VENV)/bin
JOBS  := accelerator growth soak drills
comma := ,
STAMP := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))

# Tests and jobs start processes, and each would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

# The first of these that is new enough. A path with a space in it is quoted; another is not, so that the shell may know its ~.
GIVEN      := $(if $(word 2,$(PYTHON)),'$(PYTHON)',$(PYTHON))
CANDIDATES := $(or $(GIVEN),python3 python3.14 python3.13 python3.12 python3.11 python)

# What was installed is of no use when the Python of which the environment was made is gone: it is made anew.
INSTALLED := $(wildcard $(VENV)/.installed-*)
BROKEN    := $(if $(INSTALLED),$(shell $(BIN)/python -c '' >/dev/null 2>&1 || echo broken-python))

# The long jobs take whatever environment there is; without one the first Python that has all packages, so that the network need
# not be there; and only where there is none an environment is made.
PACKAGES := jax flax optax chex orbax.checkpoint tyro rich
HAS_ALL  := import sys; from importlib.util import find_spec; \
    sys.exit(sys.version_info < (3, 11) or not all(map(find_spec, "$(PACKAGES)".split())))
ifeq ($(if $(BROKEN),,$(INSTALLED)),)
ifneq ($(filter $(JOBS),$(MAKECMDGOALS)),)
EQUIPPED := $(shell for python in $(CANDIDATES); do "$$python" -c '$(HAS_ALL)' 2>/dev/null && echo "$$python" | sed 's/ /\\ /g' && break; done)
endif
READY := $(if $(EQUIPPED),,$(STAMP))
endif
JOB_PYTHON := $(or $(EQUIPPED),$(BIN)/python)

# Where another one is asked for on the command line than that of the environment, which is made anew then.
WHICH := import sys; print(sys.base_prefix, sys.version)
ifeq ($(origin PYTHON),command line)
OTHER := $(shell [ "$$($(BIN)/python -c '$(WHICH)' 2>/dev/null)" = "$$($(GIVEN) -c '$(WHICH)' 2>/dev/null)" ] || echo another-python)
endif

.DEFAULT_GOAL := help
.PHONY: help env run test test-slow test-browser pytest lint benchmark results accelerator growth soak drills reference notebooks docs clean distclean another-python broken-python

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /\1|/' | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

env: $(STAMP)  ## make the environment in .venv, once, and again when pyproject.toml changes or PYTHON=... is another one

run: env  ## play games with the planner and show them (flags in RUN_FLAGS)
	$(BIN)/python scripts/plan.py $(RUN_FLAGS)

test: lint pytest  ## check style and types, then run the tests but for the slow ones

pytest: env
	$(BIN)/python -m pytest -m "not slow and not browser" -n $(WORKERS) --dist loadfile --max-worker-restart 0 $(PYTEST)

test-slow: env  ## run the slow tests
	$(BIN)/python -m pytest -m "slow and not browser" -n $(WORKERS) --dist loadfile --max-worker-restart 0 $(PYTEST)

test-browser: env  ## play in a headless Chromium (apt-get install chromium)
	$(BIN)/python -m pytest -m browser -n 0 tests/browser $(PYTEST)

lint: env  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/mypy

benchmark: env  ## measure the cases named in BENCHMARK (default: all), one JSON line each
	$(BIN)/python scripts/benchmark.py $(BENCHMARK)

results: env  ## make the tables and figures in docs/results (takes hours; flags in RESULTS)
	$(BIN)/python scripts/results.py $(RESULTS)

accelerator: $(READY)  ## check, measure and train on a GPU or TPU, in nine minutes at most (flags in ACCELERATOR)
	$(JOB_PYTHON) scripts/accelerator.py $(ACCELERATOR)

growth: $(READY)  ## measure how cost grows with batches, cores, simulations and trees (half an hour; flags in GROWTH)
	$(JOB_PYTHON) scripts/growth.py $(GROWTH)

soak: $(READY)  ## play 10^9 steps of Pommerman and Hex, 10^8 of other games, and check every state (hours; flags in SOAK)
	$(JOB_PYTHON) scripts/soak.py $(SOAK)

drills: $(READY)  ## interrupt and damage training runs in every way and check that nothing is lost (an hour; flags in DRILLS)
	$(JOB_PYTHON) scripts/drills.py $(DRILLS)

reference: env  ## fill the tables of the pages of games and planners from the code
	$(BIN)/python scripts/reference.py

notebooks: env  ## run the notebooks and keep what they print and draw (some minutes)
	$(BIN)/python scripts/notebooks.py

docs: env  ## make the site, in output/site
	@$(BIN)/python -c 'import material, mkdocstrings_handlers.python' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(BIN)/python -m mkdocs build --strict  # not --quiet, with which --strict sees no warning
	@echo "open output/site/index.html"

clean:  ## remove caches and builds
	rm -rf .cache .mypy_cache .mypy_worker.* .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean  ## remove the environment also
	rm -rf $(VENV)

$(STAMP): pyproject.toml $(OTHER) $(BROKEN)
	@for python in $(CANDIDATES); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "error: Python >= 3.11 is needed and none of these is: $(CANDIDATES); give one by make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	if ! $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	    { [ -n "$(OTHER)" ] && [ "$$($(BIN)/python -c '$(WHICH)')" != "$$("$$python" -c '$(WHICH)')" ]; }; then \
	    echo "making $(VENV) with $$("$$python" --version)"; "$$python" -m venv --clear $(VENV) || exit 1; \
	fi
	@echo "installing into $(VENV) (a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[$(EXTRAS)]'
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true  # pip would use one core; some packages hold templates that do not compile
	@touch $@
