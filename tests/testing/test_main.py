"""The fake provider as a program."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING

from ullage.testing import make_request

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "ullage.testing"]


def test_it_listens_answers_by_script_records_and_ends_on_sigterm(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text('[[rules]]\nreply = { text = "From the file." }\n')
    command = [*PROGRAM, "--script", str(tmp_path / "script.toml"), "--record", str(tmp_path / "seen")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ullage fake provider: listening on http://127.0.0.1:")
        request = make_request("anthropic")
        call = urllib.request.Request(line.split()[-1] + request.path, data=request.body, method="POST")
        with urllib.request.urlopen(call) as response:
            assert b"From the file." in response.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert (tmp_path / "seen/request-1.json").read_bytes() == request.body


def test_a_wrong_script_ends_it_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text('{"rules": [{"nonsense": 1}]}')
    command = [*PROGRAM, "--script", str(tmp_path / "script.json")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "nonsense" in result.stderr
    assert "Traceback" not in result.stderr
