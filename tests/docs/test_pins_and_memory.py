"""The page on pins and memory: its commands run as they stand, and the screens shown are those they print."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.cli.conftest import MINUTE_MS, NOW_MS
from ullage.cli import main
from ullage.core.evidence.memory import MemoryLimits
from ullage.core.evidence.pins import PinLimits
from ullage.settings.keeping import make_memory_limits, make_pin_limits
from ullage.settings.records import Settings
from ullage.stores import SessionRecord, SqliteStore
from ullage.stores.keeping import make_stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.evidence.changes import Stamp
    from ullage.core.evidence.mutations import Kind

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pins-and-memory.md").read_text()
BLOCKS = re.findall(r"```(?:sh|text)\n(.*?)```", PAGE, re.DOTALL)
IDS = ("4be1", "9c07", "77aa", "gone", "e1e2", "61d8", "5e2f", "a0b3", "gone", "gone")
"""How the ids of what is kept begin, a change for each, in the order of the page."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Runs a line of the page in a folder with a session; three minutes lie between the first line and the others."""
    store = SqliteStore(tmp_path / "home" / "data" / "ullage" / "ullage.db", clock_ms=lambda: NOW_MS)
    known = {"started_ms": NOW_MS, "last_ms": NOW_MS, "identity": "client", "client": "claude-code"}
    store.put_session(
        SessionRecord(id="3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11", project=str(tmp_path.resolve()), **known)
    )
    store.close()
    now_ms = [NOW_MS]
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: now_ms[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"fix: a subject\n")))

    def run_line(line: str) -> str:
        status = main(shlex.split(line.rpartition("|")[2])[1:])
        printed = capsys.readouterr()
        assert (status, line) == (0, line), printed.err
        now_ms[0] = NOW_MS + 3 * MINUTE_MS
        return " ".join(printed.out.replace(str(tmp_path.resolve()), "/home/ada/cellar").split())

    return run_line


def test_every_line_runs_and_prints_what_is_shown(run: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    begin = iter(IDS)

    def stamp(kind: Kind, now_ms: int) -> Stamp:
        return msgspec.structs.replace(make_stamp(kind, now_ms), item=f"{kind[:3]}_{next(begin):f<16}")

    monkeypatch.setattr("ullage.stores.keeping.make_stamp", stamp)
    printed = ""
    for block in BLOCKS:
        if block.startswith("id "):
            assert printed == " ".join(block.split())
            continue
        for line in block.splitlines():
            printed = run(line)


def test_the_limits_are_those_of_the_page() -> None:
    assert make_pin_limits(Settings()) == PinLimits(tokens=16_000)
    assert make_memory_limits(Settings()) == MemoryLimits(results=12)
    assert "(16,000)" in PAGE and "At most twelve" in PAGE
