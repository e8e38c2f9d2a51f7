# Two commands are enough on a fresh machine that has python3 with venv, and make: `make run` and `make test`.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
DEMO ?= $(or $(SLUICE_DEMO),1)
JOBS ?= 2
PYTEST := $(PY) -m pytest
SLOW_TIERS := system browser controlplane
TIERS ?= fast $(SLOW_TIERS)

export PYTHON

# An environment whose interpreter has gone (a system upgrade, a moved folder) is made anew.
ifneq ($(shell test -x $(PY) && echo yes),yes)
$(shell rm -f $(VENV)/.installed-run $(VENV)/.installed-dev)
endif

.PHONY: help run backup restore test test-cluster races cluster bench schema lint format lock

help:
	@echo "make run     start the console: PORT=8000, SLUICE_STATE_DIR=folder, DEMO=0 for an empty one"
	@echo "make backup  write the whole database into one file, also while the console runs: FILE=name WITH_KEYS=1"
	@echo "make restore put a backup in the place of the stopped console's database: FILE=name REPLACE=1 TAKE_KEYS=1"
	@echo "make test    run all tests, or some: TIERS='fast system browser controlplane'"
	@echo "make cluster start a real control plane with fake nodes to connect the console to: STATE=folder"
	@echo "make test-cluster  run the tests on a real control plane alone: SLUICE_TEST_KUEUE=0.17 for the older Kueue"
	@echo "make races   try ten thousand orders in which people and workers race for a job: JOBS=processes"
	@echo "make bench   measure the speed of the hot paths: PART='full crash', WRITE=1 keeps the table, RENEW=1 new gates"
	@echo "make schema  write the tables of a new database from the migrations, after adding some"
	@echo "make lint    style, types and import rules"
	@echo "make format  format the Python code"
	@echo "make lock    write the lock files from requirements.in and requirements-dev.in (UPGRADE=1: newest versions)"

$(VENV)/.installed-run: requirements.lock deploy/bootstrap.lock
	@sh deploy/bootstrap.sh requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock deploy/bootstrap.lock
	@sh deploy/bootstrap.sh requirements-dev.lock
	@touch $@ $(VENV)/.installed-run

run: $(VENV)/.installed-run
	@exec env SLUICE_DEMO=$(DEMO) $(PY) -m console.embedded --stop-with-parent

# Both find the state folder as `make run` does, and start its servers where they do not run.
backup: $(VENV)/.installed-run
	@exec $(PY) -m console.embedded --manage backup $(FILE) $(if $(WITH_KEYS),--with-keys)

restore: $(VENV)/.installed-run
	$(if $(FILE),,$(error FILE=name says which backup))
	@exec $(PY) -m console.embedded --manage restore $(FILE) $(if $(REPLACE),--replace) $(if $(TAKE_KEYS),--take-keys)

# Every tier runs, also when one before it failed. A tier without a folder is named and passed over.
test: $(VENV)/.installed-dev
	@sh deploy/browser.sh || true
	@failed=""; \
	for tier in $(TIERS); do \
		if [ $$tier = fast ]; then set -- -n $(JOBS) $(foreach tier,$(SLOW_TIERS),--ignore=tests/$(tier)) tests; \
		elif [ -d tests/$$tier ]; then set -- tests/$$tier; \
		else echo "tests/$$tier does not exist: passed over"; continue; fi; \
		$(PYTEST) "$$@" || failed="$$failed $$tier"; \
	done; \
	if [ -n "$$failed" ]; then echo "Failed tiers:$$failed" >&2; exit 1; fi

# The programs of the control plane are built once, which takes 25 to 40 minutes and Go, and kept outside the checkout.
test-cluster: $(VENV)/.installed-dev
	$(PYTEST) tests/controlplane

# The fast tier tries 250 of them.
races: $(VENV)/.installed-dev
	SLUICE_RACES_EXAMPLES=10000 $(PYTEST) -n $(JOBS) tests/properties/test_races.py

cluster: $(VENV)/.installed-dev
	@exec env PYTHONPATH=.:platform $(PY) -m tests.controlplane.serve

bench: $(VENV)/.installed-dev
	@exec env PYTHONPATH=.:platform $(PY) -m tests.benchmarks $(if $(WRITE),--write) $(if $(RENEW),--renew) $(PART)

# A file that knows fewer migrations is right too: the rest run after it. Fresh, it makes a first start faster.
schema: $(VENV)/.installed-dev
	@exec env PYTHONPATH=.:platform $(PY) -m tests.schema

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy .
	$(VENV)/bin/lint-imports

format: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check --fix-only --quiet .
	$(VENV)/bin/ruff format .

LOCK := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: $(VENV)/.installed-dev
	$(LOCK) $(if $(UPGRADE),--upgrade) requirements.in --output-file requirements.lock
	$(LOCK) $(if $(UPGRADE),--upgrade) requirements-dev.in --output-file requirements-dev.lock
