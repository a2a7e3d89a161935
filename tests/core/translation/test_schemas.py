"""Schemas in the subsets of Gemini and Anthropic."""

from __future__ import annotations

from typing import Any

import pytest
from google.genai.types import Schema

from ullage.core.translation import TranslationRefused
from ullage.core.translation.losses import Losses
from ullage.core.translation.requests.reading.gemini import json_schema
from ullage.core.translation.schemas import anthropic_schema, gemini_schema, has_maps

OF: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a type": ({"type": "string"}, {"type": "STRING"}, False),
    "a type or nothing": ({"type": ["integer", "null"]}, {"type": "INTEGER", "nullable": True}, False),
    "one of two types": (
        {"type": ["integer", "string"]},
        {"anyOf": [{"type": "INTEGER"}, {"type": "STRING"}]},
        False,
    ),
    "a text, a list or an object": (
        {
            "type": ["string", "array", "object", "null"],
            "description": "d",
            "items": {"type": "integer"},
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
            "minLength": 1,
        },
        {
            "description": "d",
            "nullable": True,
            "anyOf": [
                {"type": "STRING", "minLength": 1},
                {"type": "ARRAY", "items": {"type": "INTEGER"}},
                {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
            ],
        },
        False,
    ),
    "an object of any members": (
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "OBJECT"},
        True,
    ),
    "an object of any members inside": (
        {"type": "object", "properties": {"m": {"type": "object", "additionalProperties": True}}},
        {"type": "OBJECT", "properties": {"m": {"type": "OBJECT"}}},
        True,
    ),
    "words": ({"enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}, False),
    "a word": ({"const": "a"}, {"type": "STRING", "enum": ["a"]}, False),
    "numbers to choose from": ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER"}, True),
    "one of": (
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        False,
    ),
    "something or nothing": (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"},
        {"type": "STRING", "description": "d", "nullable": True},
        False,
    ),
    "all of": (
        {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        False,
    ),
    "a list of anything": ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}, False),
    "a format that it knows": (
        {"type": "string", "format": "date-time"},
        {"type": "STRING", "format": "date-time"},
        False,
    ),
    "a format that it refuses": ({"type": "string", "format": "uri"}, {"type": "STRING"}, False),
    "what is required and not there": (
        {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
        {"type": "OBJECT", "properties": {"a": {}}, "required": ["a"]},
        False,
    ),
    "a closed object": ({"type": "object", "additionalProperties": False}, {"type": "OBJECT"}, False),
    "a rule that it does not know": ({"type": "object", "patternProperties": {}}, {"type": "OBJECT"}, True),
}


@pytest.mark.parametrize(("given", "expected", "told"), OF.values(), ids=OF)
def test_gemini_gets(given: dict[str, Any], expected: dict[str, Any], told: bool) -> None:
    losses = Losses()
    found = gemini_schema(given, losses, where="tools.x")
    assert found == expected
    assert bool(losses.found()) == told
    Schema.model_validate(found)


def test_references_are_put_in_place() -> None:
    given = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {"type": "object", "properties": {"name": {"$ref": "#/$defs/name"}}},
            "name": {"type": "string"},
        },
    }
    expected = {"type": "OBJECT", "properties": {"name": {"type": "STRING"}}}
    assert gemini_schema(given, Losses(), where="tools.x") == expected


def test_a_schema_that_holds_itself_ends() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    losses = Losses()
    found = gemini_schema({"$ref": "#/$defs/node", "$defs": {"node": node}}, losses, where="tools.x")
    assert found == {"type": "OBJECT", "properties": {"next": {"type": "OBJECT"}}}
    assert [loss.code for loss in losses.found()] == ["schema"]


def test_a_schema_made_to_multiply_is_refused() -> None:
    names = [f"d{number}" for number in range(12)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    given = {
        "type": "object",
        "properties": every,
        "$defs": {name: {"type": "object", "properties": every} for name in names},
    }
    with pytest.raises(TranslationRefused, match="refers to itself too often"):
        gemini_schema(given, Losses(), where="tools.x")


def test_geminis_own_schemas_are_read_as_json_schema() -> None:
    given = {
        "type": "OBJECT",
        "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING", "nullable": True}, "min_items": 1}},
    }
    expected = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 1}},
    }
    assert json_schema(given) == expected


def test_anthropic_gets_closed_objects_without_limits() -> None:
    losses = Losses()
    given = {"type": "object", "properties": {"minimum": {"type": "integer", "minimum": 1}}, "required": ["minimum"]}
    assert anthropic_schema(given, losses) == {
        "type": "object",
        "properties": {"minimum": {"type": "integer"}},
        "required": ["minimum"],
        "additionalProperties": False,
    }
    assert [loss.code for loss in losses.found()] == ["schema"]


def test_an_object_that_may_be_nothing_is_closed_for_anthropic_too() -> None:
    inner = {"type": ["object", "null"], "properties": {"a": {"properties": {}}}}
    found = anthropic_schema({"type": "object", "properties": {"m": inner}}, losses := Losses())
    assert found["properties"]["m"]["additionalProperties"] is False
    assert found["properties"]["m"]["properties"]["a"] == {"properties": {}, "additionalProperties": False}
    assert losses.found() == ()


def test_closing_an_object_that_was_said_to_be_open_is_told() -> None:
    losses = Losses()
    given = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    assert anthropic_schema(given, losses)["additionalProperties"] is False
    assert [loss.code for loss in losses.found()] == ["schema"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"type": "object", "additionalProperties": {"type": "string"}}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}}, True),
        ({"type": "object"}, True),
        ({"type": "array", "items": {"type": ["object", "null"]}}, True),
        ({"$ref": "#/$defs/properties", "$defs": {"properties": {"type": "object"}}}, True),
        ({"type": "object", "properties": {"additionalProperties": {"type": "string"}}}, False),
        ({"type": "object", "properties": {"a": {"enum": [{"type": "object"}]}}}, False),
        ({"type": "object", "additionalProperties": False}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, False),
        ({}, False),
    ],
)
def test_maps_are_told_from_objects_of_known_members(given: dict[str, Any], expected: bool) -> None:
    assert has_maps(given) == expected
