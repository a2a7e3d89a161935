"""The twelve cases through a real gateway in managed mode, at windows around what they need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

from .checks import CHECKS, Case, Judged, Outcome
from .doors import load_cases

CASES = load_cases()
WINDOWS = (800, 1_200, 2_000, 4_000, 8_000, 200_000)
PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}

ALWAYS = (
    "group_whole",
    "no_invented_result",
    "no_orphan_call",
    "no_orphan_result",
    "no_partial_thinking",
    "order_preserved",
    "valid_json",
)
BY_BUDGET = frozenset({"identical_output", "no_message_removed", "within_budget", "reports_overflow"})
"""Checks of what one budget asks for. A live request that cannot fit goes as the client sent it (design, section 11)."""
OF_POINTERS = frozenset({"pin_kept_verbatim", "reports_pin_overflow"})
"""Pins of a gateway are texts of their own, not messages of a request: tests/gateway/test_keeping.py."""


@pytest.fixture(params=WINDOWS)
async def managed(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Daemon, FakeProvider]]:
    """A gateway that takes every model for one of this window."""
    window = {"context_window": request.param, "max_output_tokens": 50, "safety_margin_tokens": 10}
    async with (
        FakeProvider() as fake,
        run_gateway(
            dict.fromkeys(DIALECTS, fake.url),
            tmp_path,
            mode="managed",
            models={"refresh": False, "overrides": {"*": window}},
        ) as daemon,
    ):
        yield daemon, fake


async def test_every_case_holds_at_every_window(managed: tuple[Daemon, FakeProvider]) -> None:
    gateway, fake = managed
    async with aiohttp.ClientSession() as client:
        for case in CASES:
            outcome, plan = await send(case, gateway, fake, client)
            judged = Judged(case, outcome)
            for check in sorted({*ALWAYS, *(name for name in case.checks if name in CHECKS)} - BY_BUDGET - OF_POINTERS):
                CHECKS[check](judged)
            assert outcome.status == plan["status"]
            assert outcome.status == "fallback" or outcome.tokens <= outcome.limit
            if outcome.status in ("unchanged", "fallback"):
                assert outcome.sent == json.dumps(case.request).encode()


async def send(
    case: Case, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> tuple[Outcome, dict[str, Any]]:
    """What the provider got of a case, and what was recorded of its plan."""
    headers = {"x-ullage-session": case.id, "anthropic-version": "2023-06-01", "authorization": "Bearer fake-key"}
    body = json.dumps(case.request).encode()
    url = gateway.url + PATHS[case.dialect]
    async with client.post(url, data=body, headers={**headers, "content-type": "application/json"}) as response:
        await response.read()
    assert response.status == 200
    assert await asyncio.to_thread(gateway.engine.flush)
    assert gateway.store.flush()
    call = gateway.store.find_call(response.headers["x-ullage-request"])
    assert call is not None and call.plan is not None
    plan = call.plan
    sent = fake.requests[-1].body
    return (
        Outcome(
            limit=plan["limit"],
            status=response.headers["x-ullage-plan"],
            kept=[item["index"] for item in plan["included"]],
            tokens=plan["tokens"],
            sent=sent,
            error=plan["error"],
            replaced=[one["index"] for one in plan["replaced"]],
        ),
        plan,
    )
