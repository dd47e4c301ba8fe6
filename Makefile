# Everything works from a fresh clone with only Python 3.11+, make and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# Two kinds of worker share the cores: test processes, and threads inside them.
JOBS ?= 2

.PHONY: demo test quick test-slow parity lint format bench docs wheel clean

$(VENV)/core.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	touch $@

# torch first and alone: the pinned release resolves to the CPU build.
$(VENV)/dev.done: $(VENV)/core.done
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e ".[all,dev]"
	touch $@

$(VENV)/bench.done: $(VENV)/dev.done
	$(PIP) install -c constraints.txt -e ".[bench]"
	touch $@

demo: $(VENV)/core.done  ## the main job on a bundled table
	$(BIN)/pansophy demo --out .demo

test: $(VENV)/dev.done  ## the whole suite
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not gpu"

quick: $(VENV)/dev.done  ## the daily loop: style, contracts, tests of what has changed
	$(BIN)/python tools/quick.py

test-slow: $(VENV)/dev.done  ## the heavy cases
	$(BIN)/python -m pytest -m slow

parity: $(VENV)/dev.done  ## tests of scikit-learn and hmmlearn on our classes
	$(BIN)/python tools/parity.py

lint: $(VENV)/dev.done  ## style, types, budgets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check
	$(BIN)/python tools/check.py

format: $(VENV)/dev.done
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/bench.done  ## ours against the peers: missing and stale rows first; Ctrl-C, again, goes on
	$(BIN)/python -m benchmarks

docs: $(VENV)/dev.done  ## regenerate docs/curriculum.md from the catalogue
	$(BIN)/python tools/curriculum.py

wheel: $(VENV)/dev.done  ## dist/: a wheel with the loops compiled for common CPUs
	$(BIN)/python tools/build_wheel.py

clean:
	rm -rf src/pansophy/_compiled_loops $(VENV) .pytest_cache .ruff_cache .demo
