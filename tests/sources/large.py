"""Large sessions of each client, and what it takes to read them: used by a test and by a benchmark."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.sources import rows as made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

READ = """
import sys, time
from ullage.sources import read_session
def peak():  # of this program alone: the resource module's figure begins with that of the process that started it
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
base, start = peak(), time.perf_counter()
session = read_session(sys.argv[1])
seconds = time.perf_counter() - start
session.steps(), session.messages(None, -20)
print(len(session.calls), seconds, base, peak())
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


class Large(NamedTuple):
    """A kind of file: its rows without end, and what stands before, between and behind them."""

    rows: Callable[[], Iterator[Any]]
    opening: str
    between: str
    closing: str


LARGE = {
    "pi": Large(pi_rows, "", "\n", "\n"),
    "claude-code": Large(claude_rows, "", "\n", "\n"),
    "codex": Large(codex_rows, "", "\n", "\n"),
    "openhands": Large(hands_rows, "[", ",\n", "]"),
    "openhands row": Large(hands_rows, '{"instance_id": "i", "history": [', ",", '], "metrics": {}}'),
}


def write_large(path: Path, kind: str, size_bytes: int) -> None:
    """Writes a session of that kind and just above that size."""
    large = LARGE[kind]
    with path.open("w", encoding="utf-8") as file:
        written = file.write(large.opening)
        for number, row in enumerate(large.rows()):
            written += file.write((large.between if number else "") + json.dumps(row))
            if written > size_bytes:
                break
        file.write(large.closing)


class Taken(NamedTuple):
    calls: int
    seconds: float
    base_bytes: int
    peak_bytes: int


def take(path: Path) -> Taken:
    """Reads a session in a process of its own: what it held before at most, and what in the end."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    calls, seconds, base_bytes, peak_bytes = done.stdout.split()
    return Taken(int(calls), float(seconds), int(base_bytes), int(peak_bytes))
