"""Tools, calls and results as Gemini's models are shown them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.core.accounting.tools import JSON_VALUES
from ullage.core.accounting.gemini_tools import (
    MARK,
    marked_call,
    marked_declaration,
    marked_result,
    python_call,
    python_declaration,
    python_result,
)

WEATHER = {
    "type": "OBJECT",
    "properties": {
        "city": {"type": "STRING", "description": "The city"},
        "unit": {"type": "STRING", "enum": ["c", "f"]},
    },
    "required": ["city"],
}
ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}},
    "required": ["street"],
    "description": "Where.",
}


def shown(text: str) -> str:
    return text.replace(MARK, "|")


def test_a_tool_is_a_python_function_with_its_arguments_in_the_docstring() -> None:
    assert python_declaration("get_weather", "Tells it.", WEATHER) == (
        "def get_weather(\n    city: str,\n    unit: Literal['c', 'f'] | None = None,\n) -> dict:\n"
        '  """Tells it.\n\n  Args:\n    city: The city\n    unit: \n  """\n\n'
    )


def test_an_object_is_a_data_class_named_after_where_it_stands() -> None:
    text = python_declaration("add_person", "", {"properties": {"home_address": ADDRESS}, "required": ["home_address"]})
    assert text.startswith(
        "@dataclasses.dataclass(kw_only=True)\nclass AddPersonHomeAddress:\n"
        '  """Where.\n\n  Attributes:\n    street: \n  """\n  street: str\n\n'
    )
    assert "    home_address: AddPersonHomeAddress,\n" in text


def test_references_and_alternatives_are_types() -> None:
    schema = {
        "properties": {
            "home": {"$ref": "#/$defs/Address"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "loop": {"$ref": "#/$defs/Loop"},
        },
        "required": ["home", "tags"],
        "$defs": {"Address": ADDRESS, "Loop": {"$ref": "#/$defs/Loop"}},
    }
    text = python_declaration("f", "", schema)
    for line in ("home: FHome,", "tags: list[str],", "note: str | None = None,", "loop: Any | None = None,"):
        assert f"    {line}\n" in text


def test_calls_and_results_are_python_and_json() -> None:
    assert python_call("get_weather", '{"city":"Paris","days":2}') == (
        "print(default_api.get_weather(city = 'Paris', days = 2))"
    )
    assert python_result("get_weather", '{"value":"sunny"}') == '{"get_weather_response": {"value": "sunny"}}'
    assert python_result(None, "sunny") == '{"function_response": {"result": "sunny"}}'


def test_the_newer_notation_sets_strings_between_marks() -> None:
    assert shown(marked_declaration("get_weather", "Tells it.", WEATHER)) == (
        "|declaration:get_weather{description:|Tells it.|,parameters:{properties:{"
        "city:{description:|The city|,type:|STRING|},unit:{enum:[|c|,|f|],type:|STRING|}},"
        "required:[|city|],type:|OBJECT|}}|"
    )
    assert shown(marked_call("f", '{"a":"x","b":[1,true]}')) == "|call:f{a:|x|,b:[1,true]}|"
    assert shown(marked_result("f", "plain")) == "|response:f{value:|plain|}|"


def test_what_is_left_out_is_not_written() -> None:
    assert shown(marked_declaration("now", "", {"type": "object", "properties": {}})) == (
        "|declaration:now{parameters:{type:|OBJECT|}}|"
    )
    assert python_call("now", "") == "print(default_api.now())"


@given(st.text(max_size=20), JSON_VALUES, st.text(max_size=60))
def test_any_schema_any_arguments_and_any_result_can_be_written(name: str, schema: Any, text: str) -> None:
    for write in (python_declaration, marked_declaration):
        assert name in write(name, text, schema if isinstance(schema, dict) else {"properties": {"p": schema}})
    for write_text in (python_call, marked_call):
        assert name in write_text(name, text)
    for write_result in (python_result, marked_result):
        assert write_result(name, text)
