"""A session for a virtual model: which requests are one task, what of pins is sent, what survives, what a failure changes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, run_routed, sent_model
from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import Exchange, FakeProvider, Fault, Rule, make_request, make_tools
from ullage.testing.script import Reply, ToolUse

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
CALLS = Rule(after_tool=None, reply=Reply(tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),)))


def texts(fake: FakeProvider, number: int) -> str:
    return fake.requests[number].body.decode()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_tool_loop_stays_with_its_target(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(CALLS)
    async with run_routed(fake, tmp_path) as gateway:
        came = []
        for calls in range(4):
            turns: list[str | Exchange] = [HARD, *[Exchange()] * calls]
            came.append(
                await ask(gateway, client, make_request(dialect, model="auto", turns=turns, tools=make_tools(1)))
            )
    assert {one.route["task_id"] for one in came} == {came[0].route["task_id"]}
    assert [one.route["reason"] for one in came] == ["user", *["continuation"] * 3]
    assert [one.route["kept"] for one in came] == [False, True, True, True]
    assert len({one.headers["x-ullage-target"] for one in came}) == 1
    assert len({one.headers.get("x-ullage-thinking") for one in came}) == 1 or dialect == "anthropic"
    assert came[1].headers["x-ullage-route"].startswith("continuation, kept; ")
    assert came[1].route["task"]["kinds"] == came[0].route["task"]["kinds"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_new_words_of_the_user_are_a_new_task(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, make_request(dialect, model="auto", turns=(HARD,)))
        second = await ask(gateway, client, make_request(dialect, model="auto", turns=(HARD, "Done.", EASY)))
    assert second.route["reason"] == "user"
    assert second.route["task_id"] != first.route["task_id"]
    assert second.route["switch"]["current"] == first.route["target"]


@pytest.mark.parametrize("words", ["continue", "继续"])
async def test_a_prompt_that_goes_on_inherits_the_task(
    words: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
        for turns in ((HARD, "Half of it.", words), (HARD, "Half of it.", words, "More.", words)):
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
            assert came.route["reason"] == "user"
    assert came.route["task"]["inherited"] == 2
    assert came.route["task"]["kinds"] == first.route["task"]["kinds"]
    assert came.route["task"]["complexity"] == pytest.approx(0.81 * first.route["task"]["complexity"], abs=1e-5)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_pins_are_never_sent(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    pinned = f"@model:{FRONTIER} {EASY}"
    histories: list[tuple[str, ...]] = [
        (pinned,),
        (pinned, "Done.", "@again-cheaper " + EASY),
        (pinned, "Done.", "@again-cheaper " + EASY, "Done.", "@high stays in the text"),
    ]
    async with run_routed(fake, tmp_path) as gateway:
        came = [await ask(gateway, client, make_request(dialect, model="auto", turns=turns)) for turns in histories]
    assert came[0].route["target"] == FRONTIER
    assert came[1].route["target"] in (STRONG, LIGHT)
    assert "@high stays in the text" in texts(fake, 2)
    for number, turns in enumerate(histories):
        body = texts(fake, number)
        assert "@model:" not in body and "@again" not in body
        plain = make_request(
            dialect,
            model="auto",
            turns=[turn.removeprefix(f"@model:{FRONTIER} ").removeprefix("@again-cheaper ") for turn in turns],
        )
        key = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
        assert json.loads(body)[key] == json.loads(plain.body)[key]


async def test_a_first_turn_behind_what_the_client_adds_is_pinned(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    reminder = "<system-reminder>\nUse tabs.\n</system-reminder>"
    request = make_request("anthropic", model="auto")
    blocks = [{"type": "text", "text": reminder}, {"type": "text", "text": f"@ultra {EASY}"}]
    body = json.dumps({**request.payload, "messages": [{"role": "user", "content": blocks}]}).encode()
    async with run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, type(request)(dialect="anthropic", path=request.path, headers={}, body=body))
    assert came.route["target"] == FRONTIER
    sent = json.loads(fake.requests[0].body)["messages"][0]["content"]
    assert [block["text"] for block in sent] == [reminder, EASY]


async def test_a_pin_that_nobody_matches_stops(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-chat", model="auto", turns=("@model:anthropic/unknown go",))
    async with run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, request)
    assert came.status == 400
    assert json.loads(came.body)["error"]["code"] == "unmatched-pin"
    assert not len(fake.requests)


async def test_a_failure_is_remembered_for_the_next_request(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(times=1, fault=Fault(status=529)))
    request = make_request("anthropic", model="auto", turns=(HARD,))
    async with run_routed(fake, tmp_path, routing={"failover": {"max_attempts": 1}}) as gateway:
        failed, again, later = [await ask(gateway, client, request) for _ in range(3)]
    assert failed.status == 529
    assert (again.status, again.route["reason"]) == (200, "retry")
    assert again.route["target"] != failed.route["target"]
    assert again.route["task_id"] == failed.route["task_id"]
    assert any("after 529" in one["reason"] for one in again.route["excluded"])
    assert any("after 529" in note for note in again.route["notes"])
    assert (later.route["target"], later.route["kept"]) == (again.route["target"], True)


async def test_a_refusal_that_is_the_requests_fault_changes_nothing(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(times=1, fault=Fault(status=400)))
    request = make_request("anthropic", model="auto", turns=(HARD,))
    async with run_routed(fake, tmp_path) as gateway:
        failed, again = [await ask(gateway, client, request) for _ in range(2)]
    assert again.route["target"] == failed.route["target"]


async def test_a_context_that_has_outgrown_its_target_moves_on(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(CALLS)
    small = {LIGHT: {"context_window": 9_000, "max_output_tokens": 2_048}}
    async with run_routed(fake, tmp_path, overrides=small, routing={"policy": "cost"}) as gateway:
        came = []
        for calls in range(4):
            turns: list[str | Exchange] = [EASY, *[Exchange(result="word " * 2_000)] * calls]
            came.append(await ask(gateway, client, make_request("openai-chat", model="auto", turns=turns)))
    assert came[0].route["target"] == LIGHT
    assert came[-1].route["target"] != LIGHT
    moved = next(one for one in came if one.route["target"] != LIGHT)
    assert moved.route["reason"] == "continuation" and not moved.route["kept"]
    assert "context window is 9,000" in moved.route["notes"][0]
    assert moved.route["task_id"] == came[0].route["task_id"]


async def test_a_restart_changes_nothing_of_a_session(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(CALLS)
    turns: list[Any] = [HARD]
    came = []
    for _ in range(3):
        async with run_routed(fake, tmp_path, store="sqlite") as gateway:
            request = make_request("anthropic", model="auto", turns=turns, tools=make_tools(1))
            came.append(await ask(gateway, client, request))
        turns.append(Exchange())
    assert [one.route["kept"] for one in came] == [False, True, True]
    assert len({one.route["task_id"] for one in came}) == 1


async def test_an_errand_of_the_client_leaves_the_session_where_it_is(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    title = make_request("anthropic", model="auto", turns=("Name this conversation.",))
    schema = {
        "format": {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"type": "string"}}}}
    }
    title = make_request("anthropic", model="auto", turns=("Name this.",), extra={"output_config": schema})
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD,)))
        errand = await ask(gateway, client, title, user_agent="claude-cli/2.1.0")
        second = await ask(gateway, client, make_request("anthropic", model="auto", turns=(HARD, "Yes.", EASY)))
    assert (errand.route["reason"], errand.route["target"], errand.call.kind) == ("helper", LIGHT, "title")
    assert second.route["switch"]["current"] == first.route["target"]


async def test_tokens_are_counted_by_the_target_of_the_session(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="auto", turns=(HARD,))
    count = type(request)(
        dialect="anthropic", path="/v1/messages/count_tokens", headers=request.headers, body=request.body
    )
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, request)
        counted = await ask(gateway, client, count)
    assert counted.status == 200 and json.loads(counted.body)["input_tokens"] > 0
    assert f"anthropic/{sent_model(fake)}" == first.route["target"]


async def test_parallel_requests_of_one_session_are_all_answered(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_routed(fake, tmp_path) as gateway:
        came = await asyncio.gather(
            *(ask(gateway, client, make_request("openai-chat", model="auto", turns=(f"{EASY} {n}",))) for n in range(8))
        )
    assert {one.status for one in came} == {200}


async def test_a_summary_that_a_provider_makes_is_made_by_the_target_of_the_session(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-responses", model="auto", turns=(HARD,))
    async with run_routed(fake, tmp_path) as gateway:
        first = await ask(gateway, client, request)
        path = gateway.url + "/v1/responses/compact"
        async with client.post(
            path, data=request.body, headers={**request.headers, "x-ullage-session": "s"}
        ) as response:
            await response.read()
            assert response.headers["x-ullage-target"] == first.route["target"]
    assert fake.requests[1].target == "/v1/responses/compact"
    assert json.loads(fake.requests[1].body)["model"] == first.route["target"].partition("/")[2]


async def test_a_target_that_cannot_be_reached_is_left_alone(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("anthropic", model="auto", turns=(HARD,))
    async with run_routed(fake, tmp_path) as gateway:
        await fake.stop()
        failed = await ask(gateway, client, request)
        await fake.start()
        again = await ask(gateway, client, request)
    assert (failed.status, again.status) == (502, 200)
    assert "after upstream_refused" in again.route["notes"][0]
    assert again.route["target"] != failed.route["target"]


async def test_what_the_last_task_was_like_weighs_in_the_next(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Routing specification, section 4.5, no. 5: tests that fail, files that were changed, a context that has grown."""
    edit = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2\n" * 99}
    calls = [
        Exchange(tool="Edit", arguments=edit, result="ok"),
        Exchange(tool="Bash", arguments={"command": "pytest"}, result="trace " * 20_000 + "\n2 failed, 9 passed in 1s"),
    ]
    turns: list[str | Exchange] = [EASY]
    async with run_routed(fake, tmp_path) as gateway:
        plain = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        for call in calls:
            turns.append(call)
            await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
        turns += ["Done.", EASY]
        after = await ask(gateway, client, make_request("anthropic", model="auto", turns=turns))
    before, terms = plain.route["task"]["terms"], after.route["task"]["terms"]
    assert {"failures", "changes", "context growth"}.isdisjoint(before)
    assert terms["failures"] == pytest.approx(0.1)
    assert terms["changes"] == pytest.approx(1 / 40 + 100 / 4_000)
    assert 0.01 < terms["context growth"] < 0.1


async def test_calls_that_were_made_are_not_expected_again(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Routing specification, section 12.4: a task that is planned anew has fewer calls left."""
    turns: list[str | Exchange] = [HARD]
    aliases = {"other": {}}
    async with run_routed(fake, tmp_path, routing={"aliases": aliases}) as gateway:
        usd = []
        for number, name in enumerate(("auto", "other", "auto", "other")):
            came = await ask(gateway, client, make_request("anthropic", model=name, turns=turns))
            usd.append({one["target"]: one["cost"]["usd"] for one in came.route["ranked"]}[FRONTIER])
            turns.append(Exchange(result=str(number)))
    assert usd == sorted(usd, reverse=True)
    assert usd[-1] < 0.9 * usd[0]
