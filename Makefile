# These targets install everything but Python 3.11+ with venv.
# To use another Python: make PYTHON=/path/to/python3.12
.DEFAULT_GOAL := help
.PHONY: help demo up test check bench faults clean demo-env dev-env
export PYTHON

bin := .venv/bin

# pip compiles nothing (see tools/bootstrap.sh), and tests start Python hundreds of times.
test faults bench: export PYTHONDONTWRITEBYTECODE =

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' Makefile

demo: demo-env ## load a year of flights into an embedded PostgreSQL, and show the result
	@$(bin)/flow demo

up: demo-env ## start Flow and keep it running until Ctrl-C
	@exec $(bin)/flow up

test: dev-env ## all tests but the slow ones, with a browser
	@tools/mariadb.sh
	@FLOW_TEST_BROWSER="$$(tools/browser.sh)" && export FLOW_TEST_BROWSER && \
		$(bin)/python -m pytest -m "not slow" -n 3 --dist worksteal $(ARGS)

check: dev-env ## lint, types, layers, migrations, generated pages and bundles
	@$(bin)/ruff check .
	@$(bin)/ruff format --check .
	@$(bin)/mypy
	@$(bin)/lint-imports
	@$(bin)/python manage.py makemigrations --check --dry-run
	@$(bin)/python tools/errors_page.py --check
	@$(bin)/djlint --lint --quiet templates
	@tools/assets.sh --check

bench: dev-env ## speed compared with raw COPY and with other tools
	@$(bin)/python -m tests.bench

faults: dev-env ## the slow tests: killed workers, databases and clusters (docs/development/faults.md); all examples of properties
	@FLOW_TEST_THOROUGH=1 $(bin)/python -m pytest -m "slow or hypothesis" -o faulthandler_timeout=1800 $(ARGS)

clean: ## remove generated files, never your data in .flow
	rm -rf .venv build ./*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

demo-env:
	@tools/bootstrap.sh demo

dev-env:
	@tools/bootstrap.sh demo,dev
