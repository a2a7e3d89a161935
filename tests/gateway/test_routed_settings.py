"""What the settings say of routes, seen over real sockets: names of one's own, pools, scenarios, identities, exploring."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, PRICES, STRONG, ask, override, routed, run_routed
from ullage.core.wire import DIALECTS
from ullage.engine.knowledge import Nothing
from ullage.engine.known import Known
from ullage.settings import Settings
from ullage.stores.routed import report_routed
from ullage.testing import FakeProvider, Fault, Rule, make_request
from ullage.testing.gateway import run_gateway

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."


async def test_a_name_of_ones_own_has_its_policy_scope_and_level(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    aliases = {
        "team/careful": {"policy": "best", "minimum_tier": "frontier", "thinking": "max"},
        "cheap": {"policy": "cost", "models": [LIGHT, STRONG], "thinking": "off"},
    }
    async with run_routed(fake, tmp_path, routing={"aliases": aliases}) as gateway:
        careful = await ask(gateway, client, make_request("anthropic", model="team/careful", turns=[EASY]), session="a")
        cheap = await ask(gateway, client, make_request("anthropic", model="cheap", turns=[HARD]), session="b")
    assert (careful.route["target"], careful.route["policy"], careful.route["thinking"]) == (FRONTIER, "best", "max")
    assert (cheap.route["target"], cheap.route["policy"], cheap.route["thinking"]) == (LIGHT, "cost", "off")
    assert {one["target"] for one in cheap.route["ranked"]} == {LIGHT, STRONG}


async def test_a_session_may_change_the_name_it_asks_for(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    aliases = {"careful": {"minimum_tier": "frontier"}}
    async with run_routed(fake, tmp_path, routing={"policy": "cost", "aliases": aliases}) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        again = await ask(gateway, client, make_request("anthropic", model="careful", turns=[EASY]))
    assert (first.route["target"], again.route["target"]) == (LIGHT, FRONTIER)
    assert again.route["notes"] == ["careful is asked for now"]


async def test_a_pool_is_shared_by_weight(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    pools = {"pair": {"targets": {LIGHT: 1.0, STRONG: 1.0}}}
    taken = []
    async with run_routed(fake, tmp_path, routing={"pool": "pair", "pools": pools}) as gateway:
        for number in range(6):
            came = await ask(
                gateway, client, make_request("anthropic", model="auto", turns=[EASY]), session=f"s{number}"
            )
            taken.append(came.route["target"])
    assert set(taken) <= {LIGHT, STRONG}
    assert came.route["ranked"][0]["terms"]["pool"] >= 0


@pytest.mark.parametrize("of_session", [True, False])
async def test_a_pool_that_there_is_no_more_stops_requests(
    of_session: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Routing specification, section 13: a missing pool blocks."""
    routing = {"pools": {"pair": {"targets": {LIGHT: 1.0}}}, **({} if of_session else {"pool": "pairs"})}
    async with run_routed(fake, tmp_path, routing=routing) as gateway:
        if of_session:
            override(gateway, "pool", "pairs")
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        override(gateway, "pool", "")
        left = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
    error = json.loads(came.body)["error"]
    assert (came.status, error["code"], left.status) == (400, "unknown_pool", 200)
    assert "There is no pool 'pairs'" in error["message"]
    assert "Did you mean 'pair'?" in error["hint"]
    assert ("auto pool --clear" in error["hint"]) == of_session


async def test_what_nobody_was_let_take_is_no_call_to_a_target(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    aliases = {"nobody": {"models": ["x/y"]}}
    async with run_routed(fake, tmp_path, routing={"aliases": aliases}) as gateway:
        refused = await ask(gateway, client, make_request("anthropic", model="nobody", turns=[EASY]))
        override(gateway, "pool", "pairs", session="t")
        faulty = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]), session="t")
        metrics = report_routed(gateway.store, since_ms=0, until_ms=faulty.call.created_ms + 1_000)
        seen = Known(Settings(), Nothing(), gateway.store, now_ms=faulty.call.created_ms).seen()
        session = gateway.store.find_session(refused.call.session)
    assert (refused.status, faulty.status) == (400, 400)
    assert refused.call.model is faulty.call.model is None
    assert session is not None and session.model is None
    assert (metrics["total"]["attempts"], metrics["targets"], seen) == (0, [], [])


async def test_errands_follow_their_scenario(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    schema = {
        "format": {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"type": "string"}}}}
    }
    title = make_request("anthropic", model="auto", turns=("Name this.",), extra={"output_config": schema})
    scenarios = {"background": {"only": [STRONG]}}
    async with run_routed(fake, tmp_path, routing={"scenarios": scenarios}) as gateway:
        errand = await ask(gateway, client, title, user_agent="claude-cli/2.1.0")
        mine = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
    assert (errand.route["target"], errand.route["rule"]) == (STRONG, "background")
    assert mine.route["rule"] is None


async def test_after_a_failure_the_same_model_elsewhere_goes_first(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    sections = routed(fake.url, routing={"targets": {"corp/opus": {"identity": "anthropic:claude-opus-5"}}})
    sections["providers"]["corp"] = {"url": fake.url, "dialects": list(DIALECTS), "key": "none", "models": ["opus"]}
    known = sections["models"]["overrides"]
    known["corp/opus"] = {**known[FRONTIER], "input_price": 50.0, "output_price": 250.0}
    sections["routing"]["targets"][FRONTIER] = {"identity": "anthropic:claude-opus-5"}
    sections["routing"]["policy"] = "best"
    fake.script.add(Rule(times=1, fault=Fault(status=503)))
    request = make_request("anthropic", model="auto", turns=[HARD])
    nowhere = dict.fromkeys(DIALECTS, "http://127.0.0.1:1")
    async with run_gateway(nowhere, tmp_path, **sections) as gateway:
        came = await ask(gateway, client, request)
    assert [one["target"] for one in came.route["attempts"]] == [FRONTIER, "corp/opus"]
    assert (came.status, came.route["target"]) == (200, "corp/opus")
    assert "retry failover" in came.route["notes"]


async def test_a_part_of_the_tasks_may_try_another_target(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing={"explore": 1.0, "policy": "cost"}) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
    chances = came.route["propensities"]
    assert chances[came.route["target"]] > 0
    assert sum(chances.values()) == pytest.approx(1)
    assert set(chances) <= set(PRICES)


async def test_where_routing_is_switched_off_the_name_is_one_like_any_other(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="auto", turns=[EASY])
    async with run_gateway(
        dict.fromkeys(DIALECTS, fake.url), tmp_path, **routed(fake.url, routing={"enabled": False})
    ) as gateway:
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert "x-ullage-route" not in response.headers
    assert fake.requests[0].body == request.body
