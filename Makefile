# Two commands on a machine with git, make and Python 3.11, 3.12 or 3.13:
#   make run     the default experiment, from nothing to results/quickstart/report.html
#   make test    the whole test suite
# make resume continues after an interruption; make bench runs the benchmarks; make site builds the
# documentation site, build/site/index.html; make paper a short paper, build/paper/type-i-error.pdf.
# After make clean, PYTHON=python3.13 is used instead of the first of python3.11, 3.12 and 3.13.

export PYTHON
# packages are installed without bytecode, so what is compiled at the first import has to be kept
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
CORES ?= all
# CONFIG=config/experiments/X.yaml and ARGS="--scale small" are passed to `replitune run`
CONFIG ?= config/config.yaml
ARGS ?=
RUN = $(BIN)/replitune run $(CONFIG) --cores $(CORES) $(ARGS)

.PHONY: run say-run resume test say-test faults matrix defects lint format site dist bench paper fuzz lock clean help

run: say-run $(VENV)/.installed
	@$(RUN)

say-run:
	@echo '== make run: what $(CONFIG) describes, from the texts to a report, in $(CURDIR)/results'
	@echo '   (the default: two systems, 18 tuning runs, all tests; about two minutes on two cores, of which'
	@echo '   the first time one installs packages and compiles kernels)'

# Snakemake goes by file times: files from the future, by a clock that was ahead, get the present time.
resume: $(VENV)/.installed
	find results -newermt now -exec touch {} +
	$(RUN)

test: say-test $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

say-test:
	@echo '== make test: the whole test suite, about eight minutes on two cores; its last line is the verdict'

# two more than processors: tests of clusters and of killed runs wait more than they work
WORKERS = $(shell expr 2 + $$(getconf _NPROCESSORS_ONLN))

# 50 seeded faults in every stage, of every kind; prints what was hit. FAULTS=5 for fewer.
FAULTS ?= 50
faults: $(VENV)/.installed-dev
	rm -f results/.faults
	REPLITUNE_FAULT_POINTS=$(FAULTS) REPLITUNE_FAULT_ACCOUNT=$(CURDIR)/results/.faults \
		$(BIN)/python -m pytest -n auto --dist worksteal tests/faults
	$(BIN)/python tests/faults/account.py results/.faults

# Are the bytes the same with other cores, threads, job orders, kernels? ARGS="--python OTHER/bin/python"
matrix: $(VENV)/.installed-dev
	$(BIN)/python scripts/matrix.py $(ARGS)

# Would the suite notice a defect? Seeds some, each in a copy of the tree. ARGS="lock order" for some.
defects: $(VENV)/.installed-dev
	$(BIN)/python scripts/defects.py $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/make_docs.py --check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

# wheel and sdist in dist/; each is installed in a clean environment, and tried without the sources
dist: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python
	for file in dist/*; do \
		rm -rf build/clean && $(BIN)/python -m venv build/clean \
		&& build/clean/bin/python -m pip install --quiet --disable-pip-version-check $$file \
		&& (cd .test && ../build/clean/bin/replitune compare --refs data/reference.txt \
			--baseline data/baseline.*.txt --system better=data/better.*.txt) || exit 1; \
	done
	rm -rf build/clean

# The report that the site shows is that of the default experiment, or REPORT=FILE
REPORT ?= results/quickstart/report.html
# (With --quiet mkdocs would not count the warnings that --strict refuses.)
site: $(VENV)/.installed-docs $(REPORT)
	REPORT=$(REPORT) NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

results/quickstart/report.html:
	$(MAKE) run CONFIG= ARGS=

# MULTEVAL=.../multeval.sh and MOSES=.../bin add these peers; ARGS="--only peers" for a part,
# ARGS="--only jobs --against main" to compare with another revision
bench: $(VENV)/.installed-dev
	$(BIN)/python scripts/bench.py $(ARGS)

# build/paper/type-i-error.pdf, from the CSV files of benchmarks/ and docs/results/. Without LaTeX it
# says what to install, before anything else.
paper:
	@python=$$(scripts/install.sh --find) && $$python -m paper.type_i_error.latex
	@$(MAKE) -s --no-print-directory $(VENV)/.installed
	@$(BIN)/python -m paper.type_i_error

# coverage-guided fuzzing, SECONDS for each parser
SECONDS ?= 60
fuzz: $(VENV)/.installed-dev $(VENV)/.installed-fuzz
	$(BIN)/python scripts/fuzzing.py --seconds $(SECONDS)

# The lock files hold exact versions and hashes of everything that is installed.
lock: $(VENV)/.installed-dev
	$(BIN)/python scripts/lock.py

clean:
	rm -rf $(VENV)

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -6

# scripts/install.sh finds Python, makes .venv and says what is missing
$(VENV)/.installed: locks/run.txt pyproject.toml
	@scripts/install.sh run
	@touch $@

$(VENV)/.installed-dev: locks/dev.txt pyproject.toml
	@scripts/install.sh dev
	@touch $(VENV)/.installed $@

$(VENV)/.installed-docs: locks/docs.txt | $(VENV)/.installed
	@scripts/install.sh docs
	@touch $@

$(VENV)/.installed-fuzz: locks/fuzz.txt | $(VENV)/.installed-dev
	@scripts/install.sh fuzz
	@touch $@
