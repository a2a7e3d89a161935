"""What tests of commands share: a database as a daemon leaves it, a clock that stands still, expected screens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.calibration import Pair
from ullage.core.planning import Policy, become_aware, report_awareness
from ullage.core.profiles import Layer, ModelFacts, Prices, resolve_profile
from ullage.stores import CallRecord, EventRecord, SampleRecord, SessionRecord, SqliteStore, to_sample

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parent / "golden"
NOW_MS = 1_780_000_000_000  # 2026-05-28T20:26:40Z
MINUTE_MS = 60_000


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a screen with the file of that name; `make golden` writes it anew."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            file.write_text(text)
        assert text == file.read_text()

    return compare


@pytest.fixture
def data_dir() -> Path:
    """The data folder of the sealed environment."""
    return Path(os.environ["XDG_DATA_HOME"]) / "ullage"


@pytest.fixture
def recorded(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    """A database with three sessions and what they taught, closed; for the commands that look at it, it is `NOW_MS`."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    for session in SESSIONS:
        store.put_session(session)
    for call in CALLS:
        store.put_call(call)
    for event in EVENTS:
        store.put_event(event)
    for sample in SAMPLES:
        store.put_sample(sample)
    store.close()
    return store


OPUS = Layer(
    source="litellm",
    facts=ModelFacts(
        context_window=200_000,
        max_output_tokens=64_000,
        reasoning=True,
        images=True,
        tools=True,
        prices=Prices(input=5.0, output=25.0, cache_read=0.5, cache_write=6.25),
        cache_minimum_tokens=1_024,
    ),
    exact=True,
    matched="claude-opus-4-8",
    as_of="2026-05-20",
)
LIKE_HAIKU = Layer(
    source="genai-prices",
    facts=ModelFacts(context_window=200_000, prices=Prices(input=1.0, output=5.0)),
    exact=False,
    matched="claude-haiku-4.5",
    as_of="0.2.3",
)
LAYERS = {("anthropic", "claude-opus-4-8"): (OPUS,), ("anthropic", "claude-haiku-4-5"): (LIKE_HAIKU,)}


def sample_record(number: int, estimated: int, ratio: float, **more: Any) -> SampleRecord:
    """The sample of a call `number` half-hours before the newest one: most of its prompt read from cache."""
    prompt = round(estimated * ratio)
    written, read = prompt // 40, 9 * prompt // 10
    taught = {
        "id": f"019e6f{99 - number:02}0000c0ffee0",
        "created_ms": NOW_MS - (3 + 30 * number) * MINUTE_MS,
        "provider": "anthropic",
        "model": "claude-opus-4-8",
        "estimator": "chars-v1",
        "client": "claude-code",
        "session": "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
        "estimated": estimated,
        "input_fresh": prompt - read - written,
        "cache_read": read,
        "cache_write": written,
        "output": 500 + number,
        "window": 200_000,
        **more,
    }
    return SampleRecord(**taught)


RATIOS = (1.205, 1.21, 1.19, 1.2, 1.6, 1.215, 1.205, 1.2, 2.5, 1.21, 1.195, 1.205)
SAMPLES = (
    *(sample_record(number, 70_124 - 3_000 * number, ratio) for number, ratio in enumerate(RATIOS)),
    *(
        sample_record(
            number,
            80_000 - 2_000 * number,
            1.05,
            estimator="wire-v1",
            pair=msgspec.structs.asdict(
                Pair(
                    new_tokens=1_000.0 + 100 * number,
                    output=500,
                    items=1,
                    grown=1_920 + 102 * number,
                    dropped_turn=0,
                    dropped_never=0,
                    miss=1.0,
                    at_ms=NOW_MS - (3 + 30 * number) * MINUTE_MS,
                )
            ),
        )
        for number in range(8)
    ),
    *(
        sample_record(
            200 + number, 20_000, 1.31, id=f"0199c1d2000{number}", provider="openai", model="gpt-5", client=""
        )
        for number in range(2)
    ),
)

AWARENESS = report_awareness(
    become_aware(
        resolve_profile("anthropic", "claude-opus-4-8", layers=[OPUS]),
        [
            to_sample(sample)
            for sample in SAMPLES
            if sample.model == "claude-opus-4-8" and sample.estimator == "chars-v1"
        ],
        Policy(method="ratio-v1", auto_tune=True),
        now_ms=NOW_MS,
    ),
    {
        "source": "context",
        "switched": True,
        "previous": "anthropic/claude-haiku-4-5",
        "profile_reused": True,
        "cache_disposition": "cold-model-switch",
    },
)

SESSIONS = (
    SessionRecord(
        id="3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
        client="claude-code",
        client_version="2.1.4",
        identity="client",
        started_ms=NOW_MS - 200 * MINUTE_MS,
        last_ms=NOW_MS - 3 * MINUTE_MS,
        calls=3,
        provider="anthropic",
        model="claude-opus-4-8",
        project="/home/ada/cellar",
        targets=("anthropic/claude-haiku-4-5", "anthropic/claude-opus-4-8"),
    ),
    SessionRecord(
        id="3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11/explorer",
        client="claude-code",
        client_version="2.1.4",
        identity="client",
        agent="explorer",
        parent="3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11",
        started_ms=NOW_MS - 100 * MINUTE_MS,
        last_ms=NOW_MS - 90 * MINUTE_MS,
        calls=1,
        provider="anthropic",
        model="claude-haiku-4-5",
    ),
    SessionRecord(
        id="0199c1d2e3f4a5b6c7d8e9",
        client="unknown",
        identity="fingerprint",
        started_ms=NOW_MS - 3 * 24 * 60 * MINUTE_MS,
        last_ms=NOW_MS - 3 * 24 * 60 * MINUTE_MS,
        calls=1,
        provider="openai",
        model="gpt-5\x1b[31m",
    ),
)

BREAKDOWN = {
    "source": "call:019e7000aaa1",
    "client": "claude-code",
    "total": 84_500,
    "total_kind": "usage",
    "window": 200_000,
    "ullage": 115_500,
    "sections": [
        {"id": "system", "title": "System prompt", "tokens": 3_100, "share": 0.0367, "items": []},
        {"id": "tools", "title": "Tools", "tokens": 16_000, "share": 0.1893, "items": []},
        {"id": "messages", "title": "Messages", "tokens": 65_300, "share": 0.7728, "items": []},
    ],
    "gap": 100,
    "warnings": [],
}

CALLS = (
    CallRecord(
        id="019e7000aaa1c0ffee001",
        session=SESSIONS[0].id,
        created_ms=NOW_MS - 3 * MINUTE_MS,
        dialect="anthropic",
        kind="conversation",
        path="/v1/messages?beta=true",
        provider="anthropic",
        model="claude-opus-4-8",
        answered_by="claude-opus-4-8-20260420",
        status=200,
        outcome="ok",
        streamed=True,
        request_bytes=182_412,
        answer_bytes=12_090,
        first_byte_ms=412.2,
        duration_ms=3215.5,
        stop_reason="tool_calls",
        tool_calls=("Bash", "Edit"),
        project="/home/ada/cellar",
        estimator="wire-v1",
        estimated_input_tokens=84_100,
        expected={"tokens": 84_400, "low": 84_100, "high": 84_700, "pairs": 8, "method": "growth-v1"},
        awareness=AWARENESS,
        sample={"estimator": "chars-v1", "estimated": 70_124, "actual": 84_500, "ratio": 1.205008, "accepted": True},
        cache={
            "expected": 80_000,
            "read": 80_400,
            "held": 80_000,
            "ttl_ms": 300_000,
            "age_ms": 61_000,
            "disposition": "eligible",
            "rule": "anthropic",
            "miss": None,
        },
        usage={"input_fresh": 2_100, "cache_read": 80_400, "cache_write": 2_000, "output": 512, "reasoning": 100},
        breakdown=BREAKDOWN,
        prefix_messages=41,
        warnings=("answer_encoding_unreadable",),
    ),
    CallRecord(
        id="019e6fff0001c0ffee002",
        session=SESSIONS[0].id,
        created_ms=NOW_MS - 4 * MINUTE_MS,
        dialect="anthropic",
        kind="title",
        path="/v1/messages",
        provider="anthropic",
        model="claude-haiku-4-5",
        status=529,
        outcome="error",
        request_bytes=900,
        answer_bytes=120,
        duration_ms=80.0,
    ),
    CallRecord(
        id="019e6ffe0000c0ffee000",
        session=SESSIONS[0].id,
        created_ms=NOW_MS - 20 * MINUTE_MS,
        dialect="anthropic",
        kind="conversation",
        path="/v1/messages",
        provider="anthropic",
        model="claude-opus-4-8",
        project="/home/ada/cellar",
        status=200,
        outcome="left",
        streamed=True,
        request_bytes=90_000,
        answer_bytes=400,
        estimator="wire-v1",
        estimated_input_tokens=42_000,
        expected={"tokens": 71_000, "low": 70_800, "high": 71_200, "pairs": 7, "method": "growth-v1"},
        sample={"refused": "aborted"},
        cache={
            "expected": 70_000,
            "read": 0,
            "held": 70_000,
            "ttl_ms": 300_000,
            "age_ms": 40_000,
            "disposition": "eligible",
            "rule": "anthropic",
            "miss": {
                "cause": "tools_changed",
                "slice": {"kind": "tool", "index": 3},
                "missed_tokens": 70_000,
                "unexpected": True,
            },
        },
        usage={"input_fresh": 41_500, "cache_read": 0, "cache_write": None, "output": 12},
    ),
    CallRecord(
        id="019e6fff0002c0ffee003",
        session=SESSIONS[1].id,
        created_ms=NOW_MS - 90 * MINUTE_MS,
        dialect="anthropic",
        kind="subagent",
        path="/v1/messages",
        provider="anthropic",
        model="claude-haiku-4-5",
        outcome="left",
        streamed=True,
        request_bytes=2_400_000,
        estimator="wire-v1",
        estimated_input_tokens=612_345,
    ),
    CallRecord(
        id="019e6fff0003c0ffee004",
        session=SESSIONS[2].id,
        created_ms=NOW_MS - 3 * 24 * 60 * MINUTE_MS,
        dialect="openai-chat",
        kind="conversation",
        path="/v1/chat/completions",
        provider="openai",
        model=None,
        outcome="unparsed",
    ),
)

EVENTS = (
    EventRecord(
        created_ms=NOW_MS - 20 * MINUTE_MS,
        kind="rewrite",
        session=SESSIONS[0].id,
        call="019e6ffe0000c0ffee000",
        details={"before": 80, "after": 12},
    ),
)
