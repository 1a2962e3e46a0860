# Every target sets up all that it needs in .venv; only Python 3.11 or newer and make are assumed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-long test-page test-engines test-slow fuzz faults lint bench docs tour publish venv clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: .venv/ready  ## reproduce all papers at smoke scale, say what holds, write the page
	@$(BIN)/prunefield reproduce --scale smoke --report

test: .venv/ready  ## all tests but the long and the slow ones, at most 8 minutes on 2 idle cores
	$(BIN)/python -m pytest -m "not long and not slow and not page and not engines" -n 2

test-long: .venv/loggers  ## tests of ten seconds or more each: processes that are killed, the notebook, TensorBoard, W&B, single files dropped in
	$(BIN)/python -m pytest -m long -n 2

test-page: .venv/page  ## the page in a real browser: Debian's chromium, which root installs; without it, skipped with a warning
	$(BIN)/python -m pytest -m page tests/page -rs

test-engines: .venv/engines  ## a real Slurm of one node, which root installs, and a real Ray of two; without them, skipped with a warning
	$(BIN)/python -m pytest -m engines tests/engines tests/contract -rs -n 2

test-slow: .venv/ready  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -n 2

fuzz: .venv/ready  ## 10,000 odd inputs and a file of every hostile sort: a result or one line, and little memory
	$(BIN)/python -m pytest -m slow tests/fuzz

faults: .venv/ready  ## 60 faults, each followed by the same command: make faults COUNT=10 SEED=1; about half an hour
	$(BIN)/python tests/faults/faults.py $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

lint: .venv/ready  ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: .venv/ready  ## speed and memory as ratios measured in one run: make bench NAMES="startup checkpoint"
	$(BIN)/python -m benchmarks $(NAMES)

docs: .venv/docs  ## the documentation as a site in site/
	$(BIN)/python docs/results.py --check
	$(BIN)/python docs/pictures.py --check
	$(BIN)/python docs/notebook.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

tour: .venv/ready  ## execute docs/tour.py and write the notebook docs/tour.ipynb with its outputs
	$(BIN)/python docs/notebook.py

publish: .venv/ready  ## ship what a store has found, and fill the tables of the docs: make publish STORE=DIR SCALE=laptop ITEMS=lufkin2024
	$(BIN)/python docs/results.py $(ITEMS) $(if $(STORE),--publish $(STORE)) $(if $(SCALE),--scale $(SCALE))

venv: .venv/ready  ## the virtual environment alone

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("prunefield needs Python 3.11 or newer; try: make PYTHON=python3.11") if sys.version_info < (3, 11) else 0'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

.venv/docs: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,docs]"
	touch $@

.venv/loggers: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,tensorboard,wandb]"
	touch $@

.venv/page: .venv/ready
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,page]"
	npm install --silent --no-save --prefix .venv axe-core@4.14.0 || echo "WARNING: npm cannot install axe-core; its checks of the page are skipped"
	command -v chromium || (apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core) || echo "WARNING: chromium cannot be installed; the browser tests of the page are skipped"
	touch $@

.venv/engines: .venv/ready
	test -x /usr/sbin/slurmctld -a -x /usr/sbin/munged || (apt-get update -qq && apt-get install -qq -y --no-install-recommends slurm-wlm munge) || echo "WARNING: Slurm cannot be installed; its tests are skipped"
	touch $@

clean:  ## remove what the other targets made, but not stores of runs
	rm -rf .venv site dist build .pytest_cache .ruff_cache .hypothesis
