"""Attempts within the window of a pool."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.engine.test_route_state import attempt
from ullage.engine.route_pools import PoolAttempts, window_start
from ullage.settings import Settings
from ullage.settings.routing import PoolSettings

HOUR_MS = 3_600_000
MIDNIGHT_MS = round(datetime(2026, 11, 30).astimezone().timestamp() * 1000)
NOW_MS = MIDNIGHT_MS + 15 * HOUR_MS + 20 * 60_000


class Reader:
    def __init__(self) -> None:
        self.asked: list[int] = []

    def attempts(self, *, since_ms: int = 0, limit: int = 0) -> Any:
        self.asked.append(since_ms)
        return [attempt("t1", "debug"), attempt("t2", "debug")]


@pytest.mark.parametrize(
    ("allocation", "start_ms"),
    [
        ("rolling", NOW_MS - 6 * HOUR_MS),
        ("fixed", NOW_MS - NOW_MS % (6 * HOUR_MS)),
        ("daily", MIDNIGHT_MS),
    ],
)
def test_a_window_begins_as_the_pool_says(allocation: Any, start_ms: int) -> None:
    assert window_start(PoolSettings(allocation=allocation, window_hours=6), NOW_MS) == start_ms


def test_attempts_are_read_now_and_then_and_ours_count_at_once() -> None:
    settings = msgspec.convert({"routing": {"pools": {"p": {"targets": {"a/b": 1, "a/c": 1}}}}}, Settings)
    reader = Reader()
    attempts = PoolAttempts(settings, reader)  # type: ignore[arg-type]
    assert attempts.of(None, NOW_MS) == attempts.of("unknown", NOW_MS) == {}
    assert attempts.of("p", NOW_MS) == {"a/b": 2}
    attempts.note("a/c")
    assert attempts.of("p", NOW_MS + 29_000) == {"a/b": 2, "a/c": 1}
    assert attempts.of("p", NOW_MS + 31_000) == {"a/b": 2}
    assert len(reader.asked) == 2
