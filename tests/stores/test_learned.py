"""What was kept of learning is read by versions that keep other things of it."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.core.calibration import Pair
from ullage.core.routing.learning import Delivery
from ullage.stores import SampleRecord, to_pairs
from ullage.stores.learned import to_deliveries, to_timing
from ullage.stores.route_records import AttemptMade, AttemptRecord, AttemptRoute, AttemptTask

PLAIN = {
    "new_tokens": 120.5,
    "output": 40,
    "items": 2,
    "grown": 170,
    "dropped_turn": 0,
    "dropped_never": 0,
    "miss": 0.5,
    "at_ms": 9,
}
PAIR = Pair(120.5, 40, 2, 170, 0, 0, 0.5, 9)


def record(pair: dict[str, Any] | None) -> SampleRecord:
    return SampleRecord(
        id="s",
        created_ms=1,
        provider="openai",
        model="gpt-5",
        estimator="wire-v1",
        client="pi",
        session="s",
        estimated=10,
        input_fresh=10,
        cache_read=0,
        cache_write=0,
        pair=pair,
    )


def test_a_pair_comes_back_as_it_was_kept() -> None:
    assert to_pairs([record(PLAIN), record(None)]) == [PAIR]


def test_a_member_that_a_later_version_keeps_is_passed_over() -> None:
    assert to_pairs([record(PLAIN | {"tools": 3})]) == [PAIR]


def test_a_member_that_an_earlier_version_did_not_keep_has_its_default() -> None:
    early = {name: value for name, value in PLAIN.items() if name != "at_ms"}
    assert to_pairs([record(early)]) == [Pair(120.5, 40, 2, 170, 0, 0, 0.5)]


@pytest.mark.parametrize("strange", [{}, {"new_tokens": 1.0}, PLAIN | {"output": "40"}, PLAIN | {"grown": None}])
def test_a_pair_that_cannot_be_read_is_skipped_and_the_others_count(strange: dict[str, Any]) -> None:
    assert to_pairs([record(strange), record(PLAIN)]) == [PAIR]


def routed(*attempts: AttemptMade) -> AttemptRecord:
    """A call that the last attempt answered, two seconds after it came."""
    return AttemptRecord(
        id="c",
        session="s",
        created_ms=5,
        kind="conversation",
        provider="c",
        model="m",
        status=200,
        outcome="ok",
        streamed=True,
        first_byte_ms=900.0,
        duration_ms=2_000.0,
        usage={"input_fresh": 10, "output": 40},
        route=AttemptRoute(target="c/m", task=AttemptTask(kinds=("debug",)), attempts=attempts),
    )


def test_attempts_that_failed_before_count_for_their_targets() -> None:
    """Those that nobody but the request is to blame for say nothing of a target."""
    made = [
        AttemptMade(target="a/m", failure="server"),
        AttemptMade(target="b/m", failure="signature"),
        AttemptMade(target="c/m", ms_to_first=300.0, committed=True),
    ]
    assert list(to_deliveries(routed(*made))) == [
        Delivery(at_ms=5, target="a/m", delivered=False, kinds=("debug",)),
        Delivery(at_ms=5, target="c/m", delivered=True, kinds=("debug",)),
    ]


def test_the_time_of_attempts_that_failed_before_is_not_the_last_ones() -> None:
    timing = to_timing(routed(AttemptMade(target="a/m"), AttemptMade(target="c/m", ms_to_first=300.0)))
    assert timing is not None and (timing.first_ms, timing.whole_ms) == (300.0, 1_400.0)
    plain = to_timing(routed())
    assert plain is not None and (plain.first_ms, plain.whole_ms) == (900.0, 2_000.0)
