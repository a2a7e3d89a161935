"""Insights into ever larger sessions, beside reading the file and counting its texts. `python -m benchmarks.bench_insights [MB]`.

Work must grow with the file and with nothing else: the last column stays what it is when the file doubles.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.parts.processes import machine
from tests.sources import rows as made
from ullage.cli.context import make_report
from ullage.cli.context_input import Wishes, inspect
from ullage.core.tokens import get_estimator
from ullage.sources import read_session
from ullage.web import render_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

MEGABYTE = 2**20
SIZES_MB = (2, 4, 8, 16)
FILES = 40


def main(sizes: tuple[int, ...]) -> None:
    print(machine())
    print(
        f"{'MB':>4} {'calls':>6} {'texts counted, s':>17} {'breakdown':>10} {'insights':>9} {'page':>6} {'insights, ms a MB':>18}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in sizes:
            path = Path(folder) / f"{megabytes}.jsonl"
            write_session(path, megabytes * MEGABYTE)
            calls, counted = count_texts(path)
            inspection, breakdown = timed(lambda path=path: inspect(str(path), Wishes(window=200_000)))
            report, insights = timed(lambda inspection=inspection: make_report(inspection))
            assert len(report["insights"]["growth"]["calls"]) == calls
            assert report["insights"]["outdated"], "files were edited after they were read"
            text, page = timed(lambda report=report: render_report(report))
            assert len(text) < 4 * path.stat().st_size
            rate = 1000 * insights / megabytes
            print(f"{megabytes:4} {calls:6} {counted:17.2f} {breakdown:10.2f} {insights:9.2f} {page:6.2f} {rate:18.0f}")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    made = work()
    return made, time.perf_counter() - started


def count_texts(path: Path) -> tuple[int, float]:
    """The floor: the file read and every text counted once."""
    started = time.perf_counter()
    session = read_session(path)
    count = get_estimator("o200k-base-v1").text
    for message in session.context().messages:
        for part in message.parts:
            count(part.text)
    return len(session.calls), time.perf_counter() - started


def write_session(path: Path, size: int) -> None:
    """A session of Pi that reads, edits and reads again, until the file has its size."""
    with path.open("w") as file:
        for row in rows():
            file.write(json.dumps(row) + "\n")
            if file.tell() >= size:
                return


def rows() -> Iterator[made.Row]:
    yield made.pi_header()
    yield made.pi_user("u", None, "Make it faster.")
    parent, prompt = "u", 5_000
    for number in range(sys.maxsize):
        name, edits = f"src/file_{number % FILES}.py", number % 5 == 4
        arguments = {"oldText": source(number)[:300], "newText": "new"} if edits else {}
        call = {"type": "toolCall", "id": f"t{number}", "name": "edit" if edits else "read"}
        usage = {"input": 3, "output": 40, "cacheRead": prompt, "cacheWrite": 900, "totalTokens": prompt + 943}
        content = [{**call, "arguments": {"path": name, **arguments}}]
        yield made.pi_reply(
            f"a{number}", parent, usage=usage, content=content, model="claude-opus-4-8", provider="anthropic"
        )
        result = made.pi_result(f"r{number}", f"a{number}", "ok" if edits else source(number))
        result["message"]["toolCallId"] = f"t{number}"
        yield result
        parent, prompt = f"r{number}", prompt + 900


def source(number: int) -> str:
    """A file of 80 lines; every third version of it is new."""
    version = number // FILES // 3
    return "\n".join(f"    value_{line} = compute({line}, {number % FILES}, {version})" for line in range(80))


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES_MB)
