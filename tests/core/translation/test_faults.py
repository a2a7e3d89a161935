"""Faults that users reported of gateways that translate (faults specification, section 1): a test each, named by its report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.translation.speaking import (
    body_of,
    calling,
    chat,
    chunk,
    codes_of,
    events_of,
    messages,
    responses,
    sse,
    stream_through,
    translate,
    translator,
)
from ullage.core.translation import TranslationRefused
from ullage.core.translation.nouns import Seal
from ullage.core.translation.sealing import wrap
from ullage.core.wire import DIALECTS, Dialect

CLIENTS_OF_CHAT: tuple[Dialect, ...] = ("openai-responses", "anthropic", "gemini")
TEXT = [chunk({"role": "assistant", "content": "He"}), chunk({"content": "llo"}), chunk({}, "stop"), "[DONE]"]
CALL = [calling(0, call_id="call_a", name="ls"), *(calling(0, piece) for piece in ('{"pa', 'th":', '"/"}'))]
FINISHED = [chunk({}, "tool_calls"), "[DONE]"]


def text_in(events: list[dict[str, Any]]) -> str:
    """The text that a client of Anthropic sees."""
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


@pytest.mark.parametrize("to", CLIENTS_OF_CHAT)
def test_a_comment_between_events_is_nothing__portkey_1035(to: Dialect) -> None:
    with_comments = b": ping\n\n".join([b"", *(sse(event) for event in TEXT), b""])
    assert stream_through("openai-chat", to, [with_comments]) == stream_through("openai-chat", to, [sse(*TEXT)])


@pytest.mark.parametrize("to", CLIENTS_OF_CHAT)
def test_a_chunk_of_usage_without_choices_is_read__portkey_1072(to: Dialect) -> None:
    usage = {
        "id": "chatcmpl-1",
        "choices": [],
        "usage": {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34},
    }
    stream = stream_through("openai-chat", to, [sse(*TEXT[:-1], usage, "[DONE]")])
    told = json.dumps(events_of(stream)[-1 if to != "anthropic" else -2])
    assert "30" in told
    assert " 4" in told


def test_an_error_inside_a_stream_is_an_error_event_of_anthropic__mlflow_25897() -> None:
    failed = {"error": {"message": "Overloaded", "type": "server_error", "code": 529}}
    stream = stream_through("openai-chat", "anthropic", [sse(*TEXT[:1], failed, "[DONE]")])
    assert stream.endswith(
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )


@pytest.mark.parametrize("source", ["openai-chat", "openai-responses"])
def test_no_target_is_sent_an_answer_to_go_on_with__litellm_27967(source: Dialect) -> None:
    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Well,"}]
    payload = chat(*said) if source == "openai-chat" else responses(*said)
    assert body_of(source, payload, "anthropic")["messages"][-1]["role"] == "user"
    assert ("closed", "messages") in codes_of(source, payload, "anthropic")


def test_an_answer_that_is_to_go_on_is_refused_where_nobody_can__litellm_27967() -> None:
    said = [{"role": "user", "content": "JSON, please."}, {"role": "assistant", "content": "{"}]
    with pytest.raises(TranslationRefused, match="go on from the last message"):
        translate("anthropic", messages(*said), "openai-chat")


@pytest.mark.parametrize("to", CLIENTS_OF_CHAT)
def test_a_stream_without_its_end_is_not_given_one__bifrost_597(to: Dialect) -> None:
    one = translator("openai-chat", to)
    stream = one.feed(sse(*TEXT[:2])) + one.finish()
    assert not one.complete
    assert b"ended before it was complete" in stream
    for ending in (b"message_stop", b"response.completed", b"STOP", b"[DONE]"):
        assert ending not in stream


def test_an_event_may_be_split_over_segments__claude_code_router_198() -> None:
    stream = sse(*TEXT)
    halves = [stream[:45], stream[45:47], stream[47:]]
    assert text_in(events_of(stream_through("openai-chat", "anthropic", halves))) == "Hello"


def test_a_call_reaches_gemini_with_whole_arguments_only__claude_code_router_129() -> None:
    one = translator("openai-chat", "gemini")
    assert all(one.feed(sse(event)) == b"" for event in CALL)
    (call,) = events_of(one.feed(sse(chunk({}, "tool_calls"))) + one.feed(sse("[DONE]")))[0]["candidates"][0][
        "content"
    ]["parts"]
    assert call["functionCall"] == {"id": "call_a", "name": "ls", "args": {"path": "/"}}


def responses_call(*inner: dict[str, Any], arguments: str) -> bytes:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "ls", "arguments": arguments}
    response = {"id": "resp_1", "model": "m", "status": "completed", "output": [item]}
    return sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}},
        *inner,
        {"type": "response.completed", "response": response},
    )


ADDED = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "ls", "arguments": ""},
}
DONE = {
    "type": "response.function_call_arguments.done",
    "output_index": 0,
    "item_id": "fc_1",
    "arguments": '{"path":"/"}',
}


@pytest.mark.parametrize(
    "inner", [[ADDED, DONE], [ADDED], []], ids=["in done only", "in the last event only", "no item"]
)
def test_arguments_that_no_delta_told_are_not_empty__litellm_27144(inner: list[dict[str, Any]]) -> None:
    stream = stream_through("openai-responses", "anthropic", [responses_call(*inner, arguments='{"path":"/"}')])
    pieces = [
        event["delta"].get("partial_json", "") for event in events_of(stream) if event["type"] == "content_block_delta"
    ]
    assert "".join(pieces) == '{"path":"/"}'


def test_a_call_that_no_event_began_is_told_with_its_beginning__litellm_22102() -> None:
    """Codex runs no tool without `output_item.added`."""
    delta = {**DONE, "type": "response.function_call_arguments.delta", "delta": '{"path":"/"}'}
    for inner in ([delta, DONE], [DONE], []):
        provided = responses_call(*inner, arguments='{"path":"/"}')
        to_chat = stream_through("openai-responses", "openai-chat", [provided])
        events = events_of(stream_through("openai-chat", "openai-responses", [to_chat]))
        kinds = [event["type"].removeprefix("response.") for event in events]
        assert kinds.count("output_item.added") == kinds.count("output_item.done") == 1
        assert kinds.index("output_item.added") < kinds.index("function_call_arguments.delta")
        assert [event["arguments"] for event in events if event["type"].endswith("arguments.done")] == ['{"path":"/"}']


@pytest.mark.parametrize("source", ["openai-chat", "anthropic"])
def test_a_call_is_added_streamed_and_done_for_codex__codex_12798(source: Dialect) -> None:
    block = {"type": "tool_use", "id": "call_a", "name": "ls", "input": {}}
    anthropic = [
        {
            "type": "message_start",
            "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}},
        },
        {"type": "content_block_start", "index": 0, "content_block": block},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in ('{"pa', 'th":', '"/"}')
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    stream = sse(*anthropic) if source == "anthropic" else sse(*CALL, *FINISHED)
    events = events_of(stream_through(source, "openai-responses", [stream]))
    kinds = [event["type"] for event in events]
    arguments = "response.function_call_arguments"
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        *[f"{arguments}.delta"] * 3,
        f"{arguments}.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert (events[2]["item"]["call_id"], events[2]["item"]["name"]) == ("call_a", "ls")
    assert events[-3]["arguments"] == events[-2]["item"]["arguments"] == '{"path":"/"}'


def test_the_last_event_of_responses_has_id_model_and_output__llm_rosetta_56() -> None:
    response = events_of(stream_through("openai-chat", "openai-responses", [sse(*TEXT)]))[-1]["response"]
    assert (response["id"], response["model"], response["status"]) == ("resp_1", "m", "completed")
    assert response["output"][0]["content"][0]["text"] == "Hello"
    assert response["usage"] is None


THINKING = {"type": "thinking", "thinking": "", "signature": "sig"}
USE = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
LOOP = (
    {"role": "user", "content": "List."},
    {"role": "assistant", "content": [THINKING, USE]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
)


def test_a_signature_without_thinking_is_kept_in_its_own_family__litellm_41361() -> None:
    assert body_of("anthropic", messages(*LOOP), "anthropic")["messages"][1]["content"][0] == THINKING


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_a_signature_is_left_out_towards_another_family_and_told__litellm_41361(target: Dialect) -> None:
    translated = translate("anthropic", messages(*LOOP), target)
    assert b"sig" not in translated.body
    assert [loss.code for loss in translated.dropped] == ["foreign_reasoning"]


def test_a_wrapped_signature_of_another_family_never_reaches_anthropic__litellm_41361() -> None:
    foreign = wrap(Seal(owner="anthropic", family="minimax", data="sig"), "anthropic")
    loop = [LOOP[0], {"role": "assistant", "content": [{**THINKING, "signature": foreign}, USE]}, LOOP[2]]
    assert body_of("anthropic", messages(*loop), "anthropic")["messages"][1]["content"] == [USE]


MARK = {"cache_control": {"type": "ephemeral"}}


def test_cache_marks_on_calls_and_results_are_kept_for_anthropic__bifrost_1935() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a"}], **MARK}
    loop = [LOOP[0], {"role": "assistant", "content": [{**USE, **MARK}]}, {"role": "user", "content": [result]}]
    body = body_of("anthropic", messages(*loop), "anthropic")
    assert body["messages"][1]["content"] == [{**USE, **MARK}]
    assert body["messages"][2]["content"] == [result]


def test_a_conversation_without_marks_gets_two_for_anthropic() -> None:
    """Clients of other protocols rely on caches that need none; without any, Anthropic would read all of it anew each time."""
    said = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Ho"},
        {"role": "user", "content": "Hm"},
    ]
    payload = chat({"role": "system", "content": "Be brief."}, *said)
    body = body_of("openai-chat", payload, "anthropic")
    assert [block.get("cache_control") for block in body["system"]] == [{"type": "ephemeral"}]
    marks = ["cache_control" in block for message in body["messages"] for block in message["content"]]
    assert marks == [False, False, True]
    alone = body_of("openai-chat", chat({"role": "system", "content": "Be brief."}, said[0]), "anthropic")
    assert "cache_control" not in str(alone)


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_cache_marks_go_elsewhere_without_a_word__bifrost_1935(target: Dialect) -> None:
    payload = messages(system=[{"type": "text", "text": "Be brief.", **MARK}])
    translated = translate("anthropic", payload, target)
    assert b"cache_control" not in translated.body
    assert translated.dropped == ()


TOOLS = [
    {"name": name, "input_schema": {"type": "object", "properties": {"b": {}, "a": {}}}} for name in ("z", "a", "m")
]


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_tools_keep_their_order_and_their_bytes__bifrost_2347(target: Dialect) -> None:
    """Told of in maximhq/bifrost PR#6547: prompt caches were lost."""
    payload = messages(tools=TOOLS)
    bodies = {translate("anthropic", payload, target).body for _ in range(3)}
    assert len(bodies) == 1
    body = bodies.pop()
    assert body.index(b'"z"') < body.index(b'"name":"a"') < body.index(b'"m"')
    assert body.index(b'"b":') < body.index(b'"a":')


@pytest.mark.parametrize("to", ["openai-chat", "openai-responses", "gemini"])
def test_pings_and_an_end_are_no_answer__headroom_3266(to: Dialect) -> None:
    one = translator("anthropic", to)
    stream = one.feed(sse(*[{"type": "ping"}] * 3, {"type": "message_stop"})) + one.finish()
    assert not one.complete
    assert b"error" in stream


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "gemini"])
def test_a_choice_of_tools_is_among_the_tools__bifrost_3596(target: Dialect) -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    with pytest.raises(TranslationRefused, match="web_search must be called"):
        payload = messages(tools=[*TOOLS, hosted], tool_choice={"type": "tool", "name": "web_search"})
        translate("anthropic", payload, target)
    assert "tool_choice" not in body_of("anthropic", messages(tools=[], tool_choice={"type": "auto"}), target)


CACHED = {
    "prompt_tokens": 100,
    "completion_tokens": 9,
    "total_tokens": 109,
    "prompt_tokens_details": {"cached_tokens": 80},
}


def test_cache_reads_are_counted_once__litellm_14849() -> None:
    body = {"id": "chatcmpl-1", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": CACHED}
    usage = json.loads(translator("openai-chat", "anthropic").whole(200, json.dumps(body).encode()))["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["output_tokens"]) == (20, 80, 9)


ANTHROPIC_USAGE = {
    "input_tokens": 20,
    "cache_read_input_tokens": 80,
    "cache_creation_input_tokens": 50,
    "output_tokens": 9,
}


def anthropic_answer(usage: dict[str, Any]) -> bytes:
    content = [{"type": "text", "text": "Hi"}]
    return json.dumps({"id": "msg_1", "content": content, "stop_reason": "end_turn", "usage": usage}).encode()


def test_tokens_written_to_the_cache_are_told__litellm_33772() -> None:
    usage = json.loads(translator("anthropic", "openai-chat").whole(200, anthropic_answer(ANTHROPIC_USAGE)))["usage"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 80, "cache_write_tokens": 50}


def test_prompt_and_total_count_the_cached_tokens_alike__portkey_1210() -> None:
    """Repaired there by Portkey-AI/gateway PR#1754."""
    usage = json.loads(translator("anthropic", "openai-chat").whole(200, anthropic_answer(ANTHROPIC_USAGE)))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (150, 9, 159)


@pytest.mark.parametrize("place", ["start", "end"])
def test_usage_is_found_wherever_anthropic_tells_it__envoy_2290(place: str) -> None:
    """Also majiayu000/litellm-rs#510."""
    start = {"id": "msg_1", "model": "m", **({"usage": ANTHROPIC_USAGE} if place == "start" else {})}
    end = {"usage": ANTHROPIC_USAGE} if place == "end" else {}
    stream = sse(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **end},
        {"type": "message_stop"},
    )
    last = events_of(stream_through("anthropic", "openai-chat", [stream], include_usage=True))[-1]
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 159


def test_usage_is_in_no_chunk_where_the_client_did_not_ask__portkey_1072() -> None:
    events = events_of(stream_through("anthropic", "openai-chat", [sse({"type": "message_start", "message": {}})]))
    assert all("usage" not in event for event in events)


def test_repeated_ids_are_told_apart_alike_on_both_sides__llm_gateway_2851() -> None:
    call = {"id": "call_0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "List."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "one"},
        {"role": "assistant", "content": None, "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "call_0", "content": "two"},
        {"role": "tool", "tool_call_id": "call_0", "content": "three"},
    ]
    body = body_of("openai-chat", chat(*said), "anthropic")
    blocks = [block for message in body["messages"] for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = {block["tool_use_id"]: block["content"][0]["text"] for block in blocks if block["type"] == "tool_result"}
    assert calls == ["call_0", "call_0_2", "call_0_3"]
    assert results == {"call_0": "one", "call_0_2": "two", "call_0_3": "three"}


def test_every_piece_of_a_stream_is_sent_when_it_comes__litellm_26102() -> None:
    one = translator("openai-chat", "anthropic")
    assert all(one.feed(sse(event)) for event in TEXT[:2])


def test_arguments_in_very_many_fragments_are_looked_at_once__litellm_26181() -> None:
    """Each fragment costs the same: the bytes that one gives do not grow with those before it."""
    one = translator("openai-chat", "anthropic")
    one.feed(sse(calling(0, call_id="call_a", name="write")))
    sizes = {len(one.feed(sse(calling(0, "x")))) for _ in range(5_000)}
    assert len(sizes) == 1


def test_calls_whose_pieces_come_by_turns_are_told_one_after_the_other() -> None:
    stream = sse(
        calling(0, call_id="a", name="ls"),
        calling(1, call_id="b", name="cat"),
        calling(0, '{"n":'),
        calling(1, '{"n":2}'),
        calling(0, "1}"),
        *FINISHED,
    )
    events = events_of(stream_through("openai-chat", "anthropic", [stream]))
    found: dict[int, list[str]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            found[event["index"]] = [event["content_block"]["id"], ""]
        elif event["type"] == "content_block_delta":
            assert event["index"] == max(found)
            found[event["index"]][1] += event["delta"]["partial_json"]
    assert found == {0: ["a", '{"n":1}'], 1: ["b", '{"n":2}']}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_target_is_sent_a_message_without_content(dialect: Dialect) -> None:
    said = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": [{"type": "text", "text": " "}]},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]
    body = body_of("anthropic", messages(*said), dialect)
    listed = body.get("messages") or body.get("contents") or body["input"]
    assert len(listed) == 1
