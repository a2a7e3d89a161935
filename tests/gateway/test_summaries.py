"""Summaries of clients that name a model themselves, over real sockets: written elsewhere where that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.routes import LIGHT, ask, routed, sent_model
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_request
from ullage.testing.gateway import run_gateway

SUMMARIZE = "Your task is to create a detailed summary of the conversation so far."
MARKS = {"user_agent": "claude-cli/2.1.0", "x_claude_code_compaction": "1", "x_api_key": "sk-client"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("mode", ["observe", "managed"])
async def test_a_summary_goes_to_who_is_named_for_them_without_the_key_of_the_client(
    mode: str, stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    routing = {"compaction": "all", "compaction_models": [LIGHT]}
    async with FakeProvider([Reply(text="The summary.")]) as cheap, FakeProvider([Reply(text="Own.")]) as own:
        upstreams = dict.fromkeys(DIALECTS, own.url)
        async with run_gateway(upstreams, tmp_path, mode=mode, **routed(cheap.url, routing=routing)) as gateway:
            turns = ("Hello.", "Hi.", SUMMARIZE)
            summary = await ask(
                gateway, client, make_request("anthropic", model="claude-x", turns=turns, stream=stream), **MARKS
            )
            plain = {name: value for name, value in MARKS.items() if "compaction" not in name}
            other = await ask(gateway, client, make_request("anthropic", model="claude-x", turns=("Hello.",)), **plain)
        assert (sent_model(cheap), len(cheap.requests)) == (LIGHT.partition("/")[2], 1)
        assert "sk-client" not in str(cheap.requests[0].headers)
        assert (json.loads(own.requests[0].body)["model"], len(own.requests)) == ("claude-x", 1)
    assert b"The summary." in summary.body
    assert (summary.call.kind, summary.headers["x-ullage-target"]) == ("compaction", LIGHT)
    assert b"Own." in other.body and other.call.route is None


async def test_where_who_is_named_fails_the_client_is_told_and_nothing_is_half_written(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    routing = {"compaction": "all", "compaction_models": [LIGHT]}
    script = [Rule(fault=Fault(status=503))]
    async with FakeProvider(script) as cheap, FakeProvider() as own:
        upstreams = dict.fromkeys(DIALECTS, own.url)
        async with run_gateway(upstreams, tmp_path, **routed(cheap.url, routing=routing)) as gateway:
            request = make_request("anthropic", model="claude-x", turns=("Hello.", "Hi.", SUMMARIZE), stream=True)
            summary = await ask(gateway, client, request, **MARKS)
        assert len(own.requests) == 0
    assert summary.status == 503
    assert summary.call.outcome == "error"
