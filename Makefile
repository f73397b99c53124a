PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test bench install clean

# The main job on the embedded data, from nothing.
demo: $(VENV)/.installed
	$(BIN)/transa demo

# Lint, types and tests, from nothing. CI runs this very target.
test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

# Speed against peers, in one run on this machine.
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/predicting.py

install: $(VENV)/.installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt -e .[test]
	@touch $@

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt torch -e .[bench]
	@touch $@

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
