# make demo | test | compat | attack | corpus | docs | gallery | bench | lint: each sets up .venv from pyproject.toml first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled to byte code when they are first imported: most never are.
export PIP_COMPILE := 0

.PHONY: demo test compat attack corpus docs gallery bench lint clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	@echo "installing sarrus; this takes about a minute"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.%: pyproject.toml $(VENV)/.base
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

demo: $(VENV)/.base
	$(BIN)/python examples/demo.py

test: $(VENV)/.test
	$(BIN)/python -m sarrus.kernels.platform.build_prebuilt
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m ''

compat: $(VENV)/.compat
	$(BIN)/python tests/compat.py $(if $(PYTHONS),--python $(PYTHONS))

attack: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tests/attacks

corpus: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python tests/corpus $(DIR)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --jobs auto --fail-on-warning --keep-going --nitpicky --quiet docs build/docs
	@echo "open build/docs/index.html"

gallery: $(VENV)/.base
	$(BIN)/python docs/gallery/make.py

bench: $(VENV)/.bench
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks --readme

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

clean:
	rm -rf build $(VENV)
