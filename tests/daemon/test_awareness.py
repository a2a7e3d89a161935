"""Model awareness live: real sockets, a provider whose way of counting we are not told, and the records read by commands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from ullage.cli.manifest import command as manifest
from ullage.core.wire import DIALECTS
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

WINDOW = 20_000
SECTIONS: dict[str, Any] = {
    "models": {"refresh": False, "overrides": {"*": {"context_window": WINDOW, "max_output_tokens": 2_000}}},
}
NEAR_THE_LIMIT = 60_000
"""Characters that make a prompt of more than 60 % of the preferred limit by any count."""


class Conversation:
    """One session that grows by a question a turn."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self._client = client
        self._messages: list[dict[str, str]] = []

    async def ask(self, url: str, *, model: str = "model-a", chars: int = 600) -> None:
        self._messages.append({"role": "user", "content": "word " * (chars // 5)})
        body = {"model": model, "messages": self._messages}
        async with self._client.post(f"{url}/v1/chat/completions", json=body) as response:
            assert response.status == 200
            answer = await response.json()
        self._messages.append({"role": "assistant", "content": answer["choices"][0]["message"]["content"]})

    def forget(self, messages: int) -> None:
        """The client drops its newest messages, as after a rewind."""
        del self._messages[-messages:]


def shown(data_dir: Path, call: str) -> dict[str, Any]:
    """What `ullage manifest --json` prints of a call."""
    result = CliRunner().invoke(manifest, [call, "--json", "--data-dir", str(data_dir)])
    assert result.exit_code == 0, result.output
    record: dict[str, Any] = json.loads(result.output)
    return record


async def live_run(tmp_path: Path, method: str) -> list[dict[str, Any]]:
    """The awareness of fourteen calls: nine turns, one near the limit and one after it, one to another model, one back, and one
    after a restart of the daemon."""
    sections = {**SECTIONS, "calibration": {"method": method, "auto_tune": True}}
    async with FakeProvider() as provider, aiohttp.ClientSession(headers={"x-ullage-session": "live"}) as client:
        upstreams = dict.fromkeys(DIALECTS, provider.url)
        talk = Conversation(client)
        async with run_gateway(upstreams, tmp_path, store="sqlite", **sections) as daemon:
            for _ in range(9):
                await talk.ask(daemon.url)
            await talk.ask(daemon.url, chars=NEAR_THE_LIMIT)
            talk.forget(2)
            await talk.ask(daemon.url)
            await talk.ask(daemon.url, model="model-b")
            await talk.ask(daemon.url)
            await asyncio.to_thread(daemon.engine.flush)
            daemon.store.flush()
            calls = [call.id for call in reversed(daemon.store.calls(limit=100))]
        async with run_gateway(upstreams, tmp_path, store="sqlite", **sections) as daemon:
            await talk.ask(daemon.url)
            await asyncio.to_thread(daemon.engine.flush)
            daemon.store.flush()
            (last,) = [call.id for call in daemon.store.calls(limit=1)]
    return [shown(tmp_path, call)["awareness"] for call in [*calls, last]]


@pytest.mark.parametrize("method", ["growth-v1", "ratio-v1"])
async def test_eight_turns_calibrate_a_ninth_expands_a_large_one_withdraws_and_models_stay_apart(
    tmp_path: Path, method: str
) -> None:
    seen = await live_run(tmp_path, method)
    *_, eighth, ninth, large, after, other, back, restarted = seen

    assert [one["calibration"]["accepted"] for one in seen[:9]] == list(range(9))
    assert seen[2]["calibration"]["calibrated"] is False and seen[3]["calibration"]["calibrated"] is True
    assert eighth["auto_tune"]["status"] == "insufficient-samples"
    assert ninth["auto_tune"]["status"] == large["auto_tune"]["status"] == "expanded"
    assert after["auto_tune"]["status"] == "no-headroom"
    assert after["auto_tune"]["high_watermark"] > 0.6 * after["auto_tune"]["target"]
    assert ninth["adaptive"]["history"]["resolved"] > seen[0]["adaptive"]["history"]["resolved"]

    assert other["calibration"]["accepted"] == 0 and other["calibration"]["applied_ratio"] == 1.0
    assert other["switch"]["cache_disposition"] == "cold-model-switch"
    assert back["calibration"]["accepted"] == after["calibration"]["accepted"] + 1
    assert (back["switch"]["profile_reused"], back["switch"]["previous"][-8:]) == (True, "/model-b")
    assert restarted["calibration"]["accepted"] == back["calibration"]["accepted"] + 1
    assert restarted["switch"]["switched"] is False


async def test_limits_follow_the_last_usage_of_the_session_and_the_ratio_where_there_is_none(tmp_path: Path) -> None:
    """The default: the line goes through the call before, within one model and one run of the daemon."""
    seen = await live_run(tmp_path, "growth-v1")
    first, *_, after, other, back, restarted = seen
    assert {one["calibration"]["estimator"] for one in seen} == {"wire-v1"}
    assert [index for index, one in enumerate(seen) if "slope" not in one["calibration"]] == [0, 11, 12, 13]
    assert (first["budget"]["ratio"], other["budget"]["ratio"]) == (1.0, 1.0)
    for one in (back, restarted):
        assert one["budget"]["ratio"] == max(1.0, one["calibration"]["applied_ratio"])
    assert after["budget"]["offset"] == pytest.approx(after["calibration"]["offset"], abs=1e-5)
