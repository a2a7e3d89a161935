"""`ullage metrics`: what it shows of the recorded calls, and what it says where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.cli.conftest import MINUTE_MS, NOW_MS
from ullage.cli import main
from ullage.cli.metrics import _GROUPS
from ullage.stores import CallRecord, SessionRecord, SqliteStore
from ullage.stores.metrics import GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]

PRICES = {"input": 5.0, "output": 25.0, "cache_read": 0.5, "cache_write": 6.25}
MISS = {"cause": "system_changed", "slice": {"kind": "system", "index": 0}, "missed_tokens": 78_300, "unexpected": True}
EXPIRED = {"cause": "expired", "slice": None, "missed_tokens": 21_000, "unexpected": False}


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["metrics", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def record(number: int, **fields: Any) -> CallRecord:
    """A call that was answered so many minutes ago."""
    common: dict[str, Any] = {
        "session": "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
        "dialect": "anthropic",
        "kind": "conversation",
        "path": "/v1/messages",
        "provider": "anthropic",
        "model": "claude-opus-4-8",
        "status": 200,
        "outcome": "ok",
        "streamed": True,
        "first_byte_ms": 400.0 + number,
        "duration_ms": 3000.0 + number,
    }
    return CallRecord(id=f"019e7{number:03d}", created_ms=NOW_MS - number * MINUTE_MS, **(common | fields))


@pytest.fixture
def priced(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database with calls of two targets, some of whose prices and caches are known."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    awareness = {"profile": {"prices": PRICES}}
    warm = {"input_fresh": 2_100, "cache_read": 80_400, "cache_write": 2_000, "output": 512}
    cold = {"input_fresh": 80_400, "cache_read": 0, "cache_write": 2_000, "output": 300}
    hit = {"expected": 80_400, "read": 80_400, "miss": None}
    for call_record in (
        record(3, awareness=awareness, usage=warm, cache=hit),
        record(5, awareness=awareness, usage=cold, cache={"expected": 78_300, "read": 0, "miss": MISS}),
        record(70, awareness=awareness, usage=warm, cache=hit, duration_ms=800.0),
        record(80, usage=cold, cache={"expected": 0, "read": 0, "miss": EXPIRED}),
        record(90, model="claude-haiku-4-5", kind="title", outcome="error", status=529),
        record(
            91, session="0199c1d2e3f4a5b6c7d8e9", provider="openai", model="gpt\x1b[31m", outcome="left", status=None
        ),
    ):
        store.put_call(call_record)
    for session, client in (
        ("3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11", "claude-code"),
        ("0199c1d2e3f4a5b6c7d8e9", "codex"),
    ):
        times = {"started_ms": NOW_MS - 100 * MINUTE_MS, "last_ms": NOW_MS - 3 * MINUTE_MS}
        store.put_session(SessionRecord(id=session, client=client, identity="client", **times))
    store.close()


@pytest.mark.usefixtures("priced")
def test_targets_are_shown_with_the_busiest_first_and_why_caches_were_missed(capsys: Screen, golden: Golden) -> None:
    status, out, _ = call(capsys)
    assert status == 0
    golden("metrics.txt", out)


@pytest.mark.usefixtures("priced")
def test_rows_may_be_sessions(capsys: Screen, golden: Golden) -> None:
    _, out, _ = call(capsys, "--by", "session", "--since", "7d")
    golden("metrics_by_session.txt", out)


@pytest.mark.usefixtures("priced")
@pytest.mark.parametrize("group", GROUPS)
def test_json_has_targets_providers_and_hours_whatever_the_rows_are(group: str, capsys: Screen) -> None:
    status, out, _ = call(capsys, "--by", group, "--json")
    assert status == 0
    report = msgspec.json.decode(out)
    assert report["by"] == group
    assert {"targets", "providers", "hourly", f"{group}s"} <= set(report)
    row = report["targets"][0]
    assert row["target"] == "anthropic/claude-opus-4-8"
    assert (row["attempts"], row["cache"]["unexpected_misses"], row["cache"]["missed_tokens"]) == (4, 1, 78_300)
    assert row["cost_usd"] == pytest.approx(2 * 0.0760 + 0.4220)


@pytest.mark.usefixtures("priced")
def test_where_nothing_was_recorded_it_says_so(capsys: Screen) -> None:
    assert call(capsys, "--since", "1m") == (0, "No call was recorded in that time.\n", "")


@pytest.mark.usefixtures("priced")
def test_what_came_over_the_wire_cannot_steer_the_terminal(capsys: Screen) -> None:
    for arguments in ([], ["--json"], ["--by", "session"]):
        assert "\x1b" not in call(capsys, "--since", "9w", *arguments)[1]


@pytest.mark.usefixtures("priced")
def test_a_time_that_is_none_is_refused_with_what_to_give(capsys: Screen) -> None:
    status, out, err = call(capsys, "--since", "yesterday")
    assert (status, out) == (2, "")
    assert "'yesterday' is no time" in err
    assert "24h" in err


def test_the_choices_are_those_of_the_report() -> None:
    assert _GROUPS == GROUPS
