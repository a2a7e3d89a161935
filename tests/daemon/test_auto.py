"""`ullage auto` and its like, beside a running daemon, change what it does with the next request."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.cli.auto.routed import settings_text
from tests.daemon.process import Process
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.cli import main
from ullage.testing import FakeProvider, make_request

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
SESSION = "steered"


class User:
    """Someone at a shell beside a daemon, and with a client of it."""

    def __init__(self, process: Process, client: aiohttp.ClientSession) -> None:
        self._process = process
        self._client = client
        self._turns: defaultdict[str, list[str]] = defaultdict(list)

    async def run(self, *arguments: str, status: int = 0) -> str:
        """The output of a command, run in this process: another one than the daemon's."""
        told, faults = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(faults):
            found = await asyncio.to_thread(main, [*arguments, "--data-dir", str(self._process.data_dir)])
        assert found == status, faults.getvalue()
        return told.getvalue() if status == 0 else faults.getvalue()

    async def start(self, *arguments: str) -> None:
        """A command as a process of its own, until it ends."""
        command = [sys.executable, "-m", "ullage", *arguments, "--data-dir", str(self._process.data_dir)]
        await asyncio.to_thread(subprocess.run, command, stdout=subprocess.DEVNULL, check=True)

    async def tell(self, *arguments: str) -> Any:
        """What a command tells programs."""
        return json.loads(await self.run(*arguments, "--json"))

    async def ask(self, prompt: str, session: str = SESSION) -> str:
        """The target that a prompt went to, which comes next in the session; the command is run when its record is there."""
        turns = self._turns[session]
        turns.append(prompt)
        request = make_request("anthropic", model="auto", turns=list(turns))
        headers = {**request.headers, "x-ullage-session": session}
        async with self._client.post(self._process.url + request.path, data=request.body, headers=headers) as response:
            assert response.status == 200, await response.text()
            await response.read()
        turns.append("Done.")
        call = response.headers["x-ullage-request"]
        for _ in range(200):
            if any(record.id == call for record in self._process.calls()):
                return response.headers["x-ullage-target"]
            await asyncio.sleep(0.05)
        raise AssertionError("the call was never recorded")


@pytest.fixture
def config(fake: FakeProvider) -> Path:
    """The user's settings file."""
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(settings_text(fake.url))
    return file


@pytest.fixture
async def daemon(config: Path, tmp_path: Path) -> Any:
    process = Process(data_dir=tmp_path / "data")
    try:
        await process.ready()
        yield process
    finally:
        await asyncio.to_thread(process.close)


@pytest.mark.slow
async def test_what_a_user_sets_beside_it_holds_from_the_next_request_on(
    daemon: Process, client: aiohttp.ClientSession, config: Path
) -> None:
    user = User(daemon, client)
    assert await user.run("auto", "why") == "No decision yet.\n"
    assert "No task is over yet" in await user.run("outcome", "success", status=1)
    assert "No session was routed yet" in await user.run("auto", "off", status=2)

    assert await user.run("auto", "mode", "cost", "--default")
    assert await user.ask(EASY) == LIGHT

    assert (
        await user.run("auto", "pin", FRONTIER)
        == f"{FRONTIER} is pinned, from the next request on, for session {SESSION}.\n"
    )
    assert await user.ask(EASY) == FRONTIER
    told = await user.tell("auto")
    assert (told["current"], told["pin"]) == (FRONTIER, {"value": FRONTIER, "source": "session"})
    assert (await user.run("auto", "why")).startswith(f"{FRONTIER} · thinking off · policy cost\n")

    await user.run("auto", "unpin")
    await user.run("auto", "off")
    assert await user.ask(EASY) == FRONTIER
    assert "routing is off" in (await user.tell("auto", "why"))["route"]["notes"][-1]

    await user.run("auto", "on")
    await user.run("auto", "mode", "cost")
    assert (await user.tell("auto", "plan", EASY))["target"] == LIGHT
    assert await user.ask(EASY) == LIGHT

    await user.run("auto", "pool", "pair")
    assert await user.ask(EASY) in (STRONG, FRONTIER)
    await user.run("auto", "pool", "off")

    voted = await user.tell("feedback", "bad", LIGHT, "--reason", "forgot a file")
    assert (voted["target"], voted["preference"], voted["cap"]) == (LIGHT, -0.02, 0.1)
    plan = await user.tell("auto", "plan", EASY)
    assert {one["target"]: one["preference"] for one in plan["ranked"]}[LIGHT] < 0
    judged = await user.tell("outcome", "success")
    assert judged["outcome"] == "success" and judged["task"] == (await user.tell("auto", "task"))["task_id"]
    assert (await user.tell("auto", "task"))["assessment"] == "success"
    assert len((await user.tell("history"))["decisions"]) == 5
    assert 'policy = "cost"' in config.read_text() and "# how to choose" in config.read_text()


@pytest.mark.slow
async def test_votes_beside_it_send_requests_elsewhere(daemon: Process, client: aiohttp.ClientSession) -> None:
    user = User(daemon, client)
    await user.run("auto", "mode", "best", "--default")
    assert (await user.tell("auto", "plan", EASY))["target"] == LIGHT
    await asyncio.gather(*(user.start("feedback", "bad", LIGHT) for _ in range(3)))
    await user.ask(EASY)  # what was said is read beside this one
    assert await user.ask(EASY, session="another") == STRONG


async def test_the_daemon_tells_where_its_settings_are_from(
    daemon: Process, client: aiohttp.ClientSession, config: Path
) -> None:
    token = (daemon.data_dir / "token").read_text()
    headers = {"authorization": f"Bearer {token}"}
    async with client.get(f"{daemon.url}/ullage/v1/config", headers=headers) as response:
        told = await response.json()
    assert told["sources"]["routing.policy"] == {"kind": "user", "file": str(config), "line": 6}
    assert told["sources"]["server.port"] == {"kind": "flag", "flag": "--port"}
    assert told["settings"]["routing"]["policy"] == "balanced"
