"""Requests and answers with anything in any place: they are translated or refused, and nothing else is raised."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.translation.relay import (
    CALLS,
    MODELS,
    PNG,
    SCHEMA,
    USAGE,
    Asked,
    anthropic_request,
    chat_request,
    responses_request,
)
from tests.core.translation.speaking import events_of, translate, translator
from tests.strategies import dialects, requests
from ullage.core.translation import Target, TranslationRefused, translate_request
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing import Reply
from ullage.testing.dialects import DIALECT_MODULES
from ullage.testing.prompt import Generation, Prompt

ALL = Asked(tools=True, after_tool=True, picture=True, thinking=True)
MARK = {"cache_control": {"type": "ephemeral"}}
WHOLE: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {
        **chat_request(ALL),
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
        "stop": ["END"],
        "stream_options": {"include_usage": True},
        "reasoning": {"effort": "low"},
        "temperature": 0.5,
    },
    "openai-responses": {
        **responses_request(ALL),
        "text": {"format": {"type": "json_schema", "name": "a", "schema": SCHEMA}, "verbosity": "low"},
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "weather"}]},
    },
    "anthropic": {
        **anthropic_request(ALL),
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "metadata": {"user_id": "u1"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {
                "role": "model",
                "parts": [{"text": "I think", "thought": True}, {"functionCall": {"name": "weather", "args": {}}}],
            },
            {"role": "user", "parts": [{"functionResponse": {"name": "weather", "response": {"output": "Sun"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "parameters": {"type": "OBJECT", "properties": {}}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        "generationConfig": {
            "thinkingConfig": {"thinkingBudget": 1_024},
            "stopSequences": ["a"],
            "responseSchema": SCHEMA,
        },
    },
}
ODD: list[Any] = [
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "text",
    "none",
    "ullage:1:",
    [],
    [[]],
    [None],
    {},
    {"type": []},
    {"a": {}},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with something odd in some places, or without what was there."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(value)[1:] or [()]))
        if not path:
            break
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        if draw(st.booleans()):
            holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(ODD)))
        else:
            del holder[path[-1]]
    return value


@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data(), target=dialects)
def test_a_request_with_something_odd_is_translated_or_refused(
    source: Dialect, data: st.DataObject, target: Dialect
) -> None:
    payload = data.draw(spoiled(WHOLE[source]))
    try:
        translated = translate(source, payload, target)
    except TranslationRefused as refused:
        assert refused.message
    else:
        assert isinstance(msgspec.json.decode(translated.body), dict)


@given(data=st.data(), source=dialects, target=dialects)
def test_any_request_is_translated_or_refused(data: st.DataObject, source: Dialect, target: Dialect) -> None:
    body = data.draw(requests(source))
    conversation = parse_request(body, source, path_model="m", path_stream=True)
    try:
        translated = translate_request(conversation, Target(dialect=target, model=MODELS[target]))
    except TranslationRefused as refused:
        assert refused.message
    else:
        assert isinstance(msgspec.json.decode(translated.body), dict)


def generation(dialect: Dialect, *, stream: bool) -> Generation:
    prompt = Prompt(dialect=dialect, model=MODELS[dialect], stream=stream)
    reply = Reply(text="Hello.", thinking="Hm.", tool_calls=CALLS, usage=USAGE, fragment_chars=40)
    return Generation(number=1, prompt=prompt, reply=reply, usage=USAGE, created_s=1.0)


@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data(), to=dialects)
def test_a_stream_with_something_odd_ends_whole_or_with_an_error(
    source: Dialect, data: st.DataObject, to: Dialect
) -> None:
    events = events_of(b"".join(DIALECT_MODULES[source].events(generation(source, stream=True))))
    events = data.draw(spoiled(events))
    done = [b"data: [DONE]\n\n"] if source == "openai-chat" else []
    one = translator(source, to, include_usage=True)
    stream = b"".join(one.feed(f"data: {json.dumps(event)}\n\n".encode()) for event in events)
    stream += b"".join(map(one.feed, done)) + one.finish()
    assert one.complete != (one.failure is not None)
    assert events_of(stream)


@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data(), to=dialects)
def test_a_body_with_something_odd_is_an_answer_or_an_error(source: Dialect, data: st.DataObject, to: Dialect) -> None:
    body = json.loads(DIALECT_MODULES[source].answer(generation(source, stream=False)))
    one = translator(source, to)
    answer = json.loads(one.whole(200, json.dumps(data.draw(spoiled(body))).encode()))
    assert one.complete != ("error" in answer and answer["error"] is not None)


@given(data=st.binary(max_size=60), status=st.sampled_from([200, 400, 429, 500]), to=dialects, source=dialects)
def test_any_bytes_are_an_error_to_the_client(data: bytes, status: int, to: Dialect, source: Dialect) -> None:
    one = translator(source, to)
    assert json.loads(one.whole(status, data))["error"]["message"]
    streamed = translator(source, to)
    assert streamed.feed(data) + streamed.finish()
    assert not streamed.complete
