"""Streams of hosts that are almost what their protocol says: no call reaches the client twice, and none with other arguments."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.translation.relay import CALLS
from tests.core.translation.speaking import calling, chunk, events_of, sse, stream_through, translator
from tests.core.translation.test_properties import REPLY, stream_of
from ullage.core.wire import DIALECTS, Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    Asked = list[tuple[str, Any]]
    Events = list[dict[str, Any]]

F = ("f", {"a": 1})
G = ("g", {"b": 2})


def calls_for(source: Dialect, events: list[Any], to: Dialect = "anthropic") -> Asked:
    """The calls that a client sees, with their arguments."""
    return calls_in(to, events_of(stream_through(source, to, [sse(*events)])))


def calls_in(dialect: Dialect, events: Events) -> Asked:
    found: dict[int, list[str]] = {}
    if dialect == "anthropic":
        for event in events:
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                found[event["index"]] = [event["content_block"]["name"], ""]
            elif event["type"] == "content_block_delta" and event["index"] in found:
                found[event["index"]][1] += event["delta"]["partial_json"]
    else:
        pieces = [piece for event in events for choice in event["choices"] for piece in pieces_in(choice)]
        for piece in pieces:
            call = found.setdefault(piece["index"], ["", ""])
            call[0] += piece["function"].get("name") or ""
            call[1] += piece["function"]["arguments"]
    return [(name, json.loads(text)) for name, text in found.values()]


def pieces_in(choice: dict[str, Any]) -> list[Any]:
    found: list[Any] = choice["delta"].get("tool_calls") or []
    return found


# --- Chat Completions ---

FINISHED = [chunk({}, "tool_calls"), "[DONE]"]
WHOLE = [calling(0, '{"a":1}', call_id="c0", name="f"), calling(1, '{"b":2}', call_id="c1", name="g")]


def unnumbered(piece: dict[str, Any]) -> dict[str, Any]:
    piece = copy.deepcopy(piece)
    for call in piece["choices"][0]["delta"]["tool_calls"]:
        del call["index"]
    return piece


def test_a_call_of_chat_that_is_over_does_not_begin_again_with_its_id_and_name() -> None:
    headers = [calling(0, call_id="c0", name="f"), calling(1, call_id="c1", name="g")]
    assert calls_for("openai-chat", [*WHOLE, *headers, *FINISHED]) == [F, G]


def test_calls_of_chat_that_come_again_whole_are_told_once() -> None:
    assert calls_for("openai-chat", [*WHOLE, *WHOLE, *FINISHED]) == [F, G]


def test_calls_of_chat_that_come_again_without_numbers_are_told_once() -> None:
    assert calls_for("openai-chat", [*WHOLE, *map(unnumbered, WHOLE), *FINISHED]) == [F, G]


def test_calls_of_chat_that_come_again_under_other_numbers_are_told_once() -> None:
    again = [calling(5, '{"a": 1}', call_id="c0", name="f"), calling(6, '{"b":2}', call_id="c1", name="g")]
    assert calls_for("openai-chat", [*WHOLE, *again, *FINISHED]) == [F, G]


def test_arguments_of_chat_that_begin_as_an_empty_object_are_the_real_ones() -> None:
    begun = [calling(0, "{}", call_id="c0", name="f"), calling(1, "{}", call_id="c1", name="g")]
    told = [calling(0, '{"a":1}'), calling(1, '{"b":2}')]
    assert calls_for("openai-chat", [*begun, *told, *FINISHED]) == [F, G]


def test_calls_of_chat_without_arguments_keep_their_empty_object() -> None:
    begun = [calling(0, "{}", call_id="c0", name="f"), calling(1, call_id="c1", name="g")]
    assert calls_for("openai-chat", [*begun, *FINISHED]) == [("f", {}), ("g", {})]


def test_two_calls_of_chat_with_one_id_are_both_told_with_ids_of_their_own() -> None:
    both = [calling(0, '{"a":1}', call_id="c0", name="f"), calling(1, '{"a":2}', call_id="c0", name="f")]
    events = events_of(stream_through("openai-chat", "anthropic", [sse(*both, *FINISHED)]))
    assert calls_in("anthropic", events) == [F, ("f", {"a": 2})]
    ids = [event["content_block"]["id"] for event in events if event["type"] == "content_block_start"]
    assert ids == ["c0", "c0_2"]


@pytest.mark.parametrize("call_id", ["c0", ""])
def test_calls_in_a_body_of_chat_are_as_many_as_it_lists(call_id: str) -> None:
    calls = [{"id": call_id, "function": {"name": "f", "arguments": text}} for text in ('{"a":1}', "", '{"a":3}')]
    body = {"id": "x", "choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}
    answer = json.loads(translator("openai-chat", "anthropic").whole(200, json.dumps(body).encode()))
    told = [block["input"] for block in answer["content"]]
    # Without an id of its own, a call without arguments cannot be told from one that is only named again.
    assert told == ([{"a": 1}, {"a": 3}] if call_id else [{"a": 1}, {}, {"a": 3}])


def test_pieces_of_chat_that_have_a_number_now_and_then_belong_to_the_last_call() -> None:
    pieces = [calling(0, call_id="c0", name="f"), calling(0, '{"a"'), calling(0, ":1}")]
    assert calls_for("openai-chat", [unnumbered(pieces[0]), pieces[1], unnumbered(pieces[2]), *FINISHED]) == [F]


# --- Responses ---


def item_of(number: int, name: str, arguments: str) -> dict[str, Any]:
    ids = {"id": f"fc{number}", "call_id": f"c{number}"}
    return {"type": "function_call", **ids, "name": name, "arguments": arguments}


ITEM, OTHER = item_of(0, "f", '{"a":1}'), item_of(1, "g", '{"b":2}')
MESSAGE = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hello."}]}


def item_events(item: dict[str, Any], **place: int) -> Events:
    """The events of one call, with no more than its place to tell it by."""
    arguments = item["arguments"]
    return [
        {"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", **place, "delta": arguments[:3]},
        {"type": "response.function_call_arguments.delta", **place, "delta": arguments[3:]},
        {"type": "response.function_call_arguments.done", **place, "arguments": arguments},
        {"type": "response.output_item.done", **place, "item": item},
    ]


def completed(*output: dict[str, Any]) -> dict[str, Any]:
    response = {"id": "r1", "model": "m", "status": "completed", "output": list(output)}
    return {"type": "response.completed", "response": response}


def test_a_call_of_responses_without_places_is_told_once() -> None:
    assert calls_for("openai-responses", [*item_events(ITEM), completed(ITEM)]) == [F]


def test_a_call_of_responses_with_another_place_at_the_end_is_told_once() -> None:
    assert calls_for("openai-responses", [*item_events(ITEM, output_index=1), completed(ITEM)]) == [F]


def test_two_calls_of_responses_at_one_place_are_told_once_each() -> None:
    events = [*item_events(ITEM, output_index=0), *item_events(OTHER, output_index=0), completed(ITEM, OTHER)]
    assert calls_for("openai-responses", events) == [F, G]


def test_two_calls_of_responses_at_one_place_by_their_last_arguments_alone_are_told_once_each() -> None:
    deltas = "response.function_call_arguments.delta"
    events = [*item_events(ITEM, output_index=0), *item_events(OTHER, output_index=0), completed(ITEM, OTHER)]
    assert calls_for("openai-responses", [event for event in events if event["type"] != deltas]) == [F, G]


def test_a_call_of_responses_that_ends_twice_is_told_once() -> None:
    events = item_events(ITEM, output_index=0)
    assert calls_for("openai-responses", [*events, events[-1], events[0], *events, completed(ITEM)]) == [F]


def test_a_call_of_responses_whose_last_event_has_another_id_is_told_once() -> None:
    """As hosts do that encrypt ids anew for each event."""
    renamed = {**ITEM, "id": "other", "call_id": "fresh"}
    assert calls_for("openai-responses", [*item_events(ITEM, output_index=0), completed(renamed)]) == [F]


def test_a_call_of_responses_that_began_unheard_is_told_by_its_whole_arguments() -> None:
    begun, *rest = item_events(ITEM, output_index=0)
    assert calls_for("openai-responses", [rest[0], begun, *rest[1:], completed(ITEM)]) == [F]


def test_arguments_of_responses_that_begin_as_an_empty_object_are_the_real_ones() -> None:
    begun, *rest = item_events(ITEM, output_index=0)
    begun["item"]["arguments"] = "{}"
    assert calls_for("openai-responses", [begun, *rest[2:], completed(ITEM)]) == [F]


def test_two_calls_of_responses_with_one_id_are_both_told() -> None:
    twin = {**OTHER, "call_id": "c0"}
    assert calls_for("openai-responses", [completed(ITEM, twin)]) == [F, G]
    assert calls_for("openai-responses", [*item_events(ITEM, output_index=0), completed(ITEM, twin)]) == [F, G]
    assert calls_for("openai-responses", [completed(ITEM, ITEM)]) == [F]


@pytest.mark.parametrize("place", [{}, {"output_index": 3}], ids=["no place", "another place"])
@pytest.mark.parametrize("part", [{}, {"content_index": 1}], ids=["no part", "another part"])
def test_words_of_responses_are_told_once(place: dict[str, int], part: dict[str, int]) -> None:
    said = {"type": "response.output_text.delta", **place, **part, "delta": "Hello."}
    stream = stream_through("openai-responses", "openai-chat", [sse(said, completed(MESSAGE))])
    assert [text for event in events_of(stream) if (text := event["choices"][0]["delta"].get("content"))] == ["Hello."]


def test_a_message_of_responses_that_no_event_told_is_told_at_the_end() -> None:
    second = {**MESSAGE, "id": "m2", "content": [{"type": "output_text", "text": "More."}]}
    said = {"type": "response.output_text.delta", "item_id": "m1", "delta": "Hello."}
    stream = stream_through("openai-responses", "openai-chat", [sse(said, completed(MESSAGE, second))])
    texts = [text for event in events_of(stream) if (text := event["choices"][0]["delta"].get("content"))]
    assert texts == ["Hello.", "More."]


# --- Anthropic ---


def block_events(number: int, name: str, arguments: str, *, given: Any = None, **place: int) -> Events:
    block = {"type": "tool_use", "id": f"c{number}", "name": name, "input": given or {}}
    pieces = [arguments[:3], arguments[3:]] if arguments else []
    return [
        {"type": "content_block_start", **place, "content_block": block},
        *(
            {"type": "content_block_delta", **place, "delta": {"type": "input_json_delta", "partial_json": piece}}
            for piece in pieces
        ),
        {"type": "content_block_stop", **place},
    ]


STOPPED = [{"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


@pytest.mark.parametrize("place", [{}, {"index": 0}], ids=["no index", "one index"])
def test_blocks_that_are_not_counted_are_told_once_each(place: dict[str, int]) -> None:
    events = [*block_events(0, "f", '{"a":1}', **place), *block_events(1, "g", '{"b":2}', **place), *STOPPED]
    assert calls_for("anthropic", events, "openai-chat") == [F, G]


def test_blocks_that_do_not_end_are_told_once_each() -> None:
    events = [*block_events(0, "f", '{"a":1}', index=0)[:-1], *block_events(1, "g", '{"b":2}', index=0)[:-1]]
    assert calls_for("anthropic", [*events, *STOPPED], "openai-chat") == [F, G]


@pytest.mark.parametrize("index", [0, 1])
def test_a_block_that_comes_again_is_told_once(index: int) -> None:
    once, again = block_events(0, "f", '{"a":1}', index=0), block_events(0, "f", '{"a":1}', index=index)
    assert calls_for("anthropic", [*once, *again, *STOPPED], "openai-chat") == [F]


@pytest.mark.parametrize("arguments", ["", '{"a":1}'])
@pytest.mark.parametrize("ends", [True, False])
def test_input_in_the_first_event_of_a_block_is_told_once(arguments: str, ends: bool) -> None:
    events = block_events(0, "f", arguments, given={"a": 1}, index=0)
    assert calls_for("anthropic", [*(events if ends else events[:-1]), *STOPPED], "openai-chat") == [F]


# --- Gemini ---


def parts_chunk(*parts: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    stop = {"finishReason": reason} if reason else {}
    return {"responseId": "r1", "candidates": [{"content": {"role": "model", "parts": list(parts)}, **stop}]}


def test_a_call_of_gemini_with_an_id_is_told_once() -> None:
    call = {"functionCall": {"id": "c0", "name": "f", "args": {"a": 1}}}
    assert calls_for("gemini", [parts_chunk(call), parts_chunk(call, reason="STOP")]) == [F]


def test_a_call_of_gemini_without_an_id_is_told_once_when_the_last_chunk_is_repeated() -> None:
    last = parts_chunk({"functionCall": {"name": "f", "args": {"a": 1}}}, reason="STOP")
    assert calls_for("gemini", [last, last]) == [F]


def test_two_calls_of_gemini_that_ask_for_the_same_are_both_told() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    assert calls_for("gemini", [parts_chunk(call, call, reason="STOP")]) == [F, F]


# --- Any of it at once ---


def each(events: Events, change: Callable[[dict[str, Any]], Any]) -> Events:
    for event in events:
        change(event)
    return events


def _chat_pieces(events: Events) -> Events:
    return [call for event in events for choice in event["choices"] for call in pieces_in(choice)]


def _drop_numbers(events: Events) -> Events:
    each(_chat_pieces(events), lambda call: call.pop("index", None))
    return events


def _all_zero(events: Events) -> Events:
    each(_chat_pieces(events), lambda call: call.update(index=0))
    return events


def _repeat_ids(events: Events) -> Events:
    last: dict[str, Any] = {}
    for call in _chat_pieces(events):
        if "id" in call:
            last = {"id": call["id"], "name": call["function"]["name"]}
        call["id"], call["function"]["name"] = last["id"], last["name"]
    return events


def _repeat_calls(events: Events) -> Events:
    whole = [
        calling(number, json.dumps(call.arguments), call_id=call.id, name=call.name)
        for number, call in enumerate(CALLS)
    ]
    place = next(number for number, event in enumerate(events) if event["choices"][0]["finish_reason"])
    return [*events[:place], *whole, *events[place:]]


def _without(*members: str) -> Callable[[Events], Events]:
    return lambda events: each(events, lambda event: [event.pop(member, None) for member in members])


def _leave_out(kind: str) -> Callable[[Events], Events]:
    return lambda events: [event for event in events if event["type"] != kind]


def _double(kind: str) -> Callable[[Events], Events]:
    return lambda events: [one for event in events for one in [event] * (1 + (event["type"] == kind))]


def _same(member: str) -> Callable[[Events], Events]:
    return lambda events: each(events, lambda event: event.update({member: 0}) if member in event else None)


def _new_item_ids(events: Events) -> Events:
    for number, event in enumerate(events):
        if "item_id" in event:
            event["item_id"] = f"new{number}"
        if "item" in event:
            event["item"]["id"] = f"new{number}"
    return events


def _final_without_reasoning(events: Events) -> Events:
    output = events[-1]["response"]["output"]
    output[:] = [item for item in output if item["type"] != "reasoning"]
    return events


def _repeat_blocks(events: Events) -> Events:
    place = next(number for number, event in enumerate(events) if event["type"] == "message_delta")
    blocks = [event for event in events if event.get("index", 0) >= 2]
    return [*events[:place], *copy.deepcopy(blocks), *events[place:]]


def _whole_input(events: Events) -> Events:
    inputs = iter(CALLS)
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            event["content_block"]["input"] = next(inputs).arguments
    return events


MUTATIONS: dict[Dialect, list[list[Callable[[Events], Events]]]] = {
    # One of each list at most: without its numbers and its ids at once nothing tells a call from another.
    "openai-chat": [[_repeat_ids], [_repeat_calls], [_drop_numbers, _all_zero]],
    "openai-responses": [
        [_final_without_reasoning],
        [_double("response.output_item.done")],
        [_double("response.output_item.added"), _leave_out("response.output_item.added")],
        [_double("response.function_call_arguments.done")],
        [_leave_out("response.function_call_arguments.delta")],
        [_leave_out("response.output_item.done")],
        [_without("output_index"), _same("output_index"), _without("item_id"), _new_item_ids],
    ],
    "anthropic": [[_whole_input], [_repeat_blocks], [_without("index"), _same("index")]],
    "gemini": [[lambda events: [*events, copy.deepcopy(events[-1])]], [lambda events: [*events[:-1], *events[-2:]]]],
}


@pytest.mark.parametrize("source", DIALECTS)
@given(data=st.data())
def test_no_call_is_told_twice_or_with_other_arguments(source: Dialect, data: st.DataObject) -> None:
    events = events_of(stream_of(source, False))
    for kind in MUTATIONS[source]:
        change = data.draw(st.sampled_from([None, *kind]))
        events = change(events) if change is not None else events
    to: Dialect = "anthropic" if source != "anthropic" else "openai-chat"
    done = ["[DONE]"] if source == "openai-chat" else []
    assert calls_for(source, [*events, *done], to) == [(call.name, call.arguments) for call in REPLY.tool_calls]
