"""A large tool result put aside, looked into, and searched for in history. `python -m benchmarks.bench_artifacts [MB]`.

Hashing the same bytes is the floor of keeping and reading: both check what they touch. Work must grow with the text and with
nothing else.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench_insights import write_session
from benchmarks.parts.processes import machine
from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact, reference_text, to_bytes
from ullage.core.evidence.lookup import find_matches, read_lines
from ullage.core.privacy.secrets import redact
from ullage.mcp.artifacts import ArtifactTools
from ullage.mcp.history import HistoryTools
from ullage.mcp.project import Project
from ullage.sources.artifacts import ArtifactFiles

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 5
SIZES_MB = (1, 5, 20)
MEGABYTE = 2**20
COLUMNS = ("MB", "hash", "reference", "keep", "check", "search", "lines", "history")
MOST_BYTES = 100 * MEGABYTE


def main(sizes: tuple[int, ...]) -> None:
    print(machine())
    print("milliseconds, best of", RUNS)
    print("".join(f"{name:>11}" for name in COLUMNS))
    for megabytes in sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{megabytes:11}" + "".join(f"{figure:11.1f}" for figure in measure(Path(folder), megabytes)))


def measure(folder: Path, megabytes: int) -> list[float]:
    text = make_log(megabytes * MEGABYTE)
    data = to_bytes(text)
    caps = ArtifactCaps()
    files = ArtifactFiles(folder / "artifacts")
    digest = files.put(data)

    def kept() -> str:
        return files.read(digest, most_bytes=MOST_BYTES).decode()

    found = find_matches(kept(), "compiled 25", most=caps.matches, chars=caps.inline_chars)
    assert found.matches
    return [
        best(lambda: hashlib.sha256(data)),
        best(lambda: reference_text(make_artifact(text), text, caps, lambda quote: redact(quote)[0])),
        best(lambda: files.put(data), before=lambda: forget(folder)),
        best(lambda: files.put(data)),
        best(lambda: find_matches(kept(), "compiled 25", most=caps.matches, chars=caps.inline_chars)),
        best(lambda: read_lines(kept(), text.count("\n") // 2, chars=caps.inline_chars)),
        best(search_of(folder, megabytes, files), runs=1),
    ]


def search_of(folder: Path, megabytes: int, files: ArtifactFiles) -> Callable[[], object]:
    """A search through one recorded session of that size that finds nothing."""
    path = folder / "home/.claude/projects/p/s.jsonl"
    path.parent.mkdir(parents=True)
    write_session(path, megabytes * MEGABYTE)
    caps = ArtifactCaps()
    tools = HistoryTools(
        Project(root="/project", folders=("/project",), home=folder / "home", caps=caps),
        artifacts=ArtifactTools(files=files, find=lambda _: [], caps=caps, clear=str),
        list_artifacts=list,
        clear=str,
    )
    assert "newest 1 of 1" in tools.search("absent from everything")
    return lambda: tools.search("absent from everything")


def make_log(size: int) -> str:
    lines = []
    length = 0
    while length < size:
        number = len(lines)
        fault = "error: bad" if number % 997 == 0 else "done"
        lines.append(f"src/module_{number % 17}/file_{number}.py: compiled {number * 3} symbols, {fault}")
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def forget(folder: Path) -> None:
    for path in (folder / "artifacts").rglob("*"):
        if path.is_file():
            path.unlink()


def best(work: Callable[[], object], *, before: Callable[[], object] = lambda: None, runs: int = RUNS) -> float:
    figures = []
    for _ in range(runs):
        before()
        started = time.perf_counter()
        work()
        figures.append(1000 * (time.perf_counter() - started))
    return min(figures)


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES_MB)
