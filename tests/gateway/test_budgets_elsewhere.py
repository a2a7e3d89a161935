"""Limits hold for whatever costs money, be it a conversation or not: old completions, Codex's summaries, embeddings, batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web

from ullage.core.spend import SpendTotal
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing.gateway import run_gateway

USD = 1_000_000_000
MODEL = "gpt-5"
PRICES = {"input_price": 1.0, "output_price": 10.0, "max_output_tokens": 1_000, "context_window": 100_000}
TOLD = {"model": MODEL, "usage": {"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 140}}
FORESEEN = [
    ("/v1/completions", {"model": MODEL, "prompt": "Hello.", "max_tokens": 500}),
    ("/v1/responses/compact", {"model": MODEL, "input": [{"role": "user", "content": "Hello."}]}),
]
UNFORESEEN = [
    ("/v1/embeddings", {"model": MODEL, "input": "Hello."}),
    ("/v1/images/generations", {"model": MODEL, "prompt": "A cat."}),
    ("/v1/messages/batches", {"requests": []}),
    ("/v1beta/models/gpt-5:batchGenerateContent", {"batch": {}}),
    ("/v1/something/new", {"model": MODEL}),
]
FREE = ["/v1/files", "/v1/moderations", "/v1/responses/resp_1/cancel", "/v1/messages/batches/b_1/cancel"]


class Provider:
    """Takes whatever is posted, and answers all of it alike."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = "http://{}:{}".format(*self._runner.addresses[0][:2])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        await request.read()
        self.asked.append(request.path)
        return web.json_response(self.answer)


def limited(provider: Provider, tmp_path: Path, **budget: Any) -> Any:
    """A gateway before a provider that has one model, which has a price."""
    models = {"refresh": False, "overrides": {f"{urlsplit(provider.url).netloc}/{MODEL}": PRICES}}
    return run_gateway(dict.fromkeys(DIALECTS, provider.url), tmp_path, budget=budget, models=models)


async def post(gateway: Daemon, client: aiohttp.ClientSession, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
    async with client.post(gateway.url + path, json=body, headers={"x-ullage-session": "s"}) as response:
        data, headers = await response.read(), response.headers
    assert await asyncio.to_thread(gateway.engine.flush)
    return response.status, (headers, data)


async def day(gateway: Daemon) -> SpendTotal:
    assert await asyncio.to_thread(gateway.engine.flush)
    found = await asyncio.to_thread(gateway.store.ledger.totals, "day")
    return found[0] if found else SpendTotal(scope="day", name="")


@pytest.mark.parametrize(("path", "body"), FORESEEN + UNFORESEEN)
async def test_nothing_that_costs_money_is_sent_where_a_limit_is_used_up(
    path: str, body: Mapping[str, Any], tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with Provider({}) as provider, limited(provider, tmp_path, daily_usd=0, on_exceed="block") as gateway:
        status, (_, data) = await post(gateway, client, path, body)
        spent = await day(gateway)
        assert (len(provider.asked), gateway.store.ledger.open_attempts()) == (0, [])
    assert (status, b"budget_exceeded" in data, spent.calls, spent.used) == (402, True, 0, 0)


@pytest.mark.parametrize("path", FREE)
async def test_what_costs_nothing_is_passed_on_whatever_is_spent(
    path: str, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with Provider({}) as provider, limited(provider, tmp_path, daily_usd=0, on_exceed="block") as gateway:
        await post(gateway, client, path, {})
        assert len(provider.asked) == 1


@pytest.mark.parametrize("budget", [{"daily_usd": 5.0, "on_exceed": "block"}, {}])
@pytest.mark.parametrize(("path", "body"), FORESEEN)
async def test_what_is_foreseen_is_reserved_and_settled_by_its_usage(
    path: str,
    body: Mapping[str, Any],
    budget: Mapping[str, Any],
    tmp_path: Path,
    client: aiohttp.ClientSession,
) -> None:
    usage = TOLD["usage"] if "completions" in path else {"input_tokens": 100, "output_tokens": 40}
    async with (
        Provider({**TOLD, "usage": usage}) as provider,
        limited(provider, tmp_path, **budget) as gateway,
    ):
        status, (headers, _) = await post(gateway, client, path, body)
        spent = await day(gateway)
        assert gateway.store.ledger.open_attempts() == []
    assert (status, "x-ullage-budget" in headers) == (200, False)
    assert (spent.calls, spent.unpriced, spent.estimated) == (1, 0, 0)
    assert spent.used == 100 * 1_000 + 40 * 10_000


async def test_an_old_completion_counts_the_most_that_all_of_its_answers_may_cost(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    path, body = FORESEEN[0]
    async with Provider({}) as provider, limited(provider, tmp_path, daily_usd=0.01, on_exceed="block") as gateway:
        one, _ = await post(gateway, client, path, body)
        many, _ = await post(gateway, client, path, {**body, "n": 3})
    assert (one == 402, many) == (False, 402)


async def test_what_nobody_can_foresee_is_sent_below_the_limit_and_that_is_told_and_counted(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    path, body = UNFORESEEN[1]
    async with Provider({}) as provider, limited(provider, tmp_path, daily_usd=5.0, on_exceed="block") as gateway:
        status, (headers, _) = await post(gateway, client, path, body)
        spent = await day(gateway)
    assert (status, headers["x-ullage-budget"]) == (200, "not held to daily: its price is not known")
    assert (spent.calls, spent.unpriced, spent.used) == (1, 1, 0)
