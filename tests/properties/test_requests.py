"""Design, section 5: what is not changed is never serialised again, and nothing that a client sends breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.strategies import dialects, plain_values, requests
from ullage.core.errors import RequestError
from ullage.core.wire import (
    DIALECTS,
    Conversation,
    Dialect,
    canonical_hash,
    parse_request,
    read_context,
    render,
)

relaxed = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def parsed(data: st.DataObject, dialect: Dialect, having: str | None = None) -> Conversation:
    return parse_request(data.draw(requests(dialect, having=having)), dialect)


def pairs(body: bytes) -> list[tuple[str, Any]]:
    """The top-level members in order, duplicates too, read by another JSON reader than ours."""
    text = body.decode("utf-8-sig")
    return json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str, strict=False).decode(text.strip())


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_request_of_which_all_is_kept_is_the_very_body(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    everything = {
        "messages": range(len(conversation.messages)),
        "tools": range(len(conversation.tools)),
        "system": range(len(conversation.system)),
    }
    assert render(conversation) is conversation.body
    assert render(conversation, **everything, model=conversation.model) == conversation.body


@given(data=st.data(), dialect=dialects)
@relaxed
def test_slices_are_the_bytes_at_their_place(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    for piece in (*conversation.system, *conversation.tools, *conversation.messages):
        assert conversation.body[piece.start : piece.start + len(piece.raw)] == piece.raw


@given(data=st.data(), dialect=dialects)
@relaxed
def test_any_selection_is_valid_json_of_the_kept_bytes(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    kept = {
        name: sorted(data.draw(st.sets(st.sampled_from(range(len(slices))))) if slices else ())
        for name, slices in _slices(conversation).items()
    }
    body = render(conversation, **kept)
    again = parse_request(body, dialect)
    pairs(body)
    for name, slices in _slices(conversation).items():
        expected = [slices[index].raw for index in kept[name]]
        assert [piece.raw for piece in _slices(again)[name]] == expected
    assert again.model == conversation.model
    assert again.options == conversation.options


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_selection_of_messages_leaves_every_other_member_alone(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect, "messages")
    kept = sorted(data.draw(st.sets(st.sampled_from(range(len(conversation.messages))))))
    before, after = pairs(conversation.body), pairs(render(conversation, messages=kept))
    assert [key for key, _ in before] == [key for key, _ in after]
    assert sum(left != right for left, right in zip(before, after, strict=True)) <= 1


@given(data=st.data(), dialect=dialects)
@relaxed
def test_another_model_changes_nothing_but_the_model(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect, "model")
    named = [member for member in conversation.members if member.key == "model"]
    body = render(conversation, model="other/model")
    if not named:  # Gemini's may stand beside a wrapped request; there the path names the model
        assert (dialect, body) == ("gemini", conversation.body)
        return
    assert body == b"".join(
        (conversation.body[: named[-1].value], b'"other/model"', conversation.body[named[-1].end :])
    )


@given(body=st.binary(max_size=60), dialect=dialects)
@relaxed
def test_any_bytes_are_a_request_or_a_request_error(body: bytes, dialect: Dialect) -> None:
    _parse_or_refuse(body, dialect)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_a_damaged_request_is_a_request_or_a_request_error(data: st.DataObject, dialect: Dialect) -> None:
    body = data.draw(requests(dialect))
    assume(body)
    place = data.draw(st.integers(0, len(body) - 1))
    damaged = data.draw(
        st.sampled_from([body[:place], body[:place] + body[place + 1 :], body[:place] + b'"' + body[place:]])
    )
    _parse_or_refuse(damaged, dialect)


@given(data=st.data(), dialect=dialects)
@relaxed
def test_reading_and_hashing_never_raise(data: st.DataObject, dialect: Dialect) -> None:
    conversation = parsed(data, dialect)
    context = read_context(conversation)
    assert len(context.messages) == len(conversation.messages)
    assert len(context.tools) == len(conversation.tools)
    for slices in _slices(conversation).values():
        for piece in slices:
            canonical_hash(piece, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@relaxed
def test_the_canonical_hash_sees_neither_key_order_nor_cache_marks_nor_the_form_of_a_text(
    data: st.DataObject, dialect: Dialect
) -> None:
    message = data.draw(messages(dialect))
    variant = data.draw(restyled(message, dialect))
    assert _hash(message, dialect) == _hash(variant, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(text=st.text(max_size=20), other=st.text(max_size=20))
@relaxed
def test_the_canonical_hash_tells_texts_apart(dialect: Dialect, text: str, other: str) -> None:
    assume(text != other)
    assert _hash(_text_message(dialect, text), dialect) != _hash(_text_message(dialect, other), dialect)


def _slices(conversation: Conversation) -> dict[str, Any]:
    return {
        "messages": conversation.messages,
        "tools": conversation.tools,
        "system": conversation.system,
    }


def _parse_or_refuse(body: bytes, dialect: Dialect) -> None:
    try:
        conversation = parse_request(body, dialect)
    except RequestError as error:
        assert error.message
    else:
        read_context(conversation)


_LISTS = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}


def _hash(message: Any, dialect: Dialect) -> int:
    body = json.dumps({_LISTS[dialect]: [message]}).encode()
    return canonical_hash(parse_request(body, dialect).messages[0], dialect)


def _text_message(dialect: Dialect, text: str) -> dict[str, Any]:
    if dialect == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def messages(dialect: Dialect) -> st.SearchStrategy[dict[str, Any]]:
    """Messages with a text in either form, or with two blocks."""
    text_type = "input_text" if dialect == "openai-responses" else "text"
    block = st.fixed_dictionaries({"type": st.just(text_type), "text": st.text(max_size=8)})
    if dialect == "gemini":
        part = st.fixed_dictionaries({"text": st.text(max_size=8)}, optional={"inlineData": plain_values})
        return st.fixed_dictionaries({"role": st.just("user"), "parts": st.lists(part, min_size=1)})
    content = st.one_of(st.text(max_size=8), st.lists(block, min_size=1, max_size=3))
    return st.fixed_dictionaries({"role": st.just("user"), "content": content}, optional={"extra": plain_values})


@st.composite
def restyled(draw: st.DrawFn, message: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The same message as a client may write it in the next turn."""
    text_type = "input_text" if dialect == "openai-responses" else "text"
    content = message.get("content")
    changed = dict(message)
    if isinstance(content, str) and draw(st.booleans()):
        changed["content"] = [{"text": content, "type": text_type}]
    elif isinstance(content, list):
        marked = [{"cache_control": {"type": "ephemeral"}, **block} for block in content]
        alone = len(content) == 1 and draw(st.booleans())
        changed["content"] = content[0]["text"] if alone else marked
    return {key: changed[key] for key in draw(st.permutations(list(changed)))}


_SPLICES = st.sampled_from(
    [
        b',{"role":"user"}',
        b",[[1]]",
        b', "\\ud800"',
        b"5",
        b"[",
        b"]",
        b'"',
        b"}",
        b" ",
        b"\xff",
        b",",
        b'],"tools":[{"t":1}',
    ],
)


@given(data=st.data(), dialect=dialects)
@settings(relaxed, max_examples=100)
def test_extending_an_earlier_request_is_the_same_as_parsing_it_whole(data: st.DataObject, dialect: Dialect) -> None:
    """The next turn in all shapes: messages added or changed at the end, other members changed, or no JSON at all."""
    previous = parsed(data, dialect, "messages")
    assume(previous.messages)  # a member of the same name, written with escapes, may have replaced them
    last = previous.messages[-1].start + len(previous.messages[-1].raw)
    body = previous.body
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.one_of(st.just(last), st.integers(last - 4, len(body)), st.integers(0, len(body))))
        cut_off = data.draw(st.integers(0, 3))
        body = body[:place] + data.draw(_SPLICES) + body[place + cut_off :]
    assert _outcome(body, dialect, previous) == _outcome(body, dialect, None)


def _outcome(body: bytes, dialect: Dialect, previous: Conversation | None) -> Conversation | str:
    try:
        return parse_request(body, dialect, previous=previous)
    except RequestError as error:
        return error.message
