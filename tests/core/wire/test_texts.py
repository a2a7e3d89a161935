"""Texts inside of JSON are edited where they stand, and nothing else is touched."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import values
from ullage.core.wire.texts import FLAT, Editor, Place, Value, read_value, rewrite


class Upper(Editor):
    """Texts in capitals; names and whole values as they are."""

    def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
        return None

    def text(self, place: Place, text: str) -> str:
        return text.upper()

    def name(self, place: Place, name: str) -> str:
        return name


class Names(Upper):
    """Every name that begins with `x` becomes `y`."""

    def text(self, place: Place, text: str) -> str:
        return text

    def name(self, place: Place, name: str) -> str:
        return "y" if name.startswith("x") else name


class Same(Names):
    def name(self, place: Place, name: str) -> str:
        return name


def test_only_texts_change_and_spaces_numbers_and_order_stay() -> None:
    raw = b'{ "b" : [ "x", 1.50, null ],\n "a":"\\u00e9" , "c":{}}'
    assert rewrite(raw, Upper()) == '{ "b" : [ "X", 1.50, null ],\n "a":"É" , "c":{}}'.encode()


def test_a_text_that_is_json_is_edited_inside() -> None:
    raw = json.dumps({"arguments": json.dumps({"a": "x", "n": [1, "y"]})}).encode()
    assert json.loads(json.loads(rewrite(raw, Upper()))["arguments"]) == {"a": "X", "n": [1, "Y"]}


@pytest.mark.parametrize("text", ["[not json", '{"a": 1} and more', "[ds4:internal] x", '"x"', "{"])
def test_a_text_that_only_begins_like_json_is_a_text(text: str) -> None:
    assert json.loads(rewrite(json.dumps([text]).encode(), Upper())) == [text.upper()]


def test_texts_are_edited_as_they_are_from_the_flat_place_on() -> None:
    raw = json.dumps({"a": '{"b": "c"}'}).encode()
    assert json.loads(rewrite(raw, Upper(), FLAT)) == {"a": '{"B": "C"}'}


def test_json_inside_of_json_without_end_is_read_some_levels_deep() -> None:
    text = "x"
    for _ in range(12):
        text = json.dumps([text])
    assert "x" in rewrite(text.encode(), Names()).decode()


def test_a_list_deeper_than_any_request_is_a_text() -> None:
    text = "[" * 400 + "]" * 400
    assert rewrite(json.dumps([text]).encode(), Upper()) == json.dumps([text]).encode()


def test_names_that_would_collide_get_a_number() -> None:
    assert rewrite(b'{"x1":1,"y":2,"x2":3}', Names()) == b'{"y 2":1,"y":2,"y 3":3}'


def test_a_repeated_name_is_edited_each_time() -> None:
    assert rewrite(b'{"a":"x","a":"y"}', Upper()) == b'{"a":"X","a":"Y"}'


def test_a_value_may_be_replaced_whole_by_its_place() -> None:
    class Replace(Upper):
        def whole(self, place: Place, raw: bytes, value: Value) -> bytes | None:
            return b"0" if place.path == ("a", "b") else None

    assert rewrite(b'{"a":{"b":{"c":1}},"b":"x"}', Replace()) == b'{"a":{"b":0},"b":"X"}'


def test_a_member_is_the_last_of_its_name() -> None:
    raw = b'{"type":"a","type":"b"}'
    assert read_value(raw).member(raw, "type") == b'"b"'
    assert read_value(raw).member(raw, "other") is None


@given(values)
def test_whatever_is_not_edited_stays_byte_by_byte(text: str) -> None:
    raw = text.encode()
    assert rewrite(raw, Same()) == raw


@given(values, st.data())
def test_spans_are_those_of_the_values(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    value = read_value(raw)
    assert (value.start, value.end) == (0, len(raw))
    while value.items:
        value = data.draw(st.sampled_from(value.items))
        json.loads(raw[value.start : value.end], strict=False, parse_int=str)
