"""Reasoning and its seals on their way through clients of other dialects, and back to the model that they belong to."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.core.translation.relay import CALLS, MODELS, SCHEMA, USAGE
from tests.core.translation.speaking import body_of, contents, messages, responses, translator
from ullage.core.translation import without_wrapped
from ullage.core.translation.nouns import REDACTED, Seal
from ullage.core.translation.sealing import family_of, opens_for, unwrap, wrap
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing import Reply
from ullage.testing.dialects import DIALECT_MODULES
from ullage.testing.dialects.events import seal
from ullage.testing.prompt import Generation, Prompt
from ullage.testing.strict import find_refusal

THOUGHT = "Which city?"
REPLY = Reply(text="I ask.", thinking=THOUGHT, tool_calls=CALLS[:1], usage=USAGE)
KEEPERS: tuple[Dialect, ...] = ("openai-responses", "anthropic", "gemini")
WAYS = [(client, target) for client in KEEPERS for target in DIALECTS if client != target]


def answer_for(client: Dialect, target: Dialect) -> dict[str, Any]:
    prompt = Prompt(dialect=target, model=MODELS[target], stream=False)
    generation = Generation(number=1, prompt=prompt, reply=REPLY, usage=USAGE, created_s=1.0)
    body = DIALECT_MODULES[target].answer(generation)
    answer: dict[str, Any] = json.loads(translator(target, client).whole(200, body))
    return answer


def next_request(client: Dialect, answer: dict[str, Any]) -> dict[str, Any]:
    """What a client sends next: the answer as it got it, and the result of the call."""
    if client == "anthropic":
        tool = {"name": "weather", "input_schema": SCHEMA}
        result = {"type": "tool_result", "tool_use_id": "call_a", "content": "Sun."}
        said = [{"role": "assistant", "content": answer["content"]}, {"role": "user", "content": [result]}]
        effort = {"thinking": {"type": "enabled", "budget_tokens": 4_096}, "max_tokens": 8_000}
        return messages({"role": "user", "content": "Weather?"}, *said, tools=[tool], **effort)
    if client == "openai-responses":
        result = {"type": "function_call_output", "call_id": "call_a", "output": "Sun."}
        tool = {"type": "function", "name": "weather", "parameters": SCHEMA}
        asked = {"type": "message", "role": "user", "content": "Weather?"}
        return responses(asked, *answer["output"], result, tools=[tool], reasoning={"effort": "low"})
    spoken = answer["candidates"][0]["content"]
    result = {"functionResponse": {"name": "weather", "id": "call_a", "response": {"output": "Sun."}}}
    asked = {"role": "user", "parts": [{"text": "Weather?"}]}
    return contents(asked, spoken, {"role": "user", "parts": [result]})


@pytest.mark.parametrize(
    ("client", "target"), WAYS, ids=[f"{client} client, {target} target" for client, target in WAYS]
)
def test_reasoning_comes_back_to_its_model_as_it_left(client: Dialect, target: Dialect) -> None:
    body = body_of(client, next_request(client, answer_for(client, target)), target)
    assert find_refusal(target, body) is None
    match target:
        case "openai-chat":
            assert body["messages"][1]["reasoning_content"] == THOUGHT
        case "openai-responses":
            reasoning = next(item for item in body["input"] if item["type"] == "reasoning")
            assert (reasoning["id"], reasoning["encrypted_content"]) == ("rs_00000001", seal(THOUGHT))
        case "anthropic":
            blocks = body["messages"][1]["content"]
            thinking = [(block["thinking"], block["signature"]) for block in blocks if block["type"] == "thinking"]
            assert thinking == [(THOUGHT, seal(THOUGHT))]
        case "gemini":
            call = next(part for part in body["contents"][1]["parts"] if "functionCall" in part)
            assert call["thoughtSignature"] == seal("weather")


@pytest.mark.parametrize(
    ("client", "target"), WAYS, ids=[f"{client} client, {target} target" for client, target in WAYS]
)
def test_a_model_that_would_not_take_its_reasoning_back_gets_none(client: Dialect, target: Dialect) -> None:
    payload = next_request(client, answer_for(client, target))
    body = body_of(client, payload, target, reasoning=False)
    assert find_refusal(target, body) is None
    text = json.dumps(body)
    assert THOUGHT not in text and seal(THOUGHT) not in text


@pytest.mark.parametrize(
    ("client", "target"), WAYS, ids=[f"{client} client, {target} target" for client, target in WAYS]
)
def test_reasoning_never_reaches_another_family(client: Dialect, target: Dialect) -> None:
    payload = next_request(client, answer_for(client, target))
    for other in DIALECTS:
        if other not in (client, target):
            sent = json.dumps(body_of(client, json.loads(json.dumps(payload)), other))
            assert seal(THOUGHT) not in sent
            assert seal("weather") not in sent
            assert "ullage:1" not in sent


@pytest.mark.parametrize(
    ("client", "target"), WAYS, ids=[f"{client} client, {target} target" for client, target in WAYS]
)
def test_a_request_that_goes_to_the_clients_own_provider_leaves_it_out(client: Dialect, target: Dialect) -> None:
    payload = json.dumps(next_request(client, answer_for(client, target))).encode()
    names = {"path_model": "m", "path_stream": False} if client == "gemini" else {}
    cleaned = without_wrapped(parse_request(payload, client, **names))
    assert b"ullage:1" not in cleaned
    assert b"dWxsYWdlOjE6" not in cleaned
    assert find_refusal(client, json.loads(cleaned)) is None


def test_a_request_without_foreign_reasoning_keeps_its_bytes() -> None:
    payload = json.dumps(messages()).encode()
    assert without_wrapped(parse_request(payload, "anthropic")) is payload


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("owner", DIALECTS)
def test_a_seal_is_found_as_it_was_wrapped(owner: Dialect, dialect: Dialect) -> None:
    given = Seal(owner=owner, family="claude", id="rs_1", data="a:b/+=\n")
    assert unwrap(wrap(given, dialect), dialect) == given


def test_a_seal_for_gemini_is_base64() -> None:
    wrapped = wrap(Seal(owner="anthropic", family="claude", data="sig"), "gemini")
    assert base64.b64decode(wrapped, validate=True) == b"ullage:1:anthropic:claude::sig"


@pytest.mark.parametrize("text", ["", "EqQB", "ullage:1:nobody:x:y:z", "dWxsYWdlOjE6!", "dWxsYWdlOjE6/w=="])
def test_what_was_not_wrapped_here_belongs_to_the_clients_dialect(text: str) -> None:
    assert unwrap(text, "gemini") == Seal(owner="gemini", data=text)


def test_redacted_thinking_of_anthropic_comes_back_redacted() -> None:
    answer = {
        "id": "msg_1",
        "content": [{"type": "redacted_thinking", "data": "secret"}, {"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
    }
    item = json.loads(translator("anthropic", "openai-responses").whole(200, json.dumps(answer).encode()))["output"][0]
    assert unwrap(item["encrypted_content"], "openai-responses").id == REDACTED
    said = {"type": "message", "role": "assistant", "content": "Yes."}
    asked = {"type": "message", "role": "user", "content": "Go on."}
    body = body_of("openai-responses", responses(asked, item, said, asked), "anthropic")
    assert body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": "secret"}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("anthropic/claude-sonnet-4-5", "claude"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude"),
        ("openai.gpt-oss-120b-1:0", "gpt"),
        ("gpt-5.2", "gpt"),
        ("o3", "o"),
        ("DeepSeek-V3", "deepseek"),
        ("4x", ""),
    ],
)
def test_the_family_is_the_first_word_of_a_models_name(model: str, family: str) -> None:
    assert family_of(model) == family


def test_a_seal_opens_for_its_own_dialect_and_family_only() -> None:
    given = Seal(owner="anthropic", family="claude", data="sig")
    assert opens_for(given, "anthropic", "claude-opus-4-6")
    assert not opens_for(given, "anthropic", "minimax-m2")
    assert not opens_for(given, "openai-chat", "claude-opus-4-6")


def test_a_client_of_chat_completions_is_told_that_it_gets_no_seal() -> None:
    answer = {
        "id": "msg_1",
        "content": [{"type": "thinking", "thinking": THOUGHT, "signature": "sig"}, {"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
    }
    one = translator("anthropic", "openai-chat")
    message = json.loads(one.whole(200, json.dumps(answer).encode()))["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == (THOUGHT, "Yes.")
    assert [loss.code for loss in one.dropped] == ["reasoning_seal"]
