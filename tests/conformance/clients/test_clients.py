"""The real clients, unmodified, through the gateway to the fake provider: see `scripts/try_client.py`.

Each runs as a user would run it after `ullage setup CLIENT --write`. They are big and change every week, so they are
installed on purpose only (`make clients`), and what is not there is skipped.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.clients.known import CLIENTS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
def test_a_real_client_works_through_the_gateway_which_changes_nothing(name: str, tmp_path: Path) -> None:
    program = ROOT / ".clients" / CLIENTS[name].program
    if not program.exists():
        pytest.skip(f"{name} is not installed: run `scripts/clients/install --all`")
    command = [sys.executable, "scripts/try_client.py", name, "--record", str(tmp_path / "requests")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "requests").glob("request-*.json"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dialect"),
    [("claude-code", "openai-responses"), ("codex", "anthropic"), ("gemini-cli", "openai-chat")],
)
def test_a_real_client_works_with_a_provider_of_another_protocol(name: str, dialect: str) -> None:
    if not (ROOT / ".clients" / CLIENTS[name].program).exists():
        pytest.skip(f"{name} is not installed: run `scripts/clients/install --all`")
    command = [sys.executable, "scripts/try_client.py", name, "--translated", dialect]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["claude-code", "codex", "pi", "opencode"])
def test_a_real_client_works_in_managed_mode_while_its_history_does_not_fit(name: str) -> None:
    if not (ROOT / ".clients" / CLIENTS[name].program).exists():
        pytest.skip(f"{name} is not installed: run `scripts/clients/install --all`")
    command = [sys.executable, "scripts/try_client.py", name, "--managed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
