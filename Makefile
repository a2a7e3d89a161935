# Each target is one line; longer ones call a small file in scripts/. `make help` prints them.
VENV := .venv
BIN := $(VENV)/bin
T ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast check fix golden reference accuracy kept-evidence routing-quality replay-sessions chaos bench bench-report lock shape clients pi-extension wheel-test clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.run: requirements.lock pyproject.toml scripts/setup
	@sh scripts/setup run

$(VENV)/.dev: requirements-dev.lock pyproject.toml scripts/setup
	@sh scripts/setup dev

setup: $(VENV)/.dev ## make one environment from the lock file

demo: $(VENV)/.run ## set up, then the main job without keys or network
	@$(BIN)/ullage demo

test: $(VENV)/.dev ## set up, then everything that the README promises; T=path for a part
	@bash scripts/test $(T)

test-fast: $(VENV)/.dev ## the quick layers only
	@$(BIN)/pytest -m "not slow" $(T)

check: $(VENV)/.dev ## format, lint, types, layer contract, structure of the docs
	@sh scripts/check

fix: $(VENV)/.dev ## repair what can be repaired
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

golden: $(VENV)/.dev ## rewrite golden files; read the diff before it is committed
	@UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/golden tests/cli

reference: $(VENV)/.dev ## rewrite the generated pages of the manual
	@$(BIN)/python scripts/settings_reference.py --write && $(BIN)/python scripts/denominators_reference.py --write && $(BIN)/python scripts/exports_reference.py --write && $(BIN)/python scripts/cli_reference.py --write && $(BIN)/python scripts/readme_capture.py --write

accuracy: $(VENV)/.dev ## measure anew what docs/reference/accuracy.md says, on the recorded data beside the repository
	@$(BIN)/python scripts/accuracy_report.py --write && $(BIN)/python scripts/payload_report.py --write && $(BIN)/python scripts/replay_report.py --write

kept-evidence: $(VENV)/.dev ## measure anew what docs/reference/kept-evidence.md says, on the recorded data beside the repository
	@$(BIN)/python scripts/bench_report.py --write

replay-sessions: $(VENV)/.dev ## send the recorded sessions beside the repository through a gateway, and compare its estimates with usage
	@$(BIN)/python -m ullage.testing.replay ../shared/data/sessions

routing-quality: $(VENV)/.dev ## measure anew what docs/reference/routing-quality.md says, on the outcomes of models beside the repository
	@$(BIN)/python scripts/routing_report.py --write

replay: $(VENV)/.dev ## measure anew what docs/explanation/cache-honest-tail.md says, on the recorded sessions beside the repository
	@$(BIN)/python scripts/replay_report.py --write

chaos: $(VENV)/.dev ## 5,000 routed requests whose targets fail in every way, then 64 streams at once for a minute
	@$(BIN)/python -m scripts.chaos && $(BIN)/python -m scripts.chaos --seconds 60

bench: $(VENV)/.dev ## the benchmark tables, ours against a named floor in the same run
	@sh scripts/bench

lock: ## rewrite the lock files (needs uv)
	@sh scripts/lock

shape: $(VENV)/.dev ## figures about our own tree: longest functions, largest modules
	@$(BIN)/python scripts/shape.py

clients: ## install the real clients that the conformance tests drive (needs npm)
	@sh scripts/clients/install

try-%: $(VENV)/.dev ## one prompt of a real client through the gateway: try-claude-code, try-codex, try-pi, ...
	@$(BIN)/python scripts/try_client.py $*

try-managed-%: $(VENV)/.dev ## the same in managed mode and a window that is too small: try-managed-claude-code, ...
	@$(BIN)/python scripts/try_client.py $* --managed

try-routed-%: $(VENV)/.dev ## the same for ullage/auto, with three models to choose from: try-routed-claude-code, ...
	@$(BIN)/python scripts/try_client.py $* --routed

try-translated-%: $(VENV)/.dev ## the same, from providers that speak one protocol each: try-translated-claude-code, ...
	@$(BIN)/python scripts/try_client.py $* --translated all

pi-extension: $(VENV)/.dev ## all tests of the extension, in real Pis of three versions; installs those (0.8 GB) if npm is there
	@sh scripts/clients/install-pi 1.6.0 0.85.1 0.74.0; $(BIN)/pytest -q tests/pi tests/cli/pi -rs

wheel-test: $(VENV)/.dev ## build the wheel, install it into an empty environment, start it
	@sh scripts/wheel-test

clean: ## remove the environment and every cache
	@rm -rf $(VENV) .clients build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
