"""The control routes of routing, of usage, of plans and of settings; and that the document of all of them tells the truth."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, run_routed
from ullage.core.wire import DIALECTS
from ullage.daemon import Daemon
from ullage.engine.knowledge import Nothing
from ullage.gateway.control import Control
from ullage.gateway.openapi import DESCRIBED, describe
from ullage.settings import Settings
from ullage.testing import FakeProvider, make_request
from ullage.testing.gateway import run_gateway

EASY = "Rename the variable x in this line to count."
SHOWN = {"pool": "", "pools": {"pair": {"targets": {STRONG: 1, FRONTIER: 1}}}, "policy": "cost"}


async def control(
    gateway: Daemon, client: aiohttp.ClientSession, route: str, body: Any = None, **query: str
) -> tuple[int, Any]:
    """The status and the JSON of an answer; with a body it is posted."""
    url, headers = f"{gateway.url}/ullage/v1/{route}", {"authorization": f"Bearer {gateway.token_file.read_text()}"}
    if body is None:
        async with client.get(url, params=query, headers=headers) as response:
            return response.status, await response.json()
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with client.post(url, params=query, data=data, headers=headers) as response:
        return response.status, await response.json()


def code_of(answer: tuple[int, Any]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["code"]


# --- previews, and what is set ---


async def test_a_preview_is_the_route_that_the_next_request_takes_and_sends_nothing(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing=SHOWN) as gateway:
        status, route = await control(gateway, client, "route", prompt=EASY, session="s")
        assert len(fake.requests) == 0
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
    assert (status, route["target"], route["sent"]) == (200, LIGHT, False)
    assert route["target"] == came.route["target"]
    assert [one["target"] for one in route["ranked"]] == [one["target"] for one in came.route["ranked"]]
    assert EASY not in json.dumps(route)


async def test_what_is_set_holds_from_the_next_request_on_and_is_taken_back(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    turns = [EASY]
    async with run_routed(fake, tmp_path, routing=SHOWN) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        status, told = await control(gateway, client, "route", {"action": "set", "session": "s", "pin": FRONTIER})
        preview = await control(gateway, client, "route", {"action": "preview", "prompt": EASY, "session": "s"})
        turns += ["Done.", EASY]
        second = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        _, cleared = await control(gateway, client, "route", {"action": "set", "session": "s", "pin": None})
        turns += ["Done.", EASY]
        third = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
    assert (status, told["holds"]) == (200, {"pin": FRONTIER})
    assert preview[1]["target"] == FRONTIER
    assert [one.route["target"] for one in (first, second, third)] == [LIGHT, FRONTIER, LIGHT]
    assert cleared == {"session": "s", "set": {"pin": None}, "holds": {}}


@pytest.mark.parametrize(
    ("body", "code", "hint"),
    [
        ({"pin": FRONTIER.upper()}, "unknown_target", FRONTIER),
        ({"pin": "claude-opus-5"}, "unknown_target", FRONTIER),
        ({"pin": "nobody/nothing"}, "unknown_target", LIGHT),
        ({"pool": "pai"}, "unknown_pool", "pair"),
        ({"policy": "bst"}, "unknown_policy", "best"),
        ({"thinking": "hihg"}, "unknown_level", "high"),
        ({"activation": "on"}, "bad_body", "openapi"),
        ({"unknown": 1}, "bad_body", "openapi"),
        ({}, "bad_body", "policy"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_nothing_is_set(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, body: dict[str, Any], code: str, hint: str
) -> None:
    async with run_routed(fake, tmp_path, routing=SHOWN) as gateway:
        answer = await control(gateway, client, "route", {"action": "set", **body})
        assert gateway.store.route_overrides("") == {}
    assert code_of(answer) == (400, code)
    assert hint in answer[1]["error"]["hint"]


async def test_a_target_that_the_settings_forbid_is_not_pinned(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    constraints = {"model_exclude": [FRONTIER]}
    async with run_routed(fake, tmp_path, routing={"constraints": constraints}) as gateway:
        answer = await control(gateway, client, "route", {"action": "set", "pin": FRONTIER})
    assert code_of(answer) == (400, "bad_pin")


async def test_without_a_prompt_there_is_no_preview(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    assert code_of(await control(gateway, client, "route")) == (400, "no_prompt")


@pytest.mark.parametrize("images", ["foo", "-1", "1.5", "", "²", "99999999999999"])
async def test_a_number_that_is_none_is_refused(images: str, gateway: Daemon, client: aiohttp.ClientSession) -> None:
    status, answer = await control(gateway, client, "route", prompt=EASY, images=images or " ")
    assert (status, answer["error"]["code"]) == (400, "bad_number")
    assert (await control(gateway, client, "route", {"action": "preview", "prompt": EASY, "images": -1}))[0] == 400


async def test_where_nobody_may_take_it_a_preview_says_why(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    status, route = await control(gateway, client, "route", prompt=EASY)
    assert (status, route["target"], route["stop"]["code"]) == (200, None, "scope-empty")


# --- votes and judged tasks ---


async def test_a_vote_moves_the_next_decision_at_once(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        before = (await control(gateway, client, "route", prompt=EASY, session="s"))[1]
        for _ in range(6):
            body = {"vote": "bad", "target": before["target"], "session": "s", "reason": "forgot a file"}
            _, voted = await control(gateway, client, "feedback", body)
        after = (await control(gateway, client, "route", prompt=EASY, session="s"))[1]
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY, "Done.", EASY]))
        _, listed = await control(gateway, client, "feedback", limit="2")
    assert (voted["preference"], voted["cap"]) == (pytest.approx(-0.1), 0.1)
    score = {one["target"]: one["score"] for one in after["ranked"]}[before["target"]]
    assert score < before["ranked"][0]["score"]
    assert {one["target"]: one["preference"] for one in came.route["ranked"]}[before["target"]] < 0
    assert [one["reason"] for one in listed["feedback"]] == ["forgot a file"] * 2


async def test_before_a_task_is_over_nothing_is_kept_of_it(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        early = await control(gateway, client, "outcomes", {"outcome": "success"})
        vote = await control(gateway, client, "feedback", {"vote": "good"})
        kept = gateway.store.outcomes(), gateway.store.feedback()
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        status, said = await control(gateway, client, "outcomes", {"outcome": "failure"})
        _, listed = await control(gateway, client, "outcomes")
    assert code_of(early) == (404, "no_task")
    assert code_of(vote) == (404, "no_decision")
    assert kept == ([], [])
    assert (status, said["task"], said["summary"]["assessment"]) == (200, came.route["task_id"], "failure")
    assert [one["outcome"] for one in listed["outcomes"]] == ["failure"]


async def test_a_vote_on_a_target_that_there_is_not_is_refused(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        answer = await control(gateway, client, "feedback", {"vote": "good", "target": LIGHT + "x"})
    assert code_of(answer) == (400, "unknown_target")
    assert LIGHT in answer[1]["error"]["hint"]


# --- what was used, planned and set ---


async def test_usage_adds_up_by_target_session_and_day(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path, routing=SHOWN) as gateway:
        came = await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        by = {
            group: (await control(gateway, client, "usage", by=group))[1]["rows"]
            for group in ("target", "session", "day")
        }
        wrong = await control(gateway, client, "usage", by="moon")
    usage = came.call.usage
    assert usage is not None
    assert [(row["target"], row["calls"], row["output"]) for row in by["target"]] == [(LIGHT, 1, usage["output"])]
    assert [row["session"] for row in by["session"]] == ["s"]
    assert by["day"][0]["tokens"] == sum(
        usage[part] or 0 for part in ("input_fresh", "cache_read", "cache_write", "output")
    )
    assert by["day"][0]["cost_usd"] > 0
    assert code_of(wrong) == (400, "bad_by")


async def test_a_posted_request_is_planned_and_not_sent(
    fake: FakeProvider, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    built = make_request("anthropic", model="claude-opus-5", turns=["a " * 400, "b", "c " * 400, "d", "now"])
    body = b'{"request":' + built.body + b',"dialect":"anthropic","input_limit":700,"with_request":true}'
    status, plan = await control(gateway, client, "plan", body)
    assert status == 200, plan
    assert plan["status"] == "managed" and plan["excluded"]
    assert len(plan["request"]["messages"]) < 5
    assert len(fake.requests) == 0
    assert code_of(await control(gateway, client, "plan")) == (404, "bad_input")
    assert code_of(await control(gateway, client, "plan", {"request": [1]})) == (400, "bad_body")
    assert code_of(await control(gateway, client, "plan", {"request": {"x": 1}})) == (400, "bad_body")


async def test_the_settings_are_told_without_a_key(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE", "sk-secret-000")
    providers = {"mine": {"url": fake.url, "dialects": ["anthropic"], "key": "env:MINE"}}
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, providers=providers, mode="managed") as gateway:
        status, told = await control(gateway, client, "config")
    assert (status, told["settings"]["mode"], told["sources"]) == (200, "managed", {})
    assert told["settings"]["providers"]["mine"]["key"] == "env:MINE"
    assert "sk-secret" not in json.dumps(told)


async def test_quotas_are_told(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    async with run_routed(
        fake, tmp_path, routing={"quota": {"providers": {"anthropic": {"max_requests": 4}}}}
    ) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        _, told = await control(gateway, client, "quota")
    (row,) = told["providers"]
    assert (row["provider"], row["requests"], row["usage"], row["status"]) == ("anthropic", 1, 0.25, "healthy")


# --- the document ---


async def test_every_route_is_described_and_every_description_has_a_route(
    gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    status, document = await control(gateway, client, "openapi.json")
    described = {(method, path) for path, methods in document["paths"].items() for method in methods}
    names = Control(gateway.store, gateway.engine, "", Settings(), published=Nothing()).routes
    routes = [(method, name) for method in names for name in names[method]]
    assert status == 200
    assert described == {(method, f"/ullage/v1/{name}") for method, name in routes}
    assert len(DESCRIBED) == len(routes)


async def test_answers_are_as_described(tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    async with run_routed(fake, tmp_path, routing=SHOWN, mode="managed") as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto", turns=[EASY]))
        for one in DESCRIBED:
            if one.method == "get":
                query = {asked.name: EASY for asked in one.query if asked.required}
                status, answer = await control(gateway, client, one.name, **query)
                assert status == 200, (one.name, answer)
                assert set(one.answer) <= answer.keys(), one.name


def test_the_document_is_whole() -> None:
    document = describe()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    references = [part.split('"')[0] for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]]
    assert set(references) <= document["components"]["schemas"].keys()


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("route", {"action": "preview", "prompt": "x"}),
        ("route", {"action": "set", "session": "s", "policy": None}),
        ("feedback", {"vote": "good", "target": LIGHT}),
        ("outcomes", {"outcome": "unknown"}),
        ("plan", {"request": {"messages": []}, "input_limit": 5}),
        ("pins", {"action": "add", "text": "Use pnpm.", "session": "s"}),
        ("memory", {"action": "expire", "id": "mem_1"}),
    ],
)
def test_bodies_are_as_described(route: str, body: dict[str, Any]) -> None:
    operation = describe()["paths"][f"/ullage/v1/{route}"]["post"]
    shapes = list(shapes_of(operation["requestBody"]["content"]["application/json"]["schema"]))
    fits = [
        shape for shape in shapes if body.keys() <= shape["properties"].keys() and set(shape["required"]) <= body.keys()
    ]
    assert any(shape["properties"].get("action", {}).get("enum", [None]) == [body.get("action")] for shape in fits)
    assert all(shape["additionalProperties"] is False for shape in shapes)


def shapes_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that a schema admits."""
    if "$ref" in schema:
        yield describe()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for one in schema.get("anyOf", ()):
        yield from shapes_of(one)
