"""A line for each request, in a file that may be moved away at any time."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.telemetry.test_figures import call
from ullage.telemetry.access_log import AccessLog

if TYPE_CHECKING:
    from pathlib import Path


def test_a_line_says_who_asked_whom_and_what_came_of_it(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    AccessLog(file).note(call())
    (line,) = file.read_bytes().splitlines()
    assert msgspec.json.decode(line) == {
        "time": "1970-01-01T00:00:00.000Z",
        "id": "c1",
        "session": "s",
        "client": "pi",
        "kind": "conversation",
        "dialect": "anthropic",
        "target": "anthropic/haiku",
        "status": 200,
        "outcome": "ok",
        "attempts": 1,
        "ms": 2500.0,
        "first_ms": 400.0,
        "input": 20000,
        "cached": 18000,
        "output": 600,
        "usd": pytest.approx(0.0068),
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    log = AccessLog(file)
    log.note(call())
    file.rename(tmp_path / "access.log.1")
    log.note(call(id="c2"))
    assert b'"c2"' in file.read_bytes()
    assert file.read_bytes().count(b"\n") == 1


def test_what_came_over_the_wire_cannot_begin_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    AccessLog(file).note(call(model='m\n{"id":"forged"}', usage=None))
    assert file.read_bytes().count(b"\n") == 1


def test_a_file_that_cannot_be_written_is_told_once_until_it_can_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = AccessLog(tmp_path / "logs" / "access.log")
    log.note(call())
    log.note(call())
    assert len(caplog.records) == 1
    (tmp_path / "logs").mkdir()
    log.note(call())
    assert (tmp_path / "logs" / "access.log").exists()
