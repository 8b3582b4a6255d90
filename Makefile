# make run: the main job on the embedded data set.  make test: tests, linter, type checker.
# make docs: tests of the pages, then the site in docs/_build/html, whose tutorials run.
# make links: whether links to other sites lead somewhere; needs the network.
# Each builds its own environment in .venv if it is missing.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export MPLBACKEND := Agg

.PHONY: run test test-all wheel docs links lint clean

run: $(VENV)/installed
	$(BIN)/python -m copula_shirley.experiments

test: lint
	$(BIN)/python -m pytest -n auto -m "not slow"

test-all: lint
	$(BIN)/python -m pytest -n auto

wheel: $(VENV)/installed
	$(BIN)/python -m pytest tests/packaging

docs: $(VENV)/docs
	$(BIN)/python -m pytest tests/test_docs.py tests/test_privacy_page.py tests/test_architecture.py
	$(BIN)/python -m sphinx -q -E -W --keep-going docs docs/_build/html

links: $(VENV)/docs
	$(BIN)/python -m sphinx -q -E -b linkcheck -D nb_execution_mode=off docs docs/_build/links

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' \
	  || { echo "Python 3.11 to 3.13 is needed: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

$(VENV)/docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis report.html
