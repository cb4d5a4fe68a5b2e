# Everything stays inside the checkout: the virtual environment, caches, Prefect's home.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

export PREFECT_HOME := $(CURDIR)/.prefect
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1
export XDG_CACHE_HOME := $(CURDIR)/.cache

FUZZ_SECONDS ?= 120

.PHONY: demo test load fuzz lint types check bench clean

demo: $(STAMP)  ## Build the sample swarm on Prefect's embedded server.
	$(BIN)/prebrief build data/quickstart/task-graph.json --history data/quickstart/history.jsonl --flow

test: $(STAMP)  ## Run all tests, in two processes: those of the parts, and those of the whole.
	@mkdir -p .cache
	@$(BIN)/python -m pytest tests/tasks -p no:cacheprovider > .cache/tests-of-parts.log 2>&1 & parts=$$!; \
	$(BIN)/python -m pytest tests --ignore tests/tasks -p no:cacheprovider; whole=$$?; \
	wait $$parts; parts=$$?; cat .cache/tests-of-parts.log; \
	exit $$((parts > whole ? parts : whole))

load: $(STAMP)  ## Run 200 builds in a row and 8 at once on one folder; nothing may grow.
	PREBRIEF_LOAD=200 $(BIN)/python -m pytest tests/faults/test_load.py -p no:cacheprovider

fuzz: $(STAMP)  ## Attack each loader and whole builds for FUZZ_SECONDS; atheris is installed where it can be.
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[fuzz]' || echo "no atheris here: inputs are changed at random"
	$(BIN)/python -m tests.fuzz.run --seconds $(FUZZ_SECONDS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

check: lint types test

bench: $(STAMP)  ## Run the benchmarks; they take minutes.
	$(BIN)/python -m benchmarks

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	$(BIN)/python -m compileall -q flows tasks
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .prefect .cache builds .pytest_cache .hypothesis .mypy_cache .ruff_cache
