"""Managed mode over real sockets: what the provider gets, what the client is told, what is recorded."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.stores import CallRecord
from ullage.testing import FakeProvider, make_request, make_tools, make_turns
from ullage.testing.builders import Exchange
from ullage.testing.gateway import run_gateway

WINDOW = 12_000
SMALL: dict[str, Any] = {
    "mode": "managed",
    "models": {"refresh": False, "overrides": {"*": {"context_window": WINDOW, "max_output_tokens": 1_000}}},
}
KEYS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}


def long_request(dialect: Dialect, turns: int = 60, *, stream: bool = False) -> Any:
    return make_request(dialect, turns=make_turns(turns, 1_500), tools=make_tools(2), system="Be brief.", stream=stream)


async def record(daemon: Daemon, request: str) -> CallRecord:
    assert await asyncio.to_thread(daemon.engine.flush)
    assert daemon.store.flush()
    found = daemon.store.find_call(request)
    assert found is not None
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_that_does_not_fit_is_sent_with_its_newest_turns(
    dialect: Dialect, stream: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request(dialect, stream=stream)
    theirs = json.loads(request.body)[KEYS[dialect]]
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert response.status == 200
            await response.read()
        call = await record(gateway, response.headers["x-ullage-request"])
    sent = json.loads(fake.requests[0].body)
    messages = sent[KEYS[dialect]]
    assert 0 < len(messages) < len(theirs)
    assert messages[-1] == theirs[-1]
    assert all(message in theirs for message in messages)
    assert {key: value for key, value in sent.items() if key != KEYS[dialect]} == {
        key: value for key, value in json.loads(request.body).items() if key != KEYS[dialect]
    }
    assert response.headers["x-ullage-plan"] == "managed"
    assert response.headers["x-ullage-attempts"] == "1"
    assert response.headers["x-ullage-session"] == call.session
    assert 0 < int(response.headers["x-ullage-input-estimate"]) < WINDOW
    assert call.plan is not None
    assert call.plan["status"] == "managed"
    assert call.plan["messages"]["total"] == len(theirs)
    assert call.plan["tokens"] <= call.plan["limit"] < WINDOW
    if (dialect, stream) != ("openai-chat", True):  # where usage comes only if it is asked for
        assert call.sample is not None and call.usage is not None
        assert call.usage["input_fresh"] < WINDOW


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_request_that_fits_is_sent_byte_for_byte(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request(dialect, turns=3)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert response.headers["x-ullage-plan"] == "unchanged"
    assert fake.requests[0].body == request.body


async def test_a_compressed_request_is_sent_plain_once_it_was_changed(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    long, short = long_request("anthropic"), long_request("anthropic", turns=3)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for request in (long, short):
            headers = {**request.headers, "content-encoding": "gzip"}
            body = gzip.compress(request.body)
            async with client.post(gateway.url + request.path, data=body, headers=headers) as response:
                assert response.status == 200
    changed, same = fake.requests
    assert json.loads(changed.body)["model"]
    assert "content-encoding" not in {name.decode().lower() for name, _ in changed.headers}
    assert gzip.decompress(same.body) == short.body


@pytest.mark.parametrize(
    ("mode", "planned"), [("observe", False), ("managed", True), ("OBSERVE", False), ("off", False), (" Off ", False)]
)
async def test_a_header_chooses_the_mode_of_one_request(
    mode: str, planned: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request("openai-chat")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        headers = {**request.headers, "x-ullage-mode": mode}
        async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
            assert ("x-ullage-plan" in response.headers) == planned
            assert "x-ullage-warning" not in response.headers
    assert (fake.requests[0].body == request.body) != planned


@pytest.mark.parametrize("mode", ["observe", "managed"])
async def test_an_unknown_mode_changes_nothing_and_is_told(
    mode: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request("openai-chat")
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **{**SMALL, "mode": mode}) as gateway:
        headers = {**request.headers, "x-ullage-mode": "manged"}
        async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
            assert ("x-ullage-plan" in response.headers) == (mode == "managed")
            warning = response.headers["x-ullage-warning"]
        async with client.post(f"{gateway.url}/v1/chat/completions", data=b"no json", headers=headers) as response:
            assert response.headers["x-ullage-warning"] == warning
    assert "'manged'" in warning and "observe" in warning and "managed" in warning


async def test_observing_stays_the_default(gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession) -> None:
    request = long_request("anthropic")
    async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
        assert "x-ullage-plan" not in response.headers
    assert fake.requests[0].body == request.body


async def test_without_a_known_window_nothing_is_left_out(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = long_request("anthropic")
    sections: dict[str, Any] = {"mode": "managed", "models": {"refresh": False}}
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        headers = {**request.headers, "x-ullage-trace": "1"}
        async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
            assert response.headers["x-ullage-plan"] == "unchanged"
            assert response.headers["x-ullage-why"] == "window_unknown"
    assert fake.requests[0].body == request.body


async def test_what_cannot_be_read_is_refused_in_the_clients_dialect(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        async with client.post(f"{gateway.url}/v1/messages", data=b"no json") as response:
            assert response.status == 400
            error = (await response.json())["error"]
        call = await record(gateway, response.headers["x-ullage-request"])
    assert error["code"] == "unreadable_request" and error["hint"]
    assert not len(fake.requests)
    assert call.outcome == "answered"


async def test_a_fault_of_ours_sends_the_clients_own_request(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a fault of ours")

    request = long_request("anthropic")
    monkeypatch.setattr("ullage.engine.managing.plan_live", fail)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert (response.status, response.headers["x-ullage-plan"]) == (200, "fallback")
        call = await record(gateway, response.headers["x-ullage-request"])
    assert fake.requests[0].body == request.body
    assert "accounting_failed" in call.warnings


async def test_a_session_goes_on_from_what_was_sent(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """The client's history grows; what is sent does not, and its prompt is still expected rightly."""
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        calls = []
        for turns in range(41, 60, 2):
            request = long_request("openai-chat", turns=turns)
            headers = {**request.headers, "x-ullage-session": "s"}
            async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
                await response.read()
            calls.append(await record(gateway, response.headers["x-ullage-request"]))
        happened = {event.kind for event in gateway.store.events("s")}
    assert {call.session for call in calls} == {"s"}
    assert all(call.plan is not None and call.plan["tokens"] <= call.plan["limit"] for call in calls)
    assert not happened & {"branch", "rewrite"}
    prompts = [sum(call.usage[part] or 0 for part in ("input_fresh", "cache_read")) for call in calls if call.usage]
    assert max(prompts) < WINDOW


async def control(client: aiohttp.ClientSession, daemon: Daemon, route: str, **members: Any) -> dict[str, Any]:
    token = daemon.token_file.read_text().strip()
    headers = {"authorization": f"Bearer {token}"}
    async with client.post(f"{daemon.url}/ullage/v1/{route}", json=members, headers=headers) as response:
        told: dict[str, Any] = await response.json()
        assert response.status in (200, 201), told
    return told


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_pin_stands_before_the_request_with_the_same_bytes_through_its_turn(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    secret_word = "always-use-pnpm-marker"
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        await control(client, gateway, "pins", action="add", text=secret_word, scope="session", session="s")
        calls = []
        for steps in range(4):
            turns = (*make_turns(40, 1_500), "Do it.", *(Exchange(result=f"step {number}") for number in range(steps)))
            request = make_request(dialect, turns=turns, tools=make_tools(2))
            headers = {**request.headers, "x-ullage-session": "s"}
            async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
                await response.read()
            calls.append(await record(gateway, response.headers["x-ullage-request"]))
    sent = [json.loads(received.body)[KEYS[dialect]] for received in fake.requests]
    assert len(sent) == 4
    # What of older turns is sent before it may change as the turn grows; from the pin on nothing does.
    turns_sent = []
    for messages in sent:
        (place,) = [number for number, message in enumerate(messages) if secret_word in json.dumps(message)]
        turns_sent.append(messages[place:])
    assert len(turns_sent[0]) == 2 and "Do it." in json.dumps(turns_sent[0][1])
    for number, (before, after) in enumerate(itertools.pairwise(turns_sent)):
        assert after[: len(before)] == before
        assert f"step {number}" in json.dumps(after[-1])
    for call in calls:
        assert call.plan is not None
        assert [one["kind"] for one in call.plan["supplements"]] == ["pin"]
        assert secret_word not in json.dumps(call.plan)


async def test_a_remembered_claim_comes_with_a_request_that_it_is_about(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for claim in ("The build runner is vitest.", "The deploy target is fly.io."):
            await control(client, gateway, "memory", action="add", text=claim, scope="project", project="/p")
        body = {"model": "m", "messages": [{"role": "user", "content": "Which build runner do we use?"}]}
        for project, status in (("/p", "managed"), ("/other", "unchanged")):
            headers = {"x-ullage-project": project, "x-ullage-session": project}
            async with client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
                assert response.headers["x-ullage-plan"] == status
    memory, question = json.loads(fake.requests[0].body)["messages"]
    assert "vitest" in memory["content"] and "fly.io" not in memory["content"]
    assert question == body["messages"][0]


@pytest.mark.parametrize("placement", ["stable-prefix", "hybrid"])
async def test_memories_at_the_prefix_have_the_same_bytes_in_every_turn_that_gets_them(
    placement: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Whatever their scores are and whichever is the best: or else each turn writes its cache anew."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    claims = ("The build runner is vitest.", "The deploy target of the build is fly.io.")
    sections = {**SMALL, "planning": {"placement": placement}}
    reports = []
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        for claim in claims:
            await control(client, gateway, "memory", action="add", text=claim, scope="project", project="/p")
        for asked in ("Which runner does the build use?", "What is the deploy target of the build?"):
            messages += [{"role": "user", "content": asked}]
            headers = {"x-ullage-project": "/p", "x-ullage-session": "s"}
            body = {"model": "m", "messages": messages}
            async with client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
                assert response.headers["x-ullage-plan"] == "managed"
            reports.append((await record(gateway, response.headers["x-ullage-request"])).plan)
            messages += [{"role": "assistant", "content": "That one."}]
    first, second = (json.loads(received.body)["messages"] for received in fake.requests)
    assert len(first) == 4 and second[: len(first)] == first
    scores = [{one["id"]: one["score"] for one in report["supplements"]} for report in reports if report]
    assert len(scores) == 2 and scores[0].keys() == scores[1].keys() and scores[0] != scores[1]


async def test_a_large_result_of_an_old_turn_is_sent_as_a_reference_and_kept(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    log = "".join(f"line {number}: all is well here\n" for number in range(3_000)) + "ERROR: the disk is full\n"
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Run the build."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": log},
        {"role": "assistant", "content": "It failed."},
        {"role": "user", "content": "Why?"},
    ]
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        body = {"model": "m", "messages": messages}
        headers = {"x-ullage-session": "s"}
        async with client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
            assert response.headers["x-ullage-plan"] == "managed"
        call = await record(gateway, response.headers["x-ullage-request"])
        kept = gateway.store.artifacts("s")
    sent = json.loads(fake.requests[0].body)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert len(sent[2]["content"]) < len(log) / 2
    assert "the disk is full" in sent[2]["content"]
    assert sent[:2] + sent[3:] == messages[:2] + messages[3:]
    assert call.plan is not None and len(call.plan["replaced"]) == 1
    assert [record.chars for record in kept] == [len(log)]
    (file,) = [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
    assert file.read_text() == log
    assert file.stat().st_mode & 0o077 == 0


async def test_the_newest_result_is_quoted_as_far_as_the_hard_limit_allows(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """A prompt may fill more than the preferred part of the window; what the model has just read is still there then."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": " ".join(f"rule {number}" for number in range(2_350))},
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "The first line.\n" + "nobody remembers the house above the river\n" * 190 + "The last line.",
        },
    ]
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        body = {"model": "m", "messages": messages}
        async with client.post(f"{gateway.url}/v1/chat/completions", json=body) as response:
            assert response.headers["x-ullage-plan"] == "emergency"
        call_record = await record(gateway, response.headers["x-ullage-request"])
    told = call_record.plan
    assert told is not None
    assert told["target_tokens"] < told["tokens"] <= told["limit"]
    sent = json.loads(fake.requests[0].body)["messages"]
    assert "The first line." in sent[-1]["content"] and "The last line." in sent[-1]["content"]


READS = {
    "prose": "nobody remembers the house above the river\n" * 1_230,
    "dense": "".join(chr(0x4E00 + number * 7 % 8_000) for number in range(15_000)),
}


@pytest.mark.parametrize("kind", READS)
async def test_the_newest_result_is_quoted_as_far_as_there_is_room_with_the_same_bytes_through_its_turn(
    kind: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """A file of 52,890 characters in a window of 12,000 tokens: a reference of the usual size leaves most of that empty."""

    def step(number: int, text: str) -> list[dict[str, Any]]:
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": text},
        ]

    messages = [{"role": "user", "content": "Read it."}, *step(0, f"The first line. {READS[kind]} The last line.")]
    plans = []
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for number in range(1, 5):
            body = {"model": "m", "messages": messages}
            headers = {"x-ullage-session": "s"}
            async with client.post(f"{gateway.url}/v1/chat/completions", json=body, headers=headers) as response:
                assert response.status == 200
            call = await record(gateway, response.headers["x-ullage-request"])
            assert call.plan is not None and call.plan["tokens"] <= call.plan["limit"]
            plans.append(call.plan)
            messages = [*messages, *step(number, "It is well. " * (10 if number < 3 else 1_500))]
    sent = [json.loads(received.body)["messages"] for received in fake.requests]
    assert (plans[0]["status"], plans[0]["tokens"] > 0.7 * plans[0]["limit"]) == ("emergency", True)
    assert "The first line." in sent[0][2]["content"] and "The last line." in sent[0][2]["content"]
    # The next calls of the turn see the same bytes for as long as they fit, and a shorter reference then, if that fits.
    assert sent[0][2] == sent[1][2] == sent[2][2]
    last = {message.get("tool_call_id"): message["content"] for message in sent[3]}
    assert ("c0" in last) == (kind == "prose")
    assert len(last.get("c0", "")) < len(sent[0][2]["content"]) / 2


async def test_the_tail_keeps_its_beginning_until_it_must_move_by_several_turns(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Design, section 7: most requests begin as the one before did, so that their prefix is read from cache."""
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        calls = []
        for turns in range(21, 81, 2):
            request = long_request("anthropic", turns=turns)
            headers = {**request.headers, "x-ullage-session": "s"}
            async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
                await response.read()
            calls.append(await record(gateway, response.headers["x-ullage-request"]))
    firsts = [json.loads(received.body)["messages"][0] for received in fake.requests]
    moves = sum(one != other for one, other in itertools.pairwise(firsts))
    assert 0 < moves <= len(firsts) / 3
    for call in calls:
        assert call.plan is not None and call.plan["cache"]["mode"] == "auto"
        assert call.plan["tokens"] <= call.plan["limit"]


async def test_a_restart_of_the_daemon_moves_no_tail(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """What is sent is byte for byte what one daemon would have sent: the provider's cache outlives ours."""
    bodies: list[list[bytes]] = []
    requests = [long_request("anthropic", turns=turns) for turns in range(31, 63, 2)]
    for restarts in (False, True):
        folder = tmp_path / str(restarts)
        waiting = list(requests)
        while waiting:
            async with run_gateway(dict.fromkeys(DIALECTS, fake.url), folder, store="sqlite", **SMALL) as gateway:
                for request in [waiting.pop(0) for _ in range(1 if restarts else len(waiting))]:
                    headers = {**request.headers, "x-ullage-session": "s"}
                    async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
                        assert response.headers["x-ullage-plan"] == "managed"
        bodies.append([received.body for received in fake.requests][-len(requests) :])
    assert bodies[0] == bodies[1]


async def test_the_tails_of_an_agent_and_its_sub_agents_do_not_move_each_other(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """They are sent in one session, in any order."""
    sizes = (1_500, 1_400, 1_600)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for turns in range(21, 61, 2):
            for size in sizes:
                request = make_request("anthropic", turns=make_turns(turns, size))
                headers = {**request.headers, "x-ullage-session": "s"}
                async with client.post(gateway.url + request.path, data=request.body, headers=headers) as response:
                    assert response.status == 200
    firsts = [json.loads(received.body)["messages"][0] for received in fake.requests]
    for number in range(len(sizes)):
        own = firsts[number :: len(sizes)]
        assert 0 < sum(one != other for one, other in itertools.pairwise(own)) <= len(own) / 3


async def test_the_rules_of_a_project_take_no_room_but_their_own(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """The rest of the turn that they came with is as old as it is."""
    rules = (
        "<system-reminder>\nCodebase and user instructions are shown below.\n\n"
        "Contents of /p/CLAUDE.md (project instructions, checked into the codebase):\n\nAlways answer in Latin.\n"
        "</system-reminder>"
    )
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": rules}, {"type": "text", "text": "Fix it."}]}
    ]

    def work(calls: int) -> None:
        for number in range(calls):
            call = {"type": "tool_use", "id": f"c{len(messages)}", "name": "run", "input": {}}
            result = {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": f"{number} of what it printed " * 100,
            }
            messages.append({"role": "assistant", "content": [call]})
            messages.append({"role": "user", "content": [result]})

    headers = {"user-agent": "claude-cli/2.1.332 (external, cli)", "x-ullage-session": "s"}
    sent: list[list[dict[str, Any]]] = []
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for calls, said in ((18, "And that."), (5, "")):
            work(calls)
            messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": said}] if said else []
            body = {"model": "m", "max_tokens": 9, "messages": messages}
            async with client.post(f"{gateway.url}/v1/messages", json=body, headers=headers) as response:
                assert response.status == 200
            sent.append(json.loads(fake.requests[-1].body)["messages"])
    first, second = sent
    assert first[0] == second[0] == messages[0]
    assert len(first) > 10 and first[1:] == messages[:39][1 - len(first) :]
    assert second[-10:] == messages[-10:]


async def test_the_rules_of_a_project_outlive_the_turn_that_they_came_with(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """anthropics/claude-code#19471: instruction files stand in a message, and leave with it unless somebody holds on to them."""
    rules = (
        "<system-reminder>\nCodebase and user instructions are shown below. Be sure to adhere to these instructions.\n\n"
        "Contents of /p/CLAUDE.md (project instructions, checked into the codebase):\n\nAlways answer in Latin.\n"
        "</system-reminder>"
    )
    request = long_request("anthropic")
    body = json.loads(request.body)
    headers = {**request.headers, "user-agent": "claude-cli/2.1.332 (external, cli)"}
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **SMALL) as gateway:
        for said, kept in (([{"type": "text", "text": rules}], True), ([], False)):
            body["messages"][0] = {"role": "user", "content": [*said, {"type": "text", "text": "Hi"}]}
            async with client.post(gateway.url + request.path, json=body, headers=headers) as response:
                assert response.headers["x-ullage-plan"] == "managed"
            sent = json.loads(fake.requests[-1].body)["messages"]
            # The words beside them have left with their answer: they would read as something that is still to be done.
            assert (sent[0] == {"role": "user", "content": said}) == kept
            assert body["messages"][0] not in sent
