"""From a request that is too large to the answer of a tool: what the gateway put aside, the server gives back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from mcp.client.client import Client

from ullage.core.wire import DIALECTS
from ullage.mcp.opening import open_tools
from ullage.mcp.server import make_server
from ullage.settings.records import Settings
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

LOG = "".join(f"step {number} took {number * 7 % 13} ms\n" for number in range(3_000))
OVERRIDES = {"*": {"context_window": 16_000, "max_output_tokens": 1_000, "safety_margin_tokens": 0}}


def request(log: str) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": log}]}
    return {
        "model": "m",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": "Build it."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": "Built."},
            {"role": "user", "content": "How long did step 2222 take?"},
        ],
    }


async def test_what_the_gateway_put_aside_can_be_searched_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    async with (
        FakeProvider() as fake,
        run_gateway(
            dict.fromkeys(DIALECTS, fake.url),
            tmp_path / "data",
            store="sqlite",
            mode="managed",
            models={"overrides": OVERRIDES},
        ) as gateway,
    ):
        headers = {"x-ullage-project": str(folder), "x-ullage-session": "s"}
        async with aiohttp.ClientSession() as session:
            answer = await session.post(f"{gateway.url}/v1/messages", json=request(LOG), headers=headers)
            assert answer.headers["x-ullage-plan"] == "managed"
            await answer.read()
        assert gateway.store.flush()
        sent = json.loads(fake.requests[0].body)["messages"][2]["content"][0]["content"][0]["text"]
    name = re.search("artifact id: (.*)", sent)
    assert name is not None
    tools = open_tools(
        Settings(),
        data_dir=tmp_path / "data",
        home=tmp_path / "home",
        folder=folder,
        clock_ms=lambda: 1_800_000_000_000,
    )
    async with Client(make_server(tools)) as client:
        found = await client.call_tool("artifact_search", {"id": name[1], "query": "step 2222 took"})
        (match,) = msgspec.json.decode(found.content[0].text)["matches"]  # type: ignore[union-attr]
        assert match["line"] == 2_223
        read = await client.call_tool("artifact_read", {"id": name[1], "line": 2_223, "lines": 1})
        lines = msgspec.json.decode(read.content[0].text)["lines"]  # type: ignore[union-attr]
        assert lines == [LOG.split("\n")[2_222]]
