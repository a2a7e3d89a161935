"""A gateway that may choose among a few models of one fake provider, and what came of a request."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.stores import CallRecord, RouteOverride
from ullage.testing import BuiltRequest, FakeProvider
from ullage.testing.gateway import run_gateway

# Prices in USD per million tokens: a light, a strong and a frontier model.
LIGHT, STRONG, FRONTIER = "anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5", "anthropic/claude-opus-5"
PRICES = {LIGHT: 1.0, STRONG: 3.0, FRONTIER: 5.0}


def routed(url: str, *, overrides: Mapping[str, Any] | None = None, **sections: Any) -> dict[str, Any]:
    """Settings under which one provider at `url` offers three models in all dialects."""
    known = {
        target: {
            "context_window": 200_000,
            "max_output_tokens": 64_000,
            "reasoning": True,
            "images": True,
            "input_price": price,
            "output_price": 5 * price,
            "cache_read_price": price / 10,
            "cache_write_price": 1.25 * price,
            **(overrides or {}).get(target, {}),
        }
        for target, price in PRICES.items()
    }
    return {
        "models": {"refresh": False, "overrides": known},
        "providers": {
            "anthropic": {
                "url": url,
                "dialects": list(DIALECTS),
                "key": "none",
                "models": [target.partition("/")[2] for target in known],
            }
        },
        **sections,
    }


@contextlib.asynccontextmanager
async def run_routed(
    fake: FakeProvider, tmp_path: Path, *, store: str = "memory", **sections: Any
) -> AsyncIterator[Daemon]:
    """A gateway in front of a provider that is not the clients' own."""
    nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
    async with run_gateway(nowhere, tmp_path, store=store, **routed(fake.url, **sections)) as it:
        yield it


class Came(NamedTuple):
    """What a client got."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    call: CallRecord

    @property
    def route(self) -> dict[str, Any]:
        assert self.call.route is not None
        return self.call.route


async def ask(
    gateway: Daemon, client: aiohttp.ClientSession, request: BuiltRequest, session: str = "s", **headers: str
) -> Came:
    """Sends a request and waits for its record."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {**request.headers, "x-ullage-session": session, **named}
    async with client.post(gateway.url + request.path, data=request.body, headers=sent) as response:
        body = await response.read()
    assert await asyncio.to_thread(gateway.engine.flush)
    assert gateway.store.flush()
    call = gateway.store.find_call(response.headers["x-ullage-request"])
    assert call is not None
    return Came(response.status, response.headers, body, call)


def override(gateway: Daemon, key: str, value: Any, session: str = "s") -> None:
    """What a user sets for a session; an empty one stands for all."""
    gateway.store.put_route_override(RouteOverride(session=session, key=key, value=value, at_ms=1))
    assert gateway.store.flush()


def know_targets(gateway: Daemon) -> None:
    """What else takes its time with the first request."""
    assert gateway.engine.targets is not None
    gateway.engine.targets.candidates("anthropic", client_key=True)


def sent_model(fake: FakeProvider, number: int = -1) -> str:
    """The model that the provider was asked for."""
    received = fake.requests[number if number >= 0 else len(fake.requests) + number]
    if "/models/" in received.target:
        return received.target.partition("/models/")[2].partition(":")[0]
    model: str = json.loads(received.body)["model"]
    return model
