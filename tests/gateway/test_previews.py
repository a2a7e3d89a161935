"""A preview says of a session's next prompt what the request itself then does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, Came, ask, run_routed
from tests.gateway.test_control_routing import control
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, make_request

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
RULES = [{"name": "plans", "when": {"prompt_matches": "architecture"}, "then": {"only": [STRONG]}}]


class Client:
    """One session of a client, and the previews of what it asks next."""

    def __init__(self, gateway: Daemon, client: aiohttp.ClientSession) -> None:
        self._gateway = gateway
        self._client = client
        self._turns: list[str] = []

    async def preview(self, prompt: str) -> dict[str, Any]:
        status, route = await control(self._gateway, self._client, "route", prompt=prompt, session="s")
        assert status == 200
        return dict(route)

    async def ask(self, prompt: str) -> Came:
        self._turns.append(prompt)
        came = await ask(self._gateway, self._client, make_request("anthropic", model="auto", turns=list(self._turns)))
        self._turns.append("Done.")
        return came

    async def set(self, **values: Any) -> None:
        status, _ = await control(self._gateway, self._client, "route", {"action": "set", "session": "s", **values})
        assert status == 200


@pytest.mark.parametrize("policy", ["balanced", "best", "cost", "fast"])
async def test_every_turn_of_a_session_goes_where_its_preview_said(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, policy: str
) -> None:
    async with run_routed(fake, tmp_path, routing={"policy": policy}) as gateway:
        session = Client(gateway, client)
        for prompt in (EASY, HARD, EASY, f"@model:{LIGHT} {EASY}"):
            preview = await session.preview(prompt)
            came = await session.ask(prompt)
            assert came.route["target"] == preview["target"]
            assert came.route["task"]["kinds"] == preview["task"]["kinds"]


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({}, {"pin": FRONTIER}),
        ({}, {"policy": "best"}),
        ({}, {"activation": "off"}),
        ({}, {"thinking": "max"}),
        ({"pools": {"pair": {"targets": {STRONG: 1, FRONTIER: 1}}}}, {"pool": "pair"}),
        ({"rules": RULES}, {}),
    ],
    ids=["pin", "policy", "off", "thinking", "pool", "rule"],
)
async def test_a_preview_heeds_all_that_a_request_heeds(
    tmp_path: Path,
    fake: FakeProvider,
    client: aiohttp.ClientSession,
    settings: dict[str, Any],
    values: dict[str, Any],
) -> None:
    async with run_routed(fake, tmp_path, routing={"policy": "cost", **settings}) as gateway:
        session = Client(gateway, client)
        await session.ask(EASY)
        if values:
            await session.set(**values)
        preview = await session.preview(HARD)
        came = await session.ask(HARD)
    for name in ("target", "policy", "thinking", "rule"):
        assert came.route[name] == preview[name], name


async def test_a_preview_changes_nothing(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    async with run_routed(fake, tmp_path, routing={"explore": 1.0, "classifier": {"enabled": True}}) as gateway:
        first = [await Client(gateway, client).preview(HARD) for _ in range(3)]
        assert len(fake.requests) == 0
        assert gateway.store.decisions() == [] and gateway.store.sessions() == []
    assert first[0] == first[1] == first[2]


async def test_a_session_that_is_not_known_is_at_its_beginning(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        known = await control(gateway, client, "route", prompt=f"@model:{STRONG} {EASY}", session="nobody")
        without = await control(gateway, client, "route", prompt=f"@model:{STRONG} {EASY}")
    assert known[1]["target"] == without[1]["target"] == STRONG
    assert (known[1]["session"], without[1]["session"]) == ("nobody", None)
