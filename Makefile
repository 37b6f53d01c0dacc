# Everything a person needs: run, test, check, bench. Set-up happens by itself, in .venv, without root.
.DEFAULT_GOAL := run
.PHONY: run test test-unit test-processes test-sandbox test-real test-live check bench eval soak format clean

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev
REAL := .venv/real/.ready
COMPILED := .venv/.compiled
COMPONENT := modules/sandbox/guest/plan.wasm
SOURCES := hatch_build.py modules/sandbox/build_component.py $(wildcard modules/sandbox/guest/*.py) modules/sandbox/guest/plan.wit
Q ?= Find the ASCII values of characters in INDIA and sum their exponentials
export Q
# Tests are compiled once, not by every worker of every run, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

# What a run needs. uv installs exactly what uv.lock says; without uv, pip resolves the ranges of pyproject.toml.
# Both have hatch_build.py make the sandbox's component.
$(READY): pyproject.toml uv.lock
	@echo 'setting up .venv (once; about a minute)' >&2
	@if command -v uv >/dev/null 2>&1; then \
	  uv sync --quiet --locked --no-dev; \
	else \
	  $(PYTHON) -c 'import sys; sys.exit("Cortex-R needs Python 3.11 or newer; say make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)' && \
	  $(PYTHON) -m venv .venv && \
	  $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(BIN)/python -m pip install --quiet --editable .; \
	fi
	@touch $(READY)

# The component made anew where its sources have changed or it is gone, and compiled for this machine.
$(COMPILED): $(SOURCES) $(COMPONENT) | $(READY)
	@$(BIN)/python modules/sandbox/build_component.py 2>/dev/null || \
	if command -v uv >/dev/null 2>&1; then uv pip install --quiet --no-deps --reinstall-package cortex-r --editable .; \
	else $(BIN)/python -m pip install --quiet --no-deps --editable .; fi
	@$(BIN)/python -c 'from modules.sandbox.component import set_up; set_up()'
	@touch $(COMPILED)

$(COMPONENT):

# What tests and checks need besides: pytest, pyright, ruff and the like.
$(DEV): $(READY) | $(COMPILED)
	@echo 'adding what tests need to .venv (once; half a minute)' >&2
	@if command -v uv >/dev/null 2>&1; then uv sync --quiet --locked; \
	else $(BIN)/python -m pip install --quiet --editable . --group dev; fi
	@touch $(DEV)

# The servers and tools of others that tests/real talks to; see there.
$(REAL): tests/real/package.json tests/real/package-lock.json tests/real/requirements.txt tests/real/install.py | $(DEV)
	@$(BIN)/python -m tests.real.install </dev/null

run: $(COMPILED)
	@printf '%s' "$$Q" | $(BIN)/python agent.py -

WITH_PROCESSES := tests/processes tests/modules/service
WITH_SANDBOX := tests/modules/sandbox tests/modules/planning tests/provenance_attacks

test: test-unit test-processes test-sandbox test-real

test-unit: $(DEV)
	$(BIN)/python -m pytest $(addprefix --ignore=,$(WITH_SANDBOX) $(WITH_PROCESSES))

# The agent and its servers as whole processes, killed and interrupted; and its service, which starts servers.
test-processes: $(DEV)
	$(BIN)/python -m pytest $(WITH_PROCESSES)

# The walls, attacked: hundreds of escapes, exhaustion, system calls from native code. And what runs
# hundreds of plans behind them: replies of models, attacks by what is read.
test-sandbox: $(DEV)
	$(BIN)/python -m pytest $(WITH_SANDBOX)

# One file's tests stay with one worker, which then starts each server once.
test-real: $(DEV) $(REAL)
	$(BIN)/python -m pytest --dist=loadfile tests/real

# The checks of tests/real against the services themselves, where a key or a server is at hand.
test-live: $(DEV)
	$(BIN)/python -m pytest -n 0 -rs tests/live

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m pytest -n 0 tests/test_layout.py
	$(BIN)/uv lock --check --quiet

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV)
	$(BIN)/python -m tests.benchmarks

# Quality. EVAL=retrieval and EVAL=extraction are about documents, EVAL=reading about web pages, EVAL=memory about what was
# asked before; any other names a study of
# planning with a real model (LLM= names another than the GGUF file of fetch_local_model.py). EVAL=team compares one plan
# with a graph of subtasks; LLM=offline does so without a language model.
eval: $(DEV) $(if $(filter-out retrieval extraction reading memory team,$(or $(EVAL),all)),$(REAL))
ifeq ($(filter-out retrieval extraction reading memory,$(EVAL)),$(EVAL))
	$(BIN)/python -m tests.evals $(if $(LLM),--model $(LLM)) $(EVAL)
endif
ifneq ($(if $(EVAL),$(filter retrieval,$(EVAL)),all),)
	$(BIN)/python -m tests.evals.retrieval
endif
ifneq ($(if $(EVAL),$(filter extraction,$(EVAL)),all),)
	$(BIN)/python -m tests.evals.extraction
endif
ifneq ($(if $(EVAL),$(filter reading,$(EVAL)),all),)
	$(BIN)/python -m tests.evals.reading
	$(BIN)/python -m tests.evals.reading --held-out
endif
ifneq ($(if $(EVAL),$(filter memory,$(EVAL)),all),)
	$(BIN)/python -m tests.evals.memory
endif

# Long counts, some hours: kills by the thousand, a minute of writers, ten thousand plans.
soak: $(DEV)
	$(BIN)/python -m tests.processes.soak
	$(BIN)/python -m tests.benchmarks soak

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis dist build
