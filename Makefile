# Every target sets up what it needs in .venv: nothing but make and Python 3.11+ (or uv) has to be there.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all lint format bench paper sanitize docs clean FORCE

PYTHON_ENV := .venv/bin/python
# The tests run in parallel processes; threads inside each would only get in each other's way. What Python compiles is
# kept, whatever the shell says: each of these processes, and each that they start, would do it again.
TEST_ENV := MPLBACKEND=Agg OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
# Which tests run together, and what comes first, is said in tests/conftest.py. Twice as many processes as there are cores,
# up to four: the tests of the page wait most of the time.
PYTEST = $(PYTHON_ENV) -m pytest -q -n $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2) --maxprocesses 4 --dist loadfile
# From which day on the long run draws its random blocks (tests/blocks.py): days since 1970.
DAY := $(or $(WHENCE_TEST_DAY),$(shell expr $$(date +%s) / 86400))

# An environment that was moved with the folder, or whose Python is gone, is set up again.
STALE := $(shell [ -e .venv/.home ] && { [ "$$(cat .venv/.home)" = "$$(pwd)" ] && .venv/bin/python -c "" 2>/dev/null || echo FORCE; })

# What the compiled core is made of. With the tools of development it is built again by itself, when it is imported.
CORE := CMakeLists.txt $(wildcard core/*/*.cpp core/*/*.hpp)

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'

demo: .venv/.ready-demo ## Decide and explain on built-in data, and write an HTML report
	@.venv/bin/whence demo

test: lint ## Run lint and the tests that guard a change, in about a quarter of an hour on two idle cores (ARGS="-k name" runs a part of them)
	@echo "test: pytest"
	@$(TEST_ENV) $(PYTEST) -m "not long" $(ARGS)

test-all: lint ## Besides run all random blocks, with seeds of the day, and what takes long, and print the coverage
	@echo "test-all: pytest with the blocks of day $(DAY); WHENCE_TEST_DAY=$(DAY) make test-all draws them again"
	@$(TEST_ENV) WHENCE_TEST_DAY=$(DAY) $(PYTEST) $(if $(ARGS),$(ARGS),--cov=whence --cov-report=)
	@$(if $(ARGS),,echo "test-all: $$($(PYTHON_ENV) -m coverage report --format=total) % of the lines of src/whence were run")

lint: .venv/.ready-dev ## Check style, types and layers: ruff, strict mypy, clang-format, import-linter
	@echo "lint: ruff check"
	@$(PYTHON_ENV) -m ruff check --quiet .
	@echo "lint: ruff format"
	@$(PYTHON_ENV) -m ruff format --quiet --diff .
	@echo "lint: mypy"
	@$(PYTHON_ENV) -m mypy --no-error-summary
	@echo "lint: clang-format"
	@.venv/bin/clang-format --dry-run -Werror $(filter %.cpp %.hpp,$(CORE))
	@echo "lint: imports"
	@said=$$(.venv/bin/lint-imports --no-cache 2>&1) || { echo "$$said"; exit 1; }

format: .venv/.ready-dev ## Rewrite the code in the project's style
	@$(PYTHON_ENV) -m ruff check --quiet --fix-only .
	@$(PYTHON_ENV) -m ruff format .
	@.venv/bin/clang-format -i $(filter %.cpp %.hpp,$(CORE))

bench: .venv/.ready-dev ## Measure in some minutes; ARGS="--instances 20" takes hours and writes the documentation's tables
	@for script in decide forest_search knn_search; do echo "bench: $$script"; \
	$(TEST_ENV) $(PYTHON_ENV) benchmarks/$$script.py $(or $(ARGS),--quick) || exit 1; done

paper: .venv/.ready-dev ## List the paper's tables and figures; ARGS="tab:fullDist --runs 20" makes one of them again
	@$(TEST_ENV) $(PYTHON_ENV) -m paper reproduce $(ARGS)

sanitize: .venv/.ready-dev ## Run the tests of the searches on builds of the core with sanitizers (needs g++)
	@scripts/sanitize $(ARGS)

docs: .venv/.ready-dev ## Build the documentation into docs/_build/html
	@echo "docs: sphinx"
	@MPLBACKEND=Agg $(PYTHON_ENV) -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs: open docs/_build/html/index.html"

clean: ## Remove the environment and everything that was generated
	@rm -rf .venv .venv.installing build src/whence/_core.*.so dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage .coverage.* .import_linter_cache demo-report whence-demo
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready-demo: pyproject.toml scripts/setup $(CORE) $(STALE)
	@if [ -z "$(STALE)" ] && [ .venv/.ready-dev -nt pyproject.toml ] && [ .venv/.ready-dev -nt scripts/setup ]; \
	then touch $@; else scripts/setup $@ plot; fi

.venv/.ready-dev: pyproject.toml scripts/setup scripts/browser scripts/nginx $(STALE)
	@scripts/browser
	@scripts/nginx
	@scripts/setup $@ dev,plot,web,server,mcp,dask,gurobi,scip,xgboost,lightgbm,catboost,quantile-forest,econml
