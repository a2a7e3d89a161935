"""A session of 100 MB is read in a small part of its size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sources import rows as made

pytestmark = pytest.mark.slow

FILE_BYTES = 100 * 2**20
PEAK_BYTES = 100 * 2**20
"""What the process may hold at its peak, interpreter and all. Decoding such a file whole takes three to five times its size."""

READ = """
import resource, sys
from ullage.sources import read_session
session = read_session(sys.argv[1])
session.steps(), session.messages(None, -20)
unit = 1 if sys.platform == "darwin" else 1024
print(len(session.calls), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)
"""

OUTPUT = "a line of output that a tool printed\n" * 80


def pi_rows() -> Iterator[made.Row]:
    yield made.pi_header()
    parent = None
    for number in range(sys.maxsize):
        user, reply = f"u{number}", f"a{number}"
        yield made.pi_result(user, parent, OUTPUT)
        yield made.pi_reply(reply, user, prompt=100 + number)
        parent = reply


def claude_rows() -> Iterator[made.Row]:
    parent = None
    for number in range(sys.maxsize):
        reply, result = f"a{number}", f"r{number}"
        yield made.claude_reply(reply, parent, f"m{number}", made.called(f"t{number}"))
        yield made.claude_result(result, reply, f"t{number}", OUTPUT)
        parent = result


def codex_rows() -> Iterator[made.Row]:
    yield made.codex_meta()
    for number in range(1, sys.maxsize):
        yield made.codex_call(f"c{number}", cmd="ls")
        yield made.codex_output(f"c{number}", OUTPUT)
        yield made.codex_count(number * 100, prompt=100)


def hands_rows() -> Iterator[made.Row]:
    for number in range(0, sys.maxsize, 2):
        metadata = made.hands_reply(f"r{number}", f"t{number}")
        yield made.hands_action(number, metadata)
        yield made.hands_observation(number + 1, metadata, OUTPUT)


def write_until_large(path: Path, rows: Iterator[Any], opening: str, between: str, closing: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        written = file.write(opening)
        for number, row in enumerate(rows):
            written += file.write((between if number else "") + json.dumps(row))
            if written > FILE_BYTES:
                break
        file.write(closing)


@pytest.mark.parametrize(
    ("rows", "frame"),
    [
        (pi_rows, ("", "\n", "\n")),
        (claude_rows, ("", "\n", "\n")),
        (codex_rows, ("", "\n", "\n")),
        (hands_rows, ("[", ",\n", "]")),
        (hands_rows, ('{"instance_id": "i", "history": [', ",", '], "metrics": {}}')),
    ],
    ids=["pi", "claude-code", "codex", "openhands", "openhands row"],
)
def test_a_large_session_is_read_in_bounded_memory(tmp_path: Path, rows: Any, frame: tuple[str, str, str]) -> None:
    pytest.importorskip("resource")
    path = tmp_path / "session"
    write_until_large(path, rows(), *frame)
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    calls, peak_bytes = map(int, done.stdout.split())
    assert calls > 10_000
    assert peak_bytes < PEAK_BYTES
