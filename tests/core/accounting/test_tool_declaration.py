"""Declarations as OpenAI's models are shown them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.accounting.tools import FIND_FILES, JSON_VALUES, PING
from ullage.core.accounting.tool_declaration import SEPARATOR, declare_tool
from ullage.core.tokens import load_vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.core.content import ToolSpec
    from ullage.core.profiles import DeclarationStyle


def declared(tool: ToolSpec, style: DeclarationStyle = "lined") -> str:
    return declare_tool(tool.name, tool.description, tool.parameters, style).removeprefix(SEPARATOR)


def typed(schema: dict[str, Any], style: DeclarationStyle = "lined", **root: Any) -> str:
    text = declare_tool("t", "", {"properties": {"p": schema}, "required": ["p"], **root}, style)
    return text.removeprefix(f"{SEPARATOR}type t = (_: ").removesuffix(") => any")


def test_an_explained_property_stands_on_a_line_of_its_own() -> None:
    assert declared(PING) == "// Send a ping.\ntype ping = (_: {\n// Target host\nhost: string,\n}) => any"


def test_an_object_without_comments_stands_on_one_line() -> None:
    assert typed({"type": "string"}) == "{ p: string }"
    assert typed({"type": "object", "properties": {"x": {"type": "number"}}}) == "{ p: { x?: number } }"


def test_a_tool_without_properties_takes_nothing() -> None:
    assert declare_tool("now", "Tells.", {"type": "object", "properties": {}}, "lined") == (
        f"{SEPARATOR}// Tells.\ntype now = () => any"
    )


def test_the_schemas_own_title_and_description_come_before_the_object() -> None:
    assert typed({"type": "string"}, title="args", description="All of it.") == "// args\n// All of it.\n{ p: string }"


def test_a_title_is_one_line() -> None:
    assert typed({"type": "string", "title": "City"}) == "{\n// City\np: string,\n}"


def test_lines_of_a_description_lose_the_white_space_around_them() -> None:
    text = declare_tool("t", "Does.\n\n    Args:\n        x: what\n    ", None, "flat")
    assert text == f"{SEPARATOR}// Does.\n//\n// Args:\n// x: what\ntype t = () => any"


def test_unions_and_objects_of_lists_differ_by_line_of_models() -> None:
    union = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    listed = {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}
    assert typed(union, "lined") == "{\np: \n | string\n | null,\n}"
    assert typed(union, "flat") == "{ p: string | null }"
    assert typed(listed, "lined") == "{\np: {\nx?: number,\n}[],\n}"
    assert typed(listed, "flat") == "{ p: { x?: number }[] }"


def test_defaults_and_constraints_stand_behind_their_property() -> None:
    schema = {"type": "integer", "default": 20, "minimum": 1, "maximum": 100}
    assert typed(schema) == "{\np: number, // default: 20 // {minimum: 1,maximum: 100}\n}"


def test_the_oldest_models_have_every_property_on_a_line_and_no_deep_descriptions() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "number", "description": "Deep."}}, "description": "Flat."}
    assert typed(inner, "legacy") == "{\n// Flat.\np: {\n  x?: number,\n},\n}"


def test_references_are_followed_and_a_cycle_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    text = declare_tool("t", "", {"properties": {"n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}, "lined")
    assert "next?: any" in text


def test_a_list_of_objects_with_alternatives_is_an_array() -> None:
    assert "Array<" in declared(FIND_FILES)


@given(st.text(max_size=20), st.text(max_size=40), JSON_VALUES, st.sampled_from(["lined", "flat", "legacy"]))
def test_any_schema_gives_a_declaration(name: str, description: str, schema: Any, style: DeclarationStyle) -> None:
    parameters = schema if isinstance(schema, dict) else {"properties": {"p": schema}}
    text = declare_tool(name, description, parameters, style)
    assert text.startswith(SEPARATOR)
    assert text.endswith(") => any")


@pytest.mark.shared
def test_the_measured_tools_are_exact(shared_data: Path) -> None:
    """Section 5.4: net costs that the provider's usage gave, seven of them with their definitions."""
    vocabulary = load_vocabulary("o200k_base")
    found = 0
    for line in (shared_data / "token_ground_truth.jsonl").read_bytes().splitlines():
        row = msgspec.json.decode(line)
        for tool in row["payload"]["tools"] if row["kind"] == "tool-delta" else ():
            text = declare_tool(tool["name"], tool["description"], tool["parameters"], "lined")
            assert vocabulary.count(text) == row["tokens"], tool["name"]
            found += 1
    assert found == 7


def test_counts_of_declarations_add_up() -> None:
    vocabulary = load_vocabulary("o200k_base")
    texts = [declare_tool(tool.name, tool.description, tool.parameters, "lined") for tool in (PING, FIND_FILES)]
    assert vocabulary.count("".join(texts)) == sum(map(vocabulary.count, texts))
