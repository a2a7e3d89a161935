from __future__ import annotations

from ullage.core.tokens import compact_json, stable_json


def test_compact_json_is_minified_keeps_order_and_non_ascii() -> None:
    assert compact_json({"b": [1, True, None], "a": "é"}) == '{"b":[1,true,null],"a":"é"}'


def test_stable_json_sorts_keys_at_every_depth() -> None:
    assert stable_json({"b": {"d": 1, "c": 2}, "a": [{"z": 0, "y": 0}]}) == '{"a":[{"y":0,"z":0}],"b":{"c":2,"d":1}}'


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert compact_json({"\ud83d": ["a\udc00b"]}) == '{"\ufffd":["a\ufffdb"]}'
