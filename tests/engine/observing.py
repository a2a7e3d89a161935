"""An engine without a gateway: exchanges are played to it as the relay would, and their records read back."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from ullage.core.wire import Dialect
from ullage.engine import Endpoint, Engine, Exchange
from ullage.gateway.routes import find_endpoint
from ullage.settings import Settings
from ullage.stores import CallRecord, MemoryStore, Store

CLIENTS = Path(__file__).parents[1] / "data" / "clients"
ROOT = "https://provider.example"

# One whole answer of each dialect, as small as they come.
ANSWERS: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {
        "model": "answering",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}},
    },
    "openai-responses": {
        "model": "answering",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}],
        "usage": {"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 60}},
    },
    "anthropic": {
        "type": "message",
        "model": "answering",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 5},
    },
    "gemini": {
        "modelVersion": "answering",
        "candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 5},
    },
}


class Asked(NamedTuple):
    """A request to be played."""

    endpoint: Endpoint
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(self.body)
        return payload

    def having(self, *, headers: Mapping[str, str] | None = None, **members: Any) -> Asked:
        """The same with other top-level members of the body, and with more headers."""
        body = json.dumps({**self.payload, **members}).encode()
        return Asked(self.endpoint, {**self.headers, **(headers or {})}, body)


def asked(target: str, body: bytes | Mapping[str, Any], *, method: str = "POST", **headers: str) -> Asked:
    """A request to `target`; header names with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return to_ask(method, target, named, body if isinstance(body, bytes) else json.dumps(body).encode())


def to_ask(method: str, target: str, headers: Mapping[str, str], body: bytes) -> Asked:
    path, _, query = target.partition("?")
    endpoint = find_endpoint(method, path, headers, query)
    assert endpoint is not None
    return Asked(endpoint, dict(headers), body)


def recorded(client: str, *names: str) -> list[Asked]:
    """Requests of a real client by name, all of them if none is named."""
    requests = json.loads((CLIENTS / f"{client}.json").read_text())["requests"]
    found = {
        request["name"]: to_ask(
            request["method"],
            request["target"],
            {name.lower(): value for name, value in request["headers"]},
            b"" if request["body"] is None else json.dumps(request["body"]).encode(),
        )
        for request in requests
    }
    return [found[name] for name in names or found]


class Bench:
    """An engine over a store. Ids count up and so does the time, a second a request. `settings` are of accounting, `sections` of
    everything else."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        prefix: str = "id",
        start_ms: int = 1_800_000_000_000,
        sections: Mapping[str, Any] | None = None,
        sources: Any = None,
        **settings: Any,
    ) -> None:
        self.store: Any = store or MemoryStore()
        self.ids = itertools.count(1)
        times = itertools.count(start_ms, 1000)
        self.engine = Engine(
            store=self.store,
            settings=msgspec.convert({"accounting": settings, **(sections or {})}, Settings),
            clock_ms=lambda: next(times),
            clock=itertools.count(0.0, 0.001).__next__,
            new_id=lambda: f"{prefix}-{next(self.ids)}",
            sources=sources,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def begin(self, request: Asked) -> Exchange:
        """A request that has been sent and not answered."""
        exchange = self.engine.begin(
            id=self.engine.new_id(),
            endpoint=request.endpoint,
            headers=request.headers,
            body=request.body,
            root=ROOT,
        )
        if exchange.managed:
            asyncio.run(self.engine.depart(exchange, upstream=None))  # no classifier is configured
        exchange.asked = True
        return exchange

    def end(
        self,
        exchange: Exchange,
        answer: bytes | Mapping[str, Any] | None = None,
        *,
        status: int = 200,
        pieces: int = 1,
        how: str = "whole",
        headers: Mapping[str, str] | None = None,
    ) -> CallRecord:
        """Answers an exchange in so many pieces; its record. Without `answer` it is the dialect's small whole one."""
        answer = ANSWERS[exchange.endpoint.dialect] if answer is None else answer
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        named = {"content-type": "application/json", **(headers or {})}
        exchange.answer_began(status, [(name.encode(), value.encode()) for name, value in named.items()])
        size = -(-len(data) // pieces) or 1
        for start in range(0, len(data), size):
            exchange.answer_chunk(data[start : start + size])
        exchange.ended(how)
        self.engine.finish(exchange)
        return self.record(exchange)

    def ask(self, request: Asked, *arguments: Any, **options: Any) -> CallRecord:
        """Plays a request and its answer; the record."""
        return self.end(self.begin(request), *arguments, **options)

    def record(self, exchange: Exchange) -> CallRecord:
        """The record of an exchange that is over."""
        assert self.engine.flush()
        assert self.store.flush()
        record: CallRecord | None = self.store.find_call(exchange.id)
        assert record is not None
        return record

    def events(self, session: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        """Kind and details of what happened, oldest first."""
        return [(event.kind, event.details) for event in reversed(self.store.events(session))]
