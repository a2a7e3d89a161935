"""What others may watch a running gateway by: the figures of `GET /metrics`, and its access log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.routes import FRONTIER, STRONG, ask, run_routed
from tests.gateway.test_attempts import HARD
from tests.gateway.test_control import bearer, chat
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request
from ullage.testing.gateway import run_gateway


async def test_prometheus_reads_what_calls_added_up_to(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    await chat(client, gateway, "hello")
    async with client.get(f"{gateway.url}/metrics", headers=bearer(gateway)) as response:
        assert (response.status, response.content_type) == (200, "text/plain")
        text = await response.text()
    samples = {
        sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples
    }
    assert samples["ullage_requests_total"] == 1
    assert samples["ullage_attempts_total"] == 1
    assert samples["ullage_tokens_total"] >= 0
    assert "hello" not in text


async def test_without_the_token_there_are_no_figures(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    for headers in ({}, {**bearer(gateway), "origin": "http://evil"}, {**bearer(gateway), "host": "evil"}):
        async with client.get(f"{gateway.url}/metrics", headers=headers) as response:
            assert response.status == 401


async def test_where_they_are_turned_off_there_are_none(
    fake: FakeProvider, client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    async with run_routed(fake, tmp_path, telemetry={"prometheus": False}) as gateway:
        async with client.get(f"{gateway.url}/metrics", headers=bearer(gateway)) as response:
            assert response.status == 404


async def test_a_line_is_logged_for_each_request_with_how_often_it_was_sent(
    client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    script = [Rule(model=FRONTIER.partition("/")[2], fault=Fault(status=503)), Reply(text="a secret answer")]
    async with FakeProvider(script) as fake:
        async with run_routed(fake, tmp_path, telemetry={"access_log": str(log)}) as gateway:
            await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
            async with client.get(f"{gateway.url}/metrics", headers=bearer(gateway)) as response:
                text = await response.text()
    (line,) = log.read_bytes().splitlines()
    told = msgspec.json.decode(line)
    assert (told["status"], told["attempts"], told["session"], told["target"]) == (200, 2, "s", STRONG)
    assert told["usd"] > 0
    assert b"secret" not in line and b"architecture" not in line
    failed = f'provider="anthropic",model="{FRONTIER.partition("/")[2]}"'
    assert f"ullage_failovers_total{{{failed}}} 1" in text
    assert f"ullage_circuit_open{{{failed}}}" in text


async def test_lists_of_models_and_what_was_turned_away_have_a_line_as_well(
    fake: FakeProvider, client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    upstreams = dict.fromkeys(DIALECTS, fake.url)
    server = {"body_limit_bytes": 100}
    async with run_gateway(upstreams, tmp_path, telemetry={"access_log": str(log)}, server=server) as gateway:
        for path, body in (("/v1/models", None), ("/nowhere", None), ("/v1/messages", b"x" * 101)):
            async with client.request("POST" if body else "GET", gateway.url + path, data=body) as response:
                await response.read()
        assert await asyncio.to_thread(gateway.engine.flush)
        async with client.get(f"{gateway.url}/metrics", headers=bearer(gateway)) as response:
            text = await response.text()
    lines = [msgspec.json.decode(line) for line in log.read_bytes().splitlines()]
    assert [(line["kind"], line["status"], line["outcome"], line["attempts"]) for line in lines] == [
        ("models", 200, "ok", 0),
        ("unknown", 404, "answered", 0),
        ("generate", 413, "answered", 0),
    ]
    assert 'kind="models",outcome="ok"} 1' in text


async def test_what_was_spent_stands_beside_what_may_be(
    fake: FakeProvider, client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    budget = {"daily_usd": 5.0, "providers": {"anthropic": {"monthly_usd": 20.0}}}
    async with run_routed(fake, tmp_path, budget=budget) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
        async with client.get(f"{gateway.url}/metrics", headers=bearer(gateway)) as response:
            text = await response.text()
    told = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert told["ullage_budget_usd", "", "day"] == 5.0
    assert told["ullage_budget_usd", "anthropic", "month"] == 20.0
    assert 0 < told["ullage_spent_usd", "", "day"] == told["ullage_spent_usd", "anthropic", "month"]
    assert told["ullage_connections",] >= 1


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", True),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", False),
        ("a secret", False),
    ],
    ids=["usual", "no trace", "something else"],
)
async def test_the_trace_of_a_client_is_kept_where_it_is_one(
    told: str, kept: bool, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-chat", model="m", turns=("hello",))
    came = await ask(gateway, client, request, traceparent=told)
    assert came.call.traceparent == (told if kept else None)
