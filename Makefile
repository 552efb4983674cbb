# Every target does its own set-up: a Python >= 3.11, make and a pip registry are enough.
#   PYTHON   the Python to build the environment from      (python3)
#   VENV     the folder of the environment                 (.venv)
#   WORKERS  test processes                                (2)
#   ARGS     more arguments for pytest or the benchmarks   (ARGS="tests/core -k show")
#   FULL     FULL=1 runs the whole of the benchmarks

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=

setup = @$(PYTHON) scripts/setup --venv $(VENV)
python = $(VENV)/bin/python

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test check bench clean

help:  ## print this list
	@awk -F ':  ## ' '/^[a-z]+:  ## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

demo:  ## run every example, real JAX scripts, on pullback, and verify one
	$(setup) demo
	@$(python) scripts/demo

test:  ## run the tests, a quarter of those with parameters (PULLBACK_TESTS=all: all)
	$(setup) gate test
	@$(python) -m pytest -q -n $(WORKERS) $(ARGS)

check:  ## lint, strict types, directions of import, line budgets
	$(setup) check
	@$(python) scripts/check

bench:  ## time pullback beside real jax (FULL=1: every case)
	$(setup) test
	@$(python) -m benchmarks $(if $(filter 1,$(FULL)),--full) $(ARGS)

clean:  ## remove the environments and everything that tools have left
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
