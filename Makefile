# make up      set up on a fresh machine and keep the archive up to date
# make test    the whole suite: style, types, tests
# make bench   figures of speed and size, beside other tools (by hand; takes a while)
# make clean   remove what the others made

PYTHON ?= python3
BIN := .venv/bin

.PHONY: up test check bench clean

up: .venv/.up
	@echo "The command is $(CURDIR)/$(BIN)/backstory"
	@echo "To have it on your PATH: pipx install .   or: ln -s $(CURDIR)/$(BIN)/backstory ~/.local/bin/"
	@echo
	@$(BIN)/backstory up

test: check
	@$(BIN)/python -m pytest

check: .venv/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy

bench: .venv/.dev
	@$(BIN)/python bench/run.py --peers

clean:
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Backstory needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name a newer one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; \
	  rm -rf .venv; exit 1; }

.venv/.up: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	@echo "Installing into .venv, with what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ .venv/.up
