"""`ullage route` says what the gateway does: the same settings, the same prompts, the same targets."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import aiohttp
import pytest

from ullage.cli import main
from ullage.daemon import running
from ullage.settings import load_settings
from ullage.testing import FakeProvider, make_request

MODELS = {"claude-haiku-4-5": 1, "claude-sonnet-4-5": 3, "claude-opus-5": 5}
SETTINGS = """
store.url = "memory"
server.port = 0
models.refresh = false
[providers.here]
url = "{url}"
dialects = ["openai-chat"]
models = {models}
[routing]
capability_source = "aa"
[routing.aliases.cheap]
policy = "cost"
[routing.scenarios]
review = {{ minimum_tier = "frontier" }}
"""
MODEL = """
[models.overrides."here/{name}"]
context_window = 200000
max_output_tokens = 64000
reasoning = true
input_price = {price}
output_price = {output}
[routing.targets."here/{name}"]
aa = {index}
"""
PROMPTS = [
    "Rename the variable x to count.",
    "Review this change.",
    "Debug the failing production deployment.",
    "@low hi",
]


@pytest.mark.parametrize("alias", [None, "cheap"])
async def test_the_preview_names_the_target_that_a_first_prompt_goes_to(
    alias: str | None,
    tmp_path: Path,
    fake: FakeProvider,
    client: aiohttp.ClientSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    known = [
        MODEL.format(name=name, price=price, output=5 * price, index=30 + 7 * price) for name, price in MODELS.items()
    ]
    file.write_text(SETTINGS.format(url=fake.url, models=list(MODELS)) + "".join(known))
    loaded = load_settings()
    assert loaded.problems == ()
    previewed, routed = [], []
    async with running(loaded.settings, tmp_path) as daemon:
        for number, prompt in enumerate(PROMPTS):
            await asyncio.to_thread(main, ["route", prompt, "--json", *(("--alias", alias) if alias else ())])
            report = json.loads(capsys.readouterr().out)
            previewed.append((report["target"], report["policy"], report["thinking"]))
            request = make_request("openai-chat", model=alias or "ullage/auto", turns=(prompt,))
            headers = {**request.headers, "x-ullage-session": f"s{number}"}
            async with client.post(daemon.url + request.path, data=request.body, headers=headers) as response:
                assert response.status == 200, await response.text()
                call = response.headers["x-ullage-request"]
            assert await asyncio.to_thread(daemon.engine.flush)
            record = daemon.store.find_call(call)
            assert record is not None and record.route is not None
            routed.append((record.route["target"], record.route["policy"], record.route["thinking"]))
    assert routed == previewed
    assert len({target for target, _, _ in routed}) > 1
