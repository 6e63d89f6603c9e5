# make demo: set up and run the default workflow.   make test: set up and run every test.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint requirements.lock
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo test test-slurm reference lint docs clean

demo: $(READY)
	snakemake --profile profiles/local
	@tabpet summary

test: $(READY)
	pytest -n 2

test-slurm: $(READY) # on a throw-away Slurm on this machine, which is installed if it is missing
	tests/slurm/run

# The project's own evidence, docs/reference.md: hours, at low priority; killed, it goes on from there.
# BLOCK=graphs, BLOCK=authors or BLOCK=cloud is one of its other parts.
# Who holds `running` is the only one, so a lock that a killed snakemake has left behind can go.
BLOCK ?= main
CONFIGS_main := reference
CONFIGS_graphs := reference reference-graphs
CONFIGS_authors := paper authors reference-authors
CONFIGS_cloud := $(CONFIGS_authors) reference-cloud
CONFIGS = $(or $(CONFIGS_$(BLOCK)),$(error There is no block $(BLOCK): give main, graphs, authors or cloud))
FOLDER = results/$(if $(filter authors cloud,$(BLOCK)),authors,reference)
REFERENCE = snakemake --profile profiles/local --configfile $(CONFIGS:%=configs/%.yaml) --directory $(FOLDER)
reference: $(READY)
	@mkdir -p $(FOLDER)
	@flock --nonblock --conflict-exit-code 75 $(FOLDER)/running \
		sh -c '$(REFERENCE) --unlock --quiet all && exec nice -n 19 $(REFERENCE)' || { \
		test $$? -ne 75 || echo "make reference is running already, or a job of a killed run is still at work."; \
		exit 1; }

lint: $(READY)
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile rules
	snakemake --lint
	mypy
	lint-imports

docs: $(READY) # files that are generated from the code; the picture needs graphviz
	tabpet settings --write
	snakemake --rulegraph | dot -Grankdir=LR -Tsvg > docs/rulegraph.svg

# Set up once, and again only when the versions or the package's requirements change.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tabpet needs Python 3.11 or newer")'
	@echo "Setting up .venv: a few minutes, once."
	@$(PYTHON) -m venv .venv
	@$(INSTALL) torch==2.13.0
	@$(INSTALL) --editable '.[dev]'
	@touch $(READY)

clean:
	rm -rf results/* .snakemake
