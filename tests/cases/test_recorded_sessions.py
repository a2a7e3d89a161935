"""Every recorded session, replanned at four windows: what a provider took, it takes when planned."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sdk_types import find_fault
from ullage.core.accounting import Meter, make_meter, measure_message
from ullage.core.errors import UllageError
from ullage.core.planning import (
    Limits,
    Overrides,
    Plan,
    SliceFacts,
    draw_budget,
    facts_of,
    plan_live,
    resolve_categories,
)
from ullage.core.planning.assembling import RequestFacts, make_input, render_plan, resolve_caps, weigh
from ullage.core.wire import Conversation, Dialect, parse_request, read_message
from ullage.settings import Settings
from ullage.settings.policy import make_caps
from ullage.sources import read_session
from ullage.testing.dialects.events import seal
from ullage.testing.replay import recorded_traffic
from ullage.testing.strict import find_refusal

WINDOWS = (32_000, 64_000, 128_000, 200_000)
RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "sessions"
TRIMMED = "agent-sessions-schema-sampler"
"""Files that their authors shortened by hand: their requests were never sent."""


class Memory:
    """Facts and judgements of messages, each made once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[SliceFacts, int]] = {}
        self._faults: dict[int, str | None] = {}

    def read(self, conversation: Conversation, meter: Meter) -> RequestFacts:
        found = []
        for piece in conversation.messages:
            key = (piece.hash, meter.key)
            if key not in self._known:
                message = read_message(piece, conversation.dialect)
                facts = facts_of(message, conversation.dialect)
                self._known[key] = (facts, weigh(measure_message(message, meter)))
            found.append(self._known[key])
        return RequestFacts(
            facts=tuple(facts for facts, _ in found), tokens=tuple(tokens for _, tokens in found), fixed_tokens=500
        )

    def faults(self, conversation: Conversation) -> list[str]:
        """What the official SDK would not take."""
        found = []
        for piece in conversation.messages:
            if piece.hash not in self._faults:
                self._faults[piece.hash] = find_fault(piece.raw, conversation.dialect)
            found.append(self._faults[piece.hash])
        return [fault for fault in found if fault is not None]


def test_short_recordings_stay_valid_at_small_windows() -> None:
    counts: Counter[str] = Counter()
    for path in sorted(RECORDINGS.rglob("*.json*")):
        counts += replan(path, (2_000, 3_000, 4_000, 6_000, 9_000))
    assert counts["managed"] + counts["emergency"] >= 10
    assert counts["refused by a provider"] == counts["not taken by the SDK"] == counts["over the limit"] == 0


@pytest.mark.shared
@pytest.mark.slow
def test_no_planned_request_of_any_recorded_session_is_invalid(shared_data: Path) -> None:
    counts: Counter[str] = Counter()
    for path in sorted((shared_data / "sessions").rglob("*.json*")):
        if not path.name.startswith(TRIMMED):
            counts += replan(path, WINDOWS)
    assert counts["calls"] > 1_500
    assert counts["managed"] > 4_000
    assert counts["refused by a provider"] == counts["not taken by the SDK"] == counts["over the limit"] == 0


def replan(path: Path, windows: tuple[int, ...]) -> Counter[str]:
    """Plans every call of a session at every window, and counts what came of it. What the provider would have refused as it was
    recorded, or the SDK not have taken, proves nothing."""
    memory = Memory()
    counts: Counter[str] = Counter()
    for exchange in traffic(path):
        dialect = exchange.request.dialect
        conversation = parse_request(complete(exchange.request.body, dialect), dialect)
        facts = memory.read(conversation, meter_of(exchange.call, dialect))
        was_refused = find_refusal(dialect, msgspec.json.decode(conversation.body)) is not None
        assert memory.faults(conversation) == []
        counts["calls"] += 1
        counts["refused as recorded"] += was_refused
        for window in windows:
            made = plan_within(facts, window)
            body = render_plan(conversation, made)
            counts[made.status] += 1
            counts["over the limit"] += made.tokens > made.limit and made.status != "fallback"
            if body == conversation.body:
                assert len(made.kept) == len(conversation.messages)
                continue
            sent = parse_request(body, dialect)
            counts["not taken by the SDK"] += bool(memory.faults(sent))
            refusal = find_refusal(dialect, msgspec.json.decode(sent.body))
            counts["refused by a provider"] += refusal is not None and not was_refused
            kept = [conversation.messages[index].raw for index in made.kept]
            assert [piece.raw for piece in sent.messages] == kept
    return counts


def plan_within(facts: RequestFacts, window: int) -> Plan:
    limits = Limits()
    budget = draw_budget(window=window, max_output=window // 4, safety_margin=1_024, limits=limits)
    adaptive = resolve_categories(window=window, limits=limits, overrides=Overrides(), room=budget.active)
    return plan_live(make_input(facts, budget=budget, caps=resolve_caps(make_caps(Settings()), adaptive)))


def traffic(path: Path) -> Any:
    """The requests of a session; none of a file that cannot be sent again."""
    try:
        yield from recorded_traffic(read_session(path))
    except UllageError:
        return


def meter_of(call: Any, dialect: Dialect) -> Meter:
    return make_meter(dialect=dialect, provider=call.provider, model=call.model, client=None)


def complete(body: bytes, dialect: Dialect) -> bytes:
    """The request with what its record leaves out and an SDK demands: ids of items, the data of pictures, seals that fit."""
    request = msgspec.json.decode(body)
    key = "input" if dialect == "openai-responses" else "messages"
    for number, message in enumerate(request[key]):
        if message.get("type") == "reasoning":
            message["id"] = f"rs_{number}"
        elif message.get("type") == "message" and message["role"] == "assistant":
            message |= {"id": f"msg_{number}", "status": "completed"}
            for block in message["content"]:
                block["annotations"] = []
        for_each_block(message.get("content"), partial(complete_block))
    return msgspec.json.encode(request)


def for_each_block(content: Any, change: Any) -> None:
    for block in content if isinstance(content, list) else ():
        change(block)
        for_each_block(block.get("content"), change)


def complete_block(block: dict[str, Any]) -> None:
    if block["type"] == "thinking" and block["thinking"]:
        block["signature"] = seal(block["thinking"])
    elif block["type"] == "image" and "data_omitted" in block["source"]:
        block["source"] |= {"data": "", "media_type": block["source"]["media_type"] or "image/png"}
