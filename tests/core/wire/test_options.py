"""Members beside the messages: only what is changed is written anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.wire import parse_request, render
from ullage.core.wire.options import REMOVED


def set_in(body: bytes, options: dict[tuple[str, ...], Any]) -> bytes:
    return render(parse_request(body, "openai-chat"), options=options)


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        (b'{"a": 1,  "messages":[]}', {("b",): "x"}, b'{"a": 1,  "messages":[],"b":"x"}'),
        (b'{"a": 1,  "messages":[]}', {("a",): 2}, b'{"a": 2,  "messages":[]}'),
        (b'{"a": 1,  "messages":[]}', {("a",): REMOVED}, b'{"messages":[]}'),
        (b'{"a": 1,  "messages":[]}', {("c",): REMOVED}, b'{"a": 1,  "messages":[]}'),
        (b'{"t": { "x": 1 } }', {("t", "y"): 2}, b'{"t": { "x": 1,"y":2 } }'),
        (b'{"t": { "x": 1 } }', {("t", "x"): REMOVED}, b'{"t": {  } }'),
        (b'{"t": { "x": 1 } }', {("t", "x"): REMOVED, ("t", "y"): 3}, b'{"t": { "y":3 } }'),
        (b'{"t": {} }', {("t", "y"): 3}, b'{"t": {"y":3} }'),
        (b'{"t": null}', {("t", "y"): 3}, b'{"t": {"y":3}}'),
        (b'{"t": null}', {("t", "y"): REMOVED}, b'{"t": null}'),
        (b"{ }", {("t", "y", "z"): 3}, b'{"t":{"y":{"z":3}} }'),
        (b'{"a":1,"a":2,"b":3}', {("a",): REMOVED}, b'{"b":3}'),
        (b'{"a":1}', {("a",): REMOVED, ("b",): 1}, b'{"b":1}'),
    ],
)
def test_a_member_is_set_or_goes(body: bytes, options: dict[tuple[str, ...], Any], expected: bytes) -> None:
    assert set_in(body, options) == expected


def test_what_is_set_to_what_it_is_stays_as_it_is_written() -> None:
    body = b'{"reasoning":{"effort":"low"} , "messages":[{"role":"user","content":"hi"}]}'
    assert set_in(body, {("reasoning", "effort"): "low"}) == body


def test_model_messages_and_options_change_together() -> None:
    conversation = parse_request(
        b'{"model":"auto","messages":[{"role":"user","content":"@high hi"}],"effort":"x"}', "openai-chat"
    )
    changed = render(
        conversation,
        model="m",
        replaced={0: b'{"role":"user","content":"hi"}'},
        options={("effort",): REMOVED, ("reasoning_effort",): "low"},
    )
    assert changed == b'{"model":"m","messages":[{"role":"user","content":"hi"}],"reasoning_effort":"low"}'


keys = st.sampled_from("abcd")
values = st.recursive(st.integers() | st.text() | st.none(), lambda inner: st.dictionaries(keys, inner, max_size=3))


@given(
    st.dictionaries(keys, values, max_size=4),
    st.dictionaries(st.tuples(keys) | st.tuples(keys, keys), st.integers() | st.just(REMOVED), max_size=3),
)
def test_the_result_says_what_was_set(body: dict[str, Any], options: dict[tuple[str, ...], Any]) -> None:
    for path in list(options):
        if len(path) == 2 and path[:1] in options:
            del options[path]
    changed = json.loads(set_in(json.dumps(body).encode(), options))
    for path, value in options.items():
        found: Any = changed
        for key in path:
            found = found.get(key, REMOVED) if isinstance(found, dict) else REMOVED
        assert found == value
    touched = {path[0] for path in options}
    assert {key: value for key, value in changed.items() if key not in touched} == {
        key: value for key, value in body.items() if key not in touched
    }
