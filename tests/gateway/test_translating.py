"""Clients answered by a target of another protocol, over real sockets: what is sent, told, recorded and refused."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from tests.faults.rig import words
from tests.gateway.routes import ask, know_targets, override
from ullage.core.content import Usage
from ullage.core.translation import Terms, TranslatedRequest
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.engine import Endpoint
from ullage.engine.exchange import Exchange
from ullage.gateway.translating import TranslatedAnswer
from ullage.testing import Exchange as ToolLoop
from ullage.testing import FakeProvider, Fault, Reply, Rule, ToolUse, make_request, make_tools
from ullage.testing.gateway import run_gateway

MODELS: dict[Dialect, str] = {
    "openai-chat": "deepseek-chat",
    "openai-responses": "gpt-5.2",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
}
TARGETS = {dialect: f"at-{dialect}/{model}" for dialect, model in MODELS.items()}
KNOWN = {"context_window": 200_000, "max_output_tokens": 64_000, "images": True, "reasoning": True}
PRICES = {"input_price": 1.0, "output_price": 5.0, "cache_read_price": 0.1, "cache_write_price": 1.25}
HELLO = ("Hello.",)


@contextlib.asynccontextmanager
async def speaking(
    fake: FakeProvider, tmp_path: Path, *dialects: Dialect, facts: Mapping[str, Any] = KNOWN, **sections: Any
) -> AsyncIterator[Daemon]:
    """A gateway with a provider for each dialect, which speaks nothing else."""
    known = {TARGETS[dialect]: {**facts, **PRICES} for dialect in dialects}
    providers = {
        f"at-{dialect}": {"url": fake.url, "dialects": [dialect], "key": "none", "models": [MODELS[dialect]]}
        for dialect in dialects
    }
    plain = {"models": {"refresh": False, "overrides": known}, "providers": providers, **sections}
    async with run_gateway(dict.fromkeys(DIALECTS, "http://127.0.0.1:1"), tmp_path, **plain) as gateway:
        yield gateway


def sent(fake: FakeProvider, number: int = -1) -> dict[str, Any]:
    """What the provider got."""
    body: dict[str, Any] = json.loads(fake.requests[number if number >= 0 else len(fake.requests) + number].body)
    return body


async def test_a_target_gets_what_its_protocol_expects_and_nothing_of_the_clients_own(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "ours")
    async with FakeProvider() as fake:
        providers = {
            "other": {
                "url": fake.url,
                "dialects": ["anthropic"],
                "key": "env:OTHER_KEY",
                "models": ["claude-haiku-4-5"],
            }
        }
        known = {"other/claude-haiku-4-5": KNOWN | PRICES}
        sections: dict[str, Any] = {"providers": providers, "models": {"refresh": False, "overrides": known}}
        async with run_gateway(dict.fromkeys(DIALECTS, "http://127.0.0.1:1"), tmp_path, **sections) as gateway:
            request = make_request("openai-chat", model="auto", turns=HELLO, stream=True)
            private = {
                "authorization": "Bearer theirs",
                "openai-organization": "org",
                "cookie": "c=1",
                "user-agent": "app/1",
            }
            came = await ask(gateway, client, request, **private)
        assert came.status == 200, came.body
        received = fake.requests[0]
    assert came.status == 200
    assert (received.method, received.target) == ("POST", "/v1/messages")
    names = {name.decode().lower(): value.decode() for name, value in received.headers}
    assert {key: names[key] for key in ("x-api-key", "anthropic-version", "accept", "user-agent")} == {
        "x-api-key": "ours",
        "anthropic-version": "2023-06-01",
        "accept": "text/event-stream",
        "user-agent": "app/1",
    }
    assert not names.keys() & {"authorization", "openai-organization", "cookie", "x-ullage-session"}
    assert sent_keys(received.body) >= {"model", "messages", "max_tokens", "stream"}


def sent_keys(body: bytes) -> set[str]:
    return set(json.loads(body))


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
async def test_what_is_left_out_is_told_in_a_header_and_in_the_record(
    stream: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with speaking(fake, tmp_path, "anthropic") as gateway:
        extra = {"seed": 7, "frequency_penalty": 0.5, "store": True}
        request = make_request("openai-chat", model="auto", turns=HELLO, stream=stream, extra=extra)
        came = await ask(gateway, client, request)
    assert came.headers["x-ullage-losses"] == "not_carried, sampling"
    told = [(loss["code"], loss["where"]) for loss in came.route["losses"]]
    assert ("sampling", "seed") in told and ("sampling", "frequency_penalty") in told
    assert (came.route["dialect"], came.call.dialect) == ("anthropic", "openai-chat")
    assert came.headers["content-type"] == ("text/event-stream" if stream else "application/json")


async def test_usage_is_recorded_as_the_target_told_it_and_shown_as_the_client_knows_it(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    usage = Usage(input_fresh=93, cache_read=20, cache_write=7, output=50)
    async with FakeProvider([Reply(text="Hello.", usage=usage)]) as fake:
        async with speaking(fake, tmp_path, "anthropic") as gateway:
            came = await ask(gateway, client, make_request("openai-chat", model="auto", turns=HELLO))
    assert json.loads(came.body)["usage"]["prompt_tokens"] == 120
    assert came.call.usage is not None
    assert {key: came.call.usage[key] for key in ("input_fresh", "cache_read", "cache_write", "output")} == {
        "input_fresh": 93,
        "cache_read": 20,
        "cache_write": 7,
        "output": 50,
    }
    assert (came.call.provider, came.call.model) == ("at-anthropic", MODELS["anthropic"])
    assert (came.call.outcome, came.call.stop_reason, came.call.answered_by) == ("ok", "end", MODELS["anthropic"])
    assert came.call.sample is not None


async def test_caches_that_need_marks_are_warm_for_clients_that_know_of_none(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Else an agent of another protocol would pay its whole history at every call."""
    turns: list[str | ToolLoop] = [f"Look. {words(2_000)}"]
    shared: dict[str, Any] = {"model": "auto", "tools": make_tools(3), "system": f"Be brief. {words(2_000)}"}
    async with speaking(fake, tmp_path, "anthropic") as gateway:
        await ask(gateway, client, make_request("openai-chat", turns=turns, **shared))
        turns.append(ToolLoop())
        came = await ask(gateway, client, make_request("openai-chat", turns=turns, **shared))
    assert came.call.usage is not None and came.call.cache is not None
    assert came.call.usage["cache_read"] > 4_000
    assert came.call.cache["disposition"] == "eligible"
    assert came.call.cache["expected"] == pytest.approx(came.call.usage["cache_read"], rel=0.2)
    assert came.call.cache["miss"] is None


async def test_a_request_that_has_no_form_in_one_protocol_goes_to_a_target_of_another(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Five places to stop at: Anthropic takes them, Chat Completions takes four."""
    extra = {"generationConfig": {"stopSequences": ["a", "b", "c", "d", "e"]}}
    request = make_request("gemini", model="auto", turns=HELLO, extra=extra)
    async with speaking(fake, tmp_path, "openai-chat", "openai-responses", "anthropic") as gateway:
        came = await ask(gateway, client, request)
    assert (came.status, came.headers["x-ullage-target"]) == (200, TARGETS["anthropic"])
    codes = {one["target"]: one["code"] for one in came.route["excluded"]}
    assert codes == {TARGETS["openai-chat"]: "dialect", TARGETS["openai-responses"]: "dialect"}


async def test_a_request_that_has_no_form_anywhere_is_refused_with_the_reason(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with speaking(fake, tmp_path, "anthropic", "gemini") as gateway:
        came = await ask(gateway, client, make_request("openai-chat", model="auto", turns=HELLO, extra={"n": 2}))
    assert came.status == 400
    error = json.loads(came.body)["error"]
    assert (error["type"], error["code"]) == ("ullage_error", "incompatible")
    assert "the request has no form in its protocol: n: " in error["message"]
    assert len(fake.requests) == 0


async def test_a_task_whose_next_request_its_target_cannot_be_told_goes_on_elsewhere(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with speaking(fake, tmp_path, "openai-chat", "anthropic") as gateway:
        override(gateway, "pin", TARGETS["anthropic"])
        turns: list[str | ToolLoop] = ["Look."]
        first = await ask(gateway, client, make_request("openai-chat", model="auto", turns=turns))
        override(gateway, "pin", None)
        turns.append(ToolLoop())
        second = await ask(gateway, client, make_request("openai-chat", model="auto", turns=turns, extra={"n": 2}))
    assert (first.route["target"], second.route["target"]) == (TARGETS["anthropic"], TARGETS["openai-chat"])
    assert "cannot go on: the request has no form in its protocol: n" in second.route["notes"][0]


async def test_without_translation_only_targets_of_the_clients_protocol_are_asked(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with speaking(fake, tmp_path, "anthropic", "gemini", routing={"translate": False}) as gateway:
        own = await ask(gateway, client, make_request("gemini", model="auto", turns=HELLO))
        none = await ask(gateway, client, make_request("openai-chat", model="auto", turns=HELLO))
    assert own.headers["x-ullage-target"] == TARGETS["gemini"]
    assert (none.status, json.loads(none.body)["error"]["code"]) == (400, "scope-empty")


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "gemini"])
async def test_tokens_for_a_target_of_another_protocol_are_counted_here(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    paths = {
        "anthropic": "/v1/messages/count_tokens",
        "openai-responses": "/v1/responses/input_tokens",
        "gemini": "/v1beta/models/auto:countTokens",
    }
    names = {"gemini": "totalTokens"}
    async with speaking(fake, tmp_path, "openai-chat") as gateway:
        request = make_request(dialect, model="auto", turns=HELLO)
        url = gateway.url + paths[dialect]
        async with client.post(url, data=request.body, headers=request.headers) as response:
            assert response.status == 200
            assert json.loads(await response.read())[names.get(dialect, "input_tokens")] > 0
    assert len(fake.requests) == 0


async def test_what_is_no_request_for_an_answer_is_never_translated(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    """Codex has a provider of its own make summaries that nobody else can read."""
    async with speaking(fake, tmp_path, "anthropic") as gateway:
        request = make_request("openai-responses", model="auto", turns=HELLO)
        url = gateway.url + "/v1/responses/compact"
        async with client.post(url, data=request.body, headers=request.headers) as response:
            assert response.status == 400
            error = json.loads(await response.read())["error"]
    assert "only requests for an answer are translated" in error["message"]
    assert len(fake.requests) == 0


async def test_a_stream_that_gemini_clients_do_not_want_as_events_is_one_array(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("gemini", model="auto", turns=HELLO, stream=True)
    async with speaking(fake, tmp_path, "openai-chat") as gateway:
        url = gateway.url + request.path.partition("?")[0]
        async with client.post(url, data=request.body, headers=request.headers) as response:
            assert response.headers["content-type"] == "application/json"
            chunks = json.loads(await response.read())
    assert sent(fake)["stream"] is True
    assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"


async def test_how_long_to_wait_is_told_and_limits_of_another_provider_are_not(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Fault(status=429, retry_after_s=7, message="Slow down.")]) as fake:
        async with speaking(fake, tmp_path, "anthropic") as gateway:
            came = await ask(gateway, client, make_request("openai-chat", model="auto", turns=HELLO))
    assert (came.status, came.headers["retry-after"]) == (429, "7")
    assert not [name for name in came.headers if "ratelimit" in name.lower()]
    assert json.loads(came.body)["error"]["message"] == "Slow down."
    assert came.call.status == 429


async def test_an_answer_that_cannot_be_read_is_an_error_to_the_client(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with FakeProvider([Reply(body=b"<html>Sign in</html>")]) as fake:
        async with speaking(fake, tmp_path, "gemini") as gateway:
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=HELLO))
    assert came.status >= 500
    assert json.loads(came.body)["type"] == "error"


async def test_a_client_that_leaves_a_translated_stream_cancels_the_call_of_its_target__litellm_37140(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    slow = Rule(reply=Reply(text="word " * 200, fragment_chars=5), fault=Fault(stall_after=4_000))
    async with FakeProvider([slow]) as fake:
        async with speaking(fake, tmp_path, "openai-chat") as gateway:
            request = make_request("anthropic", model="auto", turns=HELLO, stream=True)
            async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
                assert b"message_start" in await response.content.readany()
                response.close()
            async with asyncio.timeout(5):
                while not fake.requests[0].cancelled:
                    await asyncio.sleep(0.01)
            assert await asyncio.to_thread(gateway.engine.flush)
            assert gateway.store.flush()
            call = gateway.store.find_call(response.headers["x-ullage-request"])
    assert call is not None
    assert (call.outcome, call.status) == ("left", 200)


async def test_the_first_words_of_a_translated_stream_do_not_wait_for_the_last(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """BerriAI/litellm#26102: all tokens came at once at the end."""
    slow = Rule(reply=Reply(text="word " * 200, fragment_chars=5), fault=Fault(stall_after=4_000))
    async with FakeProvider([slow]) as fake, speaking(fake, tmp_path, "gemini") as gateway:
        request = make_request("openai-chat", model="auto", turns=HELLO, stream=True)
        async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
            seen = b""
            async with asyncio.timeout(5):
                while seen.count(b"word") < 10:
                    seen += await response.content.readany()
            response.close()


@pytest.mark.parametrize("attempts", [1, 2])
async def test_a_whole_answer_that_stalls_ends_with_the_time_of_the_request(
    attempts: int, tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent before the translation: the client is told why, also where no more of an answer was held back."""
    monkeypatch.setattr("ullage.gateway.hearing.MOST_HELD_BYTES", 10)
    stalls = Rule(reply=Reply(text="word " * 200), fault=Fault(stall_after=300))
    failover = {"max_attempts": attempts, "request_timeout_ms": 300}
    async with FakeProvider([stalls]) as fake:
        async with speaking(fake, tmp_path, "openai-chat", routing={"failover": failover}) as gateway:
            know_targets(gateway)
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=HELLO))
        assert len(fake.requests) == 1
    error = json.loads(came.body)["error"]
    assert (came.status, error["code"]) == (504, "request_timeout")
    assert came.headers["x-ullage-attempts"] == "1"
    assert came.call.outcome == "error"
    assert came.route["attempts"][0]["failure"] == "timeout"


async def test_a_long_answer_is_translated_while_others_are_served__headroom_718(
    tmp_path: Path, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers: list[int] = []
    finish = TranslatedAnswer.finish
    monkeypatch.setattr(TranslatedAnswer, "finish", lambda one: workers.append(threading.get_ident()) or finish(one))
    async with FakeProvider([Reply(text="word " * 60_000)]) as fake:
        async with speaking(fake, tmp_path, "openai-chat") as gateway:
            came = await ask(gateway, client, make_request("anthropic", model="auto", turns=HELLO))
    assert json.loads(came.body)["content"][0]["text"] == "word " * 60_000
    assert workers and workers[0] != threading.get_ident()


ROUND = (*DIALECTS, *DIALECTS[::-1])


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_tool_loop_goes_on_from_target_to_target(
    dialect: Dialect, stream: bool, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Each target refuses what real ones refuse, and thinks: what another has thought is never sent to it."""
    thinks = Rule(
        reply=Reply(text="I look.", thinking="Hm.", tool_calls=(ToolUse(name="bash", arguments={"command": "ls"}),))
    )
    async with FakeProvider([thinks], strict=True) as fake:
        async with speaking(fake, tmp_path, *DIALECTS, routing={"thinking": "high"}) as gateway:
            turns: list[str | ToolLoop] = ["Look."]
            for target in ROUND:
                override(gateway, "pin", TARGETS[target])
                request = make_request(dialect, model="auto", turns=turns, tools=make_tools(2), stream=stream)
                came = await ask(gateway, client, request)
                assert (came.status, came.route["dialect"]) == (200, target), came.body
                assert came.call.tool_calls == ("bash",)
                turns.append(ToolLoop())
        assert [one.dialect for one in fake.requests] == list(ROUND)


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_managed_mode_plans_for_the_window_of_a_target_of_any_protocol(
    dialect: Dialect, target: Dialect, tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    turns = [text for number in range(30) for text in (f"{number}: {words(400)}", words(400, "found"))]
    small = {**KNOWN, "context_window": 20_000, "max_output_tokens": 8_000}
    async with FakeProvider(strict=True) as fake:
        async with speaking(fake, tmp_path, target, facts=small, mode="managed") as gateway:
            came = await ask(gateway, client, make_request(dialect, model="auto", turns=[*turns, "Now?"], stream=True))
        assert came.status == 200, came.body
        received = fake.requests[0]
    assert (came.status, came.headers["x-ullage-plan"], received.dialect) == (200, "managed", target)
    assert b'"0: ' not in received.body and b'"29: ' in received.body


async def test_secrets_do_not_leave_in_another_protocol_either(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    secret = "sk-ant-" + "a1b2c3d4e5f6g7h8i9j0"
    async with speaking(fake, tmp_path, "gemini", privacy={"enabled": True}) as gateway:
        request = make_request("openai-chat", model="auto", turns=(f"My key is {secret}, keep it.",))
        came = await ask(gateway, client, request)
    assert came.status == 200
    assert secret.encode() not in fake.requests[0].body
    assert b"keep it" in fake.requests[0].body


# --- One answer ---


def answer(headers: list[tuple[bytes, bytes]], *, stream: bool, status: int = 200) -> TranslatedAnswer:
    exchange = Exchange(
        id="r1",
        endpoint=Endpoint(dialect="openai-chat", purpose="generate", path="/v1/chat/completions"),
        headers={},
        body=b"",
        root="http://x",
        provider="x",
        created_ms=1_780_000_000_000,
        clock=lambda: 0.0,
        hand_over=lambda *_: None,
    )
    exchange.dialect = "anthropic"
    translated = TranslatedRequest(body=b"{}", terms=Terms(model="m", stream=stream))
    return TranslatedAnswer(translated, exchange, status, headers)


BODY = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "model": "m",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
    }
).encode()
STREAM = b"".join(
    b"data: " + json.dumps(event).encode() + b"\n\n"
    for event in (
        {"type": "message_start", "message": {"id": "msg_1", "model": "m"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )
)


def test_a_compressed_answer_is_decoded_and_its_length_is_that_of_the_translated_one() -> None:
    one = answer([(b"Content-Encoding", b"gzip"), (b"Content-Length", b"99"), (b"ETag", b"x")], stream=False)
    packed = gzip.compress(BODY)
    assert one.feed(packed[:20]) + one.feed(packed[20:]) == b""
    body = one.finish()
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hi"
    status, headers = one.head()
    assert (status, dict(headers)) == (
        200,
        {b"content-type": b"application/json", b"content-length": str(len(body)).encode()},
    )


def test_a_compressed_stream_is_translated_as_it_comes() -> None:
    one = answer([(b"content-encoding", b"gzip"), (b"content-type", b"text/event-stream")], stream=True)
    packed = gzip.compress(STREAM)
    pieces = [one.feed(packed[at : at + 7]) for at in range(0, len(packed), 7)]
    whole = b"".join([*pieces, one.finish()])
    assert b'"content":"Hi"' in whole
    assert whole.endswith(b"data: [DONE]\n\n")
    assert one.complete
    assert one.head() == (200, [(b"content-type", b"text/event-stream")])


@pytest.mark.parametrize("coding", [b"gzip", b"unknown"])
def test_an_answer_that_is_not_encoded_as_it_claims_is_an_error(coding: bytes) -> None:
    whole = answer([(b"content-encoding", coding)], stream=False)
    whole.feed(BODY)
    assert b'"error"' in whole.finish()
    assert whole.head()[0] == 502
    streamed = answer([(b"content-encoding", coding)], stream=True)
    assert b'"error"' in streamed.feed(STREAM) + streamed.finish()
    assert not streamed.complete


def test_an_answer_that_is_far_too_long_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.gateway.translating.MOST_BYTES", 100)
    one = answer([], stream=False)
    one.feed(BODY[:60])
    assert not one.is_lost
    one.feed(BODY[60:])
    assert one.is_lost
    assert b'"error"' in one.finish()
    assert one.head()[0] == 502


def test_of_a_stream_that_has_failed_nothing_more_is_read() -> None:
    one = answer([], stream=True)
    one.feed(STREAM[:100] + b"\n\n" + b'data: {"type": "error", "error": {"type": "api_error", "message": "Oh."}}\n\n')
    assert one.is_lost
    assert one.finish() == b""


def test_an_answer_without_a_stream_to_a_client_that_wants_one_becomes_a_stream() -> None:
    one = answer([(b"content-type", b"application/json")], stream=True)
    assert one.streams
    assert (one.feed(BODY) + one.finish()).endswith(b"data: [DONE]\n\n")


def test_an_error_to_a_client_that_wants_a_stream_is_a_body() -> None:
    one = answer([(b"retry-after", b"3")], stream=True, status=529)
    assert not one.streams
    one.feed(b'{"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}')
    assert json.loads(one.finish())["error"]["message"] == "Busy."
    assert one.head()[0] == 529
    assert (b"retry-after", b"3") in one.head()[1]


# --- Back at the client's own provider ---


async def test_reasoning_of_another_protocol_is_left_out_for_the_clients_own_provider(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """Whoever names a model again, after a route has asked another, is not refused for signatures that nobody there has made."""
    thinks = Rule(reply=Reply(text="Done.", thinking="Hm."), times=1)
    async with FakeProvider([thinks], strict=True) as fake:
        known = {TARGETS["openai-responses"]: KNOWN | PRICES}
        provider = {"url": fake.url, "dialects": ["openai-responses"], "key": "none", "models": ["gpt-5.2"]}
        sections: dict[str, Any] = {
            "models": {"refresh": False, "overrides": known},
            "providers": {"at-openai-responses": provider},
        }
        async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
            first = await ask(gateway, client, make_request("anthropic", model="auto", turns=HELLO))
            said = json.loads(first.body)["content"]
            messages = [
                {"role": "user", "content": "Hello."},
                {"role": "assistant", "content": said},
                {"role": "user", "content": "And now?"},
            ]
            body = {"model": "claude-sonnet-4-5", "max_tokens": 2_000, "messages": messages}
            plain = make_request("anthropic", model="claude-sonnet-4-5", turns=HELLO)
            request = structs.replace(plain, body=json.dumps(body).encode())
            second = await ask(gateway, client, request)
    assert [block["type"] for block in said] == ["thinking", "text"]
    assert said[0]["signature"].startswith("ullage:1:openai-responses:gpt:")
    assert second.status == 200, second.body
    assert sent(fake)["messages"][1]["content"] == [said[1]]
    assert second.headers["x-ullage-losses"] == "foreign_reasoning"
    assert second.call.warnings == ("foreign_reasoning",)
    assert second.call.prefix_messages == 1
