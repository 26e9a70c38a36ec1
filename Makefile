# Every target sets up what it needs in .venv, from pinned versions, and then does its job.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: help demo solvers browser test test-fast attack docs lint format bench clean

help:
	@echo "make demo       Iris with 18 links: PCP on every installed solver, a table and a picture"
	@echo "make solvers    install the command-line solvers CSDP, SDPA and DSDP, from Debian's packages"
	@echo "make browser    install Chromium, in which the pages of studies are tested, from Debian's packages"
	@echo "make test       run all tests, on all cores (about nine minutes on two)"
	@echo "make test-fast  run the tests that are not slow (about three minutes)"
	@echo "make attack     random programs, files, calls and faults against every promise (hours; SEED=, OUT=, JOBS=, CASES=)"
	@echo "make lint       check the sources: ruff, mypy and the rules of imports"
	@echo "make format     let ruff rewrite the sources"
	@echo "make docs       build the documentation; every script of the gallery is run (about two minutes)"
	@echo "make bench      time the reductions against the paper's form, as ratios (several minutes)"
	@echo "make clean      remove the environment and everything that was generated"

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cvxlink needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[plot,solvers,mosek,copt,cluster,parquet,benchopt,test,lint,docs]'
	@touch $(READY)

demo: $(READY)
	$(BIN)/cvxlink demo

# Programs of their own, of which the tests use those that are on the PATH.
solvers:
	@if command -v csdp && command -v sdpa && command -v dsdp5; then exit 0; fi; \
	  command -v apt-get >/dev/null || \
	    { echo "get csdp, sdpa and dsdp5 from your system's packages and put them on the PATH"; exit 1; }; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && $$as_root apt-get install -y -q coinor-csdp sdpa dsdp

# The tests look for it on the PATH, as chromium.
browser:
	@if command -v chromium; then exit 0; fi; \
	  command -v apt-get >/dev/null || { echo "get Chromium from your system's packages and put it on the PATH as chromium"; exit 1; }; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	  $$as_root apt-get update -q && $$as_root apt-get install -y -q chromium

# One process per core, each with one thread for dense algebra: more would wait for one another.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

test: $(READY)
	$(PYTEST)

test-fast: $(READY)
	$(PYTEST) -m "not slow"

# Seeded, and goes on where it was interrupted: its state is in OUT. CASES="--programs 100 --only programs" plays fewer;
# REPLAY=programs:17 plays one case again and shows everything.
SEED ?= 0
OUT  ?= attack-out
attack: $(READY)
	PYTHONPATH=tests OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m attack \
	  --seed $(SEED) --out $(OUT) $(if $(JOBS),--jobs $(JOBS)) $(if $(REPLAY),--replay $(REPLAY)) $(CASES)

# Warnings are errors, and all of them are shown.
docs: $(READY)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python benchmarks/pcp_forms.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis cvxlink-demo attack-out docs/_build docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
