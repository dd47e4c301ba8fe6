# Everything works from a fresh clone with only Python 3.11+, make and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# Two kinds of worker share the cores: test processes, and threads inside them.
JOBS ?= 2
# Added to the integer seeds of tests by `make test-seeds`.
SHIFT ?= 1000

.PHONY: demo site ratchet test quick test-slow test-elsewhere parity lint format bench docs wheel clean test-seeds explore test-lowest test-newest mutants changelog sbom signatures release-check

$(VENV)/core.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e .
	touch $@

# torch first and alone: the pinned release resolves to the CPU build.
$(VENV)/dev.done: $(VENV)/core.done
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e ".[all,dev,oracles]"
	touch $@

$(VENV)/bench.done: $(VENV)/dev.done
	$(PIP) install -c constraints.txt -e ".[bench]"
	touch $@

$(VENV)/site.done: $(VENV)/dev.done
	$(PIP) install -c constraints.txt -e ".[site]"
	touch $@

demo: $(VENV)/core.done  ## the main job on a bundled table
	$(BIN)/pansophy demo --out .demo

test: $(VENV)/dev.done  ## the whole suite
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --listed-skips -m "not slow and not gpu"

quick: $(VENV)/dev.done  ## the daily loop: style, contracts, tests of what has changed
	$(BIN)/python tools/quick.py

test-slow: $(VENV)/dev.done  ## the heavy cases
	$(BIN)/python -m pytest --listed-skips -m slow

mutants: $(VENV)/dev.done  ## wrong edits that no test notices: MUTANTS="--count 50 --seed 7"
	$(BIN)/python tools/mutants.py $(MUTANTS)

test-elsewhere: $(VENV)/dev.done  ## the suite as on an old and on a new processor
	$(BIN)/python tools/test_elsewhere.py -n $(JOBS) --dist worksteal

# Checks of scikit-learn have seeds of their own, which no shift reaches.
test-seeds: $(VENV)/dev.done  ## the suite with other seeds: SHIFT=2000 make test-seeds
	$(BIN)/python -m pytest tests -n $(JOBS) --dist worksteal -m "not slow and not gpu" \
	    --seed-shift $(SHIFT) --ignore tests/common/test_estimators.py \
	    --ignore tests/common/test_bad_input.py

explore: $(VENV)/dev.done  ## property tests with examples that no run has seen before
	$(BIN)/python -m pytest tests -n $(JOBS) --dist worksteal -m "hypothesis and not slow" \
	    --hypothesis-profile explore

test-lowest:  ## fits and tests with the lowest versions that pyproject.toml declares
	$(PYTHON) tools/bounds.py

test-newest:  ## the same with the newest versions (torch as pinned)
	$(PYTHON) tools/bounds.py --newest

parity: $(VENV)/dev.done  ## tests of scikit-learn and hmmlearn on our classes
	$(BIN)/python tools/parity.py

lint: $(VENV)/dev.done  ## style, types, budgets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check
	$(BIN)/python tools/check.py

ratchet: $(VENV)/dev.done  ## keep better values of the measures that lint lets not get worse
	$(BIN)/python tools/check.py --ratchet

format: $(VENV)/dev.done
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/bench.done  ## ours against the peers: missing and stale rows first; Ctrl-C, again, goes on
	$(BIN)/python -m benchmarks

docs: $(VENV)/dev.done  ## regenerate docs/curriculum.md, docs/scikit_learn.md and docs/scale_table.md
	$(BIN)/python tools/curriculum.py
	$(BIN)/python tools/scikit_learn_page.py
	$(BIN)/python tools/scale_page.py
	$(BIN)/python tools/site/terminal.py

site: $(VENV)/site.done  ## build/site/html: the course, guides, every name; nothing is fetched
	$(BIN)/python tools/site/build.py --jobs $(JOBS)

wheel: $(VENV)/dev.done  ## dist/: a wheel with the loops compiled for common CPUs
	$(BIN)/python tools/build_wheel.py

changelog: $(VENV)/dev.done  ## CHANGELOG.md from the fragments of changes/
	$(BIN)/python tools/changelog.py

sbom: $(VENV)/dev.done  ## sbom.cdx.json from pyproject.toml
	$(BIN)/python tools/sbom.py

signatures: $(VENV)/dev.done  ## docs/signatures.txt: the public names and parameters, at a release
	$(BIN)/python tools/signatures.py

release-check: $(VENV)/dev.done  ## what a machine can check before a release, see RELEASING.md
	$(BIN)/python tools/release_check.py

clean:
	rm -rf src/pansophy/_compiled_loops $(VENV) .venv-lowest .venv-newest .pytest_cache .ruff_cache .demo
