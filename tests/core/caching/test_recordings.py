"""What would have been expected of every call of the recorded sessions, beside what its provider reported to have read.

The files do not hold what stands before the messages, nor the marks: both are put in as the clients send them (tools and system
as one slice, marks behind it and at the end of the newest message).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from xxhash import xxh3_128_intdigest

from ullage.core.accounting import make_meter, measure_message
from ullage.core.caching import Chain, Footprint, Mark, Miss, check, expect, leave, make_chain
from ullage.core.profiles import reasoning_retention
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.sources import Call, Session, read_session

ENCODER = msgspec.json.Encoder()
HARNESS = 1


class Judged(NamedTuple):
    """One call that goes on from another one of the same model."""

    client: str
    rule: str
    expected: int | None
    read: int
    miss: Miss | None

    @property
    def close(self) -> bool:
        return self.expected is not None and abs(self.expected - self.read) <= 0.05 * max(self.expected, self.read)


def judge(path: Path) -> Iterator[Judged]:
    session = read_session(path)
    lines: dict[tuple[str | None, ...], Footprint] = {}
    for call, chain in chains(session):
        usage = call.usage
        if session.handmade or not call.trusted or usage is None:
            continue
        rule = find_cache_rule(call.provider, call.model)
        identity = (call.provider, call.model, (call.agent or "side chain") if call.sidechain else "")
        own, now_ms = lines.get(identity), call.time_ms or 0
        drops = reasoning_retention(call.provider, call.model) == "turn"
        expected = expect(rule, chain, now_ms=now_ms, own=own, drops_reasoning=drops)
        lines[identity] = leave(
            rule, chain, usage, sent_ms=now_ms, ended_ms=now_ms, before=own, found=expected.position if own else 0
        )
        if own is not None and usage.cache_read is not None:
            yield Judged(session.client, rule.id, expected.tokens, usage.cache_read, check(expected, usage))


def chains(session: Session) -> Iterator[tuple[Call, Chain]]:
    """Every call as a chain; the messages that it shares with the call before are hashed and weighed once."""
    slices: dict[int, list[tuple[int, int]]] = {}
    turns: dict[int, int] = {}
    for call in session.calls:
        meter = make_meter(dialect=call.dialect, provider=call.provider, model=call.model, client=session.client)
        start = 0 if call.previous is None else session.calls[call.previous].messages
        mine = [] if call.previous is None else slices[call.previous][:start]
        turns[call.index] = 0 if call.previous is None else turns[call.previous]
        for index, message in enumerate(session.messages(call.index, start, call.messages), start):
            measure = measure_message(message, meter)
            tokens = measure.frame + sum(entry.tokens for entry in measure.entries) + measure.sealed_tokens
            mine = [*mine, (xxh3_128_intdigest(ENCODER.encode(message)), tokens)]
            if measure.opens_turn:
                turns[call.index] = HARNESS + index + 1
        slices[call.index] = mine
        long = bool(call.usage is not None and call.usage.cache_write_1h)
        yield (
            call,
            make_chain(
                [1, *(number for number, _ in mine)],
                [0, *(tokens for _, tokens in mine)],
                system=HARNESS,
                marks=[Mark(HARNESS, long), Mark(HARNESS + len(mine), long)] if mine else [Mark(HARNESS, long)],
                turn=turns[call.index],
            ),
        )


@pytest.fixture(scope="module")
def judged(shared_data: Path) -> list[Judged]:
    paths = sorted((shared_data / "sessions").rglob("*.json*"))
    return [call for path in paths for call in judge(path)]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("client", "calls", "least"),
    [("claude-code", 300, 0.97), ("codex", 262, 0.95), ("pi", 930, 0.975), ("openhands", 6, 1.0)],
)
def test_what_is_expected_is_what_was_read_within_five_percent(
    judged: list[Judged], client: str, calls: int, least: float
) -> None:
    mine = [call for call in judged if call.client == client]
    assert len(mine) == calls
    assert sum(call.close for call in mine) / calls >= least


@pytest.mark.shared
def test_every_call_that_read_less_has_a_cause(judged: list[Judged]) -> None:
    """What is not close is told as a miss, but for reads of more than was expected."""
    assert all(
        call.miss is not None for call in judged if not call.close and call.expected and call.read < call.expected
    )
    causes = Counter(call.miss.cause for call in judged if call.miss is not None)
    assert causes == {"evicted": 27, "expired": 13, "history_replaced": 3, "reasoning_dropped": 2}


@pytest.mark.shared
def test_no_hit_is_taken_for_a_miss(judged: list[Judged]) -> None:
    """The nearest miss read 14 % less than was held, the farthest hit 1.2 %: nothing lies near the line between them."""
    for call in judged:
        if call.expected and call.miss is None:
            assert call.read >= 0.95 * call.expected
        elif call.expected and call.miss is not None and call.miss.cause == "evicted":
            assert call.read <= 0.87 * call.expected
