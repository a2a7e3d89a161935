"""What tests of commands share: a database as a daemon leaves it, a clock that stands still, expected screens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ullage.stores import CallRecord, EventRecord, SessionRecord, SqliteStore

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
    """A database with three sessions, closed; for the commands that look at it, it is `NOW_MS`."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    for session in SESSIONS:
        store.put_session(session)
    for call in CALLS:
        store.put_call(call)
    for event in EVENTS:
        store.put_event(event)
    store.close()
    return store


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
        estimator="wire-v1",
        estimated_input_tokens=84_100,
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
