"""A real Oh My Pi, as `host.py` has Pi: it has other folders and files, and much of Pi's programming interface."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.pi.host import CLIENTS, Host

FOLDER = CLIENTS / "omp"


def find_omp() -> Path:
    """Its program; the test is skipped where it is not installed."""
    program = FOLDER / "node_modules" / ".bin" / "omp"
    if not program.exists():
        pytest.skip("Oh My Pi is not installed: run `scripts/clients/install-omp`")
    return program


class Omp(Host):
    """Oh My Pi as its user has set it up, with the providers of `Host`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        (self.agent / "models.json").rename(self.agent / "models.yml")
        settings = {
            "retry": {"enabled": False},
            "compaction": {"enabled": False, "keepRecentTokens": 1_000},
            "modelRoles": dict.fromkeys(("smol", "advisor"), "anthropic/anthropic-other"),
            "startup": {"checkUpdate": False},
            "setupVersion": 99,  # it welcomes nobody, who would have to answer
        }
        (self.agent / "config.yml").write_text(json.dumps(settings))
        (self.agent / "settings.json").unlink()

    def install(self) -> None:
        self.ullage("pi", "install", "--host", "omp")

    @property
    def agent(self) -> Path:
        return self.home / ".omp" / "agent"

    def environment_of_pi(self) -> dict[str, str]:
        found = super().environment_of_pi()
        return {**found, "PATH": f"{FOLDER / 'bin'}{os.pathsep}{found['PATH']}"}
