"""Several targets for one request, over real sockets: the scripts of the routing specification, section 19."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, Came, ask, know_targets, override, run_routed
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import Exchange, FakeProvider, Fault, Reply, Rule, make_request, make_tools
from ullage.testing.script import ToolUse

HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."
ORDER = [FRONTIER, STRONG, LIGHT]
"""How `auto` ranks the three for that prompt."""
A, B, C = (target.partition("/")[2] for target in ORDER)

DOWN = Fault(status=503)
THINKING = Reply(thinking="Let me think about this for a while.", text="Done.")
CALL = Reply(tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),))
FORMS = [False, True]


@contextlib.asynccontextmanager
async def run(fake: FakeProvider, tmp_path: Path, **failover: Any) -> AsyncIterator[Daemon]:
    async with run_routed(fake, tmp_path, routing={"failover": failover}) as gateway:
        yield gateway


async def go(
    gateway: Daemon,
    client: aiohttp.ClientSession,
    dialect: Dialect = "anthropic",
    *,
    stream: bool = False,
    session: str = "s",
    turns: Any = (HARD,),
    **headers: str,
) -> Came:
    request = make_request(dialect, model="auto", turns=turns, stream=stream, tools=make_tools(1))
    return await ask(gateway, client, request, session, **headers)


def asked(fake: FakeProvider) -> list[str]:
    """The models that were asked, in order."""
    return [json.loads(one.body).get("model") or one.target for one in fake.requests]


def tried(came: Came) -> list[tuple[str, Any, Any]]:
    return [(one["target"], one["status"], one["failure"]) for one in came.route["attempts"]]


def said(came: Came) -> str:
    """The words of an Anthropic answer, streamed or not."""
    if came.headers["content-type"].startswith("text/event-stream"):
        events = [json.loads(line[6:]) for line in came.body.decode().splitlines() if line.startswith("data: ")]
        return "".join(one["delta"].get("text", "") for one in events if one["type"] == "content_block_delta")
    return "".join(block.get("text", "") for block in json.loads(came.body)["content"])


@pytest.mark.parametrize("stream", FORMS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_next_target_answers_where_one_is_down(
    dialect: Dialect, stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(model=A, fault=DOWN), THINKING]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, dialect, stream=stream, x_ullage_trace="1")
        later = await go(gateway, client, dialect, stream=stream)
    assert came.status == 200 and b"Done." in came.body
    assert (came.headers["x-ullage-target"], came.headers["x-ullage-attempts"]) == (ORDER[1], "2")
    assert "retry failover" in came.headers["x-ullage-route"] and ORDER[1] in came.headers["x-ullage-why"]
    assert tried(came) == [(ORDER[0], 503, "server"), (ORDER[1], 200, None)]
    assert [one["committed"] for one in came.route["attempts"]] == [False, True]
    # A repeated prompt is asked of the one that answered.
    assert (later.route["target"], later.headers["x-ullage-attempts"]) == (ORDER[1], "1")


async def test_a_task_stays_with_the_target_that_answered(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Rule(model=A, fault=DOWN), CALL]) as fake, run(fake, tmp_path) as gateway:
        first = await go(gateway, client)
        loop = await go(gateway, client, turns=(HARD, Exchange(tool="bash", arguments={"command": "ls"})))
    assert [one.route["target"] for one in (first, loop)] == [ORDER[1]] * 2
    assert (first.route["reason"], loop.route["reason"], loop.route["kept"]) == ("user", "continuation", True)
    assert first.route["task_id"] == loop.route["task_id"]
    assert asked(fake) == [A, B, B]


async def test_thinking_of_a_target_that_fails_is_never_shown(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    broken = Rule(model=A, reply=Reply(thinking="My secret thoughts.", text="No."), fault=Fault(error_event=4))
    async with FakeProvider([broken, Reply(text="Yes.")]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, stream=True)
    assert (said(came), b"secret" in came.body) == ("Yes.", False)
    assert tried(came)[0] == (ORDER[0], 200, "server")


async def test_what_the_client_has_seen_is_never_said_again(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    broken = Rule(model=A, reply=Reply(text="He " * 40), fault=Fault(error_event=30))
    async with FakeProvider([broken, Reply(text="Yes.")]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, stream=True)
        assert asked(fake) == [A]
    assert said(came).startswith("He ") and b"event: error" in came.body
    assert tried(came) == [(ORDER[0], 200, "server")]
    assert came.call.outcome == "error"


async def test_a_call_of_a_tool_that_breaks_off_is_not_made_by_another(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    broken = Rule(model=A, reply=CALL, fault=Fault(error_event=3))
    async with FakeProvider([broken, CALL]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, stream=True)
        assert asked(fake) == [A]
    assert came.body.count(b"tool_use") == 1 and b"event: error" in came.body


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_a_refusal_that_nobody_else_can_mend_is_passed_on(
    status: int, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    refusal = Fault(status=status, message="Not like this.")
    async with FakeProvider([Rule(model=A, fault=refusal)]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client)
        assert asked(fake) == [A]
    assert (came.status, json.loads(came.body)["error"]["message"]) == (status, "Not like this.")
    assert came.headers["x-ullage-attempts"] == "1"


async def test_a_signature_of_another_model_is_a_reason_to_ask_another(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Complaint C10: and none to leave the target alone."""
    refusal = Fault(status=400, message="messages.1.content.0: Invalid `signature` in `thinking` block")
    async with FakeProvider([Rule(model=A, fault=refusal)]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client)
        assert gateway.engine.health.report(came.call.created_ms) == []
    assert (came.status, tried(came)[0]) == (200, (ORDER[0], 400, "signature"))


async def test_open_circuits_take_no_attempt(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    limited = Fault(status=429, retry_after_s=300)
    async with FakeProvider([Rule(model=A, times=1, fault=limited)]) as fake, run(fake, tmp_path) as gateway:
        first = await go(gateway, client)
        other = await go(gateway, client, session="other")
        [circuit] = gateway.engine.health.report(other.call.created_ms)
        assert asked(fake) == [A, B, B]
    assert first.headers["x-ullage-attempts"] == "2"
    assert (other.route["target"], other.headers["x-ullage-attempts"]) == (ORDER[1], "1")
    assert [(one["target"], one["code"]) for one in other.route["excluded"]] == [(ORDER[0], "circuit-open")]
    assert circuit["state"] == "open"
    assert 290_000 < circuit["retry_at_ms"] - first.call.created_ms < 310_000


@pytest.mark.parametrize("stream", FORMS)
async def test_where_all_fail_the_client_gets_the_last_error(
    stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    rules = [
        Rule(model=A, fault=DOWN),
        Rule(model=B, fault=Fault(status=500)),
        Rule(model=C, fault=Fault(status=529, message="Overloaded.")),
    ]
    async with FakeProvider(rules) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, stream=stream)
        assert asked(fake) == [A, B, C]
        again = await go(gateway, client, stream=stream)
        assert len(fake.requests) == 6
    assert (came.status, again.status) == (529, 529)
    assert json.loads(came.body)["error"]["message"] == "Overloaded."
    assert (came.headers["x-ullage-target"], came.headers["x-ullage-attempts"]) == (ORDER[2], "3")
    assert [one[1:] for one in tried(came)] == [(503, "server"), (500, "server"), (529, "server")]


async def test_no_more_targets_are_asked_than_is_set(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """Complaint C30: retries never multiply."""
    async with FakeProvider([Rule(fault=DOWN)]) as fake, run(fake, tmp_path, max_attempts=2) as gateway:
        came = await go(gateway, client)
        assert asked(fake) == [A, B]
    assert (came.status, came.headers["x-ullage-attempts"]) == (503, "2")


@pytest.mark.parametrize("stream", FORMS)
async def test_a_target_that_is_silent_is_given_up(stream: bool, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    silent = Rule(model=A, reply=THINKING, fault=Fault(stall_after=300))
    async with FakeProvider([silent, Rule(reply=Reply(text="Yes."))]) as fake:
        async with run(fake, tmp_path, first_output_timeout_ms=200) as gateway:
            came = await go(gateway, client, stream=stream)
    assert said(came) == "Yes."
    assert tried(came) == [(ORDER[0], 200, "timeout"), (ORDER[1], 200, None)]


async def test_a_model_that_thinks_for_long_is_passed_on(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before clients give up waiting for the head of an answer."""
    monkeypatch.setattr("ullage.gateway.attempts.HOLD_MS", 50)
    thinks = Rule(reply=Reply(thinking="Let me think. " * 20, text="Done."), fault=Fault(pause_ms=10))
    async with FakeProvider([thinks]) as fake, run(fake, tmp_path) as gateway:
        request = make_request("anthropic", model="auto", turns=(HARD,), stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            begun = await response.content.readany()
            assert not fake.requests[0].finished
            rest = await response.read()
    assert b"Let me think" in begun and b"Done." in begun + rest


async def test_where_all_are_silent_that_is_said(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Rule(fault=Fault(delay_ms=5_000))]) as fake:
        async with run(fake, tmp_path, first_output_timeout_ms=40, max_attempts=2) as gateway:
            came = await go(gateway, client)
    assert (came.status, json.loads(came.body)["error"]["code"]) == (504, "first_output_timeout")


@pytest.mark.parametrize("stream", FORMS)
async def test_a_request_that_takes_too_long_is_over(
    stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(fault=Fault(delay_ms=30_000))]) as fake:
        async with run(fake, tmp_path, request_timeout_ms=300) as gateway:
            know_targets(gateway)
            came = await go(gateway, client, stream=stream)
            assert asked(fake) == [A]
    assert (came.status, json.loads(came.body)["error"]["code"]) == (504, "request_timeout")
    assert came.headers["x-ullage-attempts"] == "1"


async def test_a_request_that_takes_too_long_is_cut_in_the_middle_of_its_answer(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    slow = Rule(reply=Reply(text="word " * 200), fault=Fault(pause_ms=10))
    async with FakeProvider([slow]) as fake, run(fake, tmp_path, request_timeout_ms=400) as gateway:
        know_targets(gateway)
        request = make_request("anthropic", model="auto", turns=(HARD,), stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            assert response.status == 200
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        assert await asyncio.to_thread(gateway.engine.flush)
        call = gateway.store.find_call(response.headers["x-ullage-request"])
        assert call is not None and call.route is not None
        assert (call.outcome, call.warnings) == ("cut", ("request_timeout",))
        assert gateway.engine.health.report(call.created_ms) == []
        assert len(fake.requests) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", FORMS)
async def test_an_error_of_ours_is_one_in_the_clients_dialect(
    dialect: Dialect, stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Rule(fault=Fault(hang_up=True))]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, dialect, stream=stream)
        assert len(fake.requests) == 3
    error = json.loads(came.body)["error"]
    assert (came.status, error["type"]) == (502, "ullage_error")
    assert came.headers["x-ullage-attempts"] == "3"
    assert [one[1:] for one in tried(came)] == [(None, "connection")] * 3
    assert came.call.warnings[-1] == "upstream_closed"


async def test_an_error_within_streams_comes_with_its_status(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """So that a client sees it as it sees others, and may try again."""
    overloaded = Rule(fault=Fault(error_event=1, error_event_status=429))
    async with FakeProvider([overloaded]) as fake, run(fake, tmp_path, max_attempts=2) as gateway:
        came = await go(gateway, client, stream=True)
    error = json.loads(came.body)["error"]
    assert (came.status, error["code"]) == (429, "upstream_error")
    assert error["message"].startswith(f"ullage: {ORDER[1]} failed: ")


@pytest.mark.parametrize("fault", [Fault(empty=True), Fault(html=True), Fault(end_after_events=1), Fault(only_pings=3)])
async def test_an_answer_that_is_none_is_a_failure(fault: Fault, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Rule(model=A, fault=fault), Reply(text="Yes.")]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client, stream=True)
    assert said(came) == "Yes."


async def test_an_answer_that_cannot_be_read_is_quoted_nowhere(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    half = Rule(reply=Reply(text="My half answer."), fault=Fault(malformed_event=0))
    async with FakeProvider([half]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client)
    assert (came.status, came.headers["x-ullage-attempts"]) == (503, "3")
    assert b"could not be read" in came.body and b"half" not in came.body


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_compressed_answers_are_looked_at_and_passed_on_as_they_are(encoding: Any, tmp_path: Path) -> None:
    broken = Rule(model=A, fault=Fault(error_event=1, encoding=encoding))
    whole = Rule(model=B, reply=THINKING, fault=Fault(encoding=encoding))
    async with FakeProvider([broken, whole]) as fake, run(fake, tmp_path) as gateway, aiohttp.ClientSession() as client:
        came = await go(gateway, client, stream=True, accept_encoding=encoding)
    assert said(came) == "Done."
    assert came.headers["content-encoding"] == encoding


async def test_a_pinned_target_is_not_left(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Rule(model=A, fault=DOWN)]) as fake, run(fake, tmp_path) as gateway:
        override(gateway, "pin", ORDER[0])
        came = await go(gateway, client)
        assert asked(fake) == [A]
    assert (came.status, tried(came)) == (503, [(ORDER[0], 503, "server")])


async def test_a_client_that_leaves_ends_the_attempts(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    rules = [Rule(model=A, fault=DOWN), Rule(model=B, fault=Fault(delay_ms=10_000))]
    async with FakeProvider(rules) as fake, run(fake, tmp_path) as gateway:
        request = make_request("anthropic", model="auto", turns=(HARD,))
        sending = asyncio.create_task(
            client.post(gateway.url + request.path, data=request.body, headers=request.headers)
        )
        async with asyncio.timeout(10):
            while len(fake.requests) < 2:
                await asyncio.sleep(0.01)
            sending.cancel()
            while not gateway.store.calls():
                await asyncio.sleep(0.01)
        [call] = gateway.store.calls()
        assert asked(fake) == [A, B]
    assert call.outcome == "left" and call.route is not None
    assert [one["target"] for one in call.route["attempts"]] == ORDER[:2]


async def test_where_all_circuits_are_open_the_client_is_told_when_to_come_back(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    limited = Rule(fault=Fault(status=429, retry_after_s=120))
    async with FakeProvider([limited]) as fake, run(fake, tmp_path) as gateway:
        first = await go(gateway, client)
        second = await go(gateway, client, session="other")
        assert len(fake.requests) == 3
    assert (first.status, first.headers["retry-after"]) == (429, "120")
    assert (second.status, json.loads(second.body)["error"]["code"]) == (503, "circuits-open")
    assert 100 < int(second.headers["retry-after"]) <= 121
    assert second.headers["x-ullage-attempts"] == "0"


async def test_failed_attempts_count_for_quotas(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with FakeProvider([Rule(model=A, fault=DOWN)]) as fake, run(fake, tmp_path) as gateway:
        came = await go(gateway, client)
        [quota] = gateway.engine.quotas.report(came.call.created_ms)
    assert quota["requests"] == 2
