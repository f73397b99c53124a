PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test coverage test-quick test-lowest bench reliability audit release-check docs notebooks install clean

# The main job on the embedded data, from nothing.
demo: $(VENV)/.installed
	$(BIN)/transa demo

# Lint, types and tests, from nothing. CI runs this very target.
test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

coverage: $(VENV)/.installed-test
	$(BIN)/pytest -n auto --cov

# Some of every package's tests, for while one works: they compile few kernels and train little.
test-quick: $(VENV)/.installed-test
	$(BIN)/pytest -n auto -m "not slow"

# Speed against peers, in one run on this machine.
bench: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/softmax.py
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/predicting.py
	$(BIN)/python benchmarks/starting.py
	$(BIN)/python benchmarks/serving.py

# What docs/reliability.md promises, in the long form: about two hours.
reliability: $(VENV)/.installed-test
	$(BIN)/python reliability/crash.py
	$(BIN)/python reliability/elastic.py
	$(BIN)/python reliability/memory.py
	$(BIN)/python reliability/fuzz.py --inputs 1000000
	$(BIN)/python reliability/soak.py --minutes 60
	$(BIN)/python reliability/api.py --cases 5000
	$(MAKE) test-lowest

# The tests that lean most on libraries, with the lowest versions that pyproject.toml allows.
LOWEST = .venv-lowest
test-lowest: constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet -c constraints-lowest.txt -e '.[plot,rdf]' pytest pytest-xdist hypothesis
	NUMBA_CACHE_DIR=$(LOWEST)/kernels $(LOWEST)/bin/pytest -n auto tests/test_storage.py tests/kernels tests/training \
		tests/data/test_download.py tests/data/test_writing.py tests/cli/test_train.py tests/cli/test_evaluate.py

# Known vulnerabilities of what is installed. Asks an advisory service, so it needs the network.
audit: $(VENV)/.installed
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install --quiet pip-audit
	$(BIN)/pip freeze --exclude-editable > .venv-audit/installed.txt
	.venv-audit/bin/pip-audit --strict --no-deps --disable-pip -r .venv-audit/installed.txt

# Wheel and sdist as people get them: built, checked, each installed in an empty environment, and tried there.
RELEASE = .venv-release
release-check:
	rm -rf dist $(RELEASE)*
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet build twine
	$(RELEASE)/bin/python -m build --outdir dist .
	$(RELEASE)/bin/twine check --strict dist/*
	for package in dist/*.whl dist/*.tar.gz; do sh release/try.sh "$$package" $(RELEASE)-tried constraints.txt || exit 1; done

# The site, from docs/ and docstrings; warnings are errors, and nothing is fetched.
docs: $(VENV)/.installed-docs
	$(BIN)/mkdocs build --strict

# Runs the notebooks anew and keeps what they show; tests/test_notebooks.py runs their code without Jupyter.
notebooks: $(VENV)/.installed-test
	$(BIN)/pip install --quiet -c constraints.txt ipykernel nbclient
	$(BIN)/jupyter execute --inplace docs/notebooks/*.ipynb

install: $(VENV)/.installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt -e .[plot]
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt -e .[test]
	@touch $@

$(VENV)/.installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt -e .[docs]
	@touch $@

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/pip install --quiet -c constraints.txt torch -e .[bench]
	@touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-audit .venv-release* build dist site .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
