"""The page on exact counts: what it tells to try works, and what it names exists."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ullage.settings.credentials import KEY_VARIABLES
from ullage.stores.counts import FILE_NAME, KEEP_DAYS
from ullage.upstream.counting import ENDPOINTS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "exact-counts.md").read_text()
WAIT = "for _ in $(seq 100); do (: < /dev/tcp/127.0.0.1/9000) 2> /dev/null && break; sleep 0.1; done"


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def test_every_endpoint_and_variable_is_named() -> None:
    assert all(f"| `{endpoint.provider}` |" in PAGE for endpoint in ENDPOINTS)
    assert all(f"`{variable}`" in PAGE for variables in KEY_VARIABLES.values() for variable in variables)
    assert f"{KEEP_DAYS} days in `{FILE_NAME}`" in PAGE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the page is for a shell")
def test_what_can_be_tried_without_a_key_works(tmp_path: Path) -> None:
    block = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[-1]
    first, _, rest = block.partition("\n")
    script = f"set -e -m\ntrap 'kill %1 2> /dev/null || true' EXIT\n{first}\n{WAIT}\n{rest}".replace(
        "9000", str(free_port())
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Whole request") == 2
    assert "counted by anthropic" in ended.stdout
    assert '"method": "usage-delta"' in ended.stdout
