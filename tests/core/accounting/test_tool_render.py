"""Accounting specification, sections 5.3 and 5.4."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting.tool_render import render_tool
from ullage.core.content import ToolSpec
from ullage.core.tokens import load_vocabulary

from .tools import FIND_FILES, MODE, PING


def rendered(tool: ToolSpec) -> str:
    return render_tool(tool.name, tool.description, tool.parameters)


def test_the_render_of_ping_is_the_one_of_the_specification() -> None:
    assert rendered(PING) == "// Send a ping.\ntype ping = (_: {\n// Target host\nhost: string,\n}) => any;\n\n"


def test_nested_fields_are_rendered_in_line() -> None:
    part = 'filters?: Array<{\nfield: "size" | "mtime",\nmin?: number, // default: 10 // {"minimum":0}\n}>,\n'
    assert part in rendered(FIND_FILES)


@pytest.mark.parametrize(
    ("tool", "chars", "tokens"),
    [(PING, 75, 22), (MODE, 65, 24), (FIND_FILES, 212, 60)],
    ids=["ping", "mode", "find_files"],
)
def test_renders_have_the_sizes_and_exact_counts_of_the_table(tool: ToolSpec, chars: int, tokens: int) -> None:
    text = rendered(tool)
    assert (len(text), load_vocabulary("o200k_base").count(text)) == (chars, tokens)


def test_the_three_tools_and_the_block_come_to_122() -> None:
    tools = (PING, MODE, FIND_FILES)
    assert 16 + sum(load_vocabulary("o200k_base").count(rendered(tool)) for tool in tools) == 122


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({}, "any"),
        ({"type": "integer"}, "number"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "x"}, '"x"'),
        ({"type": "object"}, "object"),
        ({"type": "array"}, "any[]"),
        ({"type": "array", "items": {"type": "string"}}, "string[]"),
        ({"type": "array", "items": {"enum": [1, 2]}}, "Array<1 | 2>"),
        ({"anyOf": [{"type": "string", "description": "A"}, {"type": "null"}]}, "string // A\n | null"),
        ({"$ref": "#/$defs/missing"}, "any"),
        ({"$ref": "#/$defs/node"}, "{\nnext?: any,\n}"),
        ({"$ref": "#/definitions/name"}, "string"),
        ({"type": "weird"}, "any"),
    ],
)
def test_a_type_is_rendered_by_its_rule(schema: dict[str, Any], kind: str) -> None:
    root = {
        "properties": {"x": schema},
        "required": ["x"],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "definitions": {"name": {"type": "string"}},
    }
    assert f"{{\nx: {kind}," in render_tool("t", "", root)


def test_title_examples_null_and_default_stand_where_they_belong() -> None:
    schema = {
        "properties": {"a": {"type": "string", "title": "T", "examples": ["e"], "nullable": True, "default": "d"}}
    }
    assert render_tool("t", "", schema) == (
        'type t = (_: {\n// T\n//\n// Examples:\n// - "e"\na?: string | null, // default: "d"\n}) => any;\n\n'
    )


def test_a_tool_without_properties_takes_nothing() -> None:
    assert render_tool("t", "Line one\nline two", None) == "// Line one\n// line two\ntype t = () => any;\n\n"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "anyOf", "enum", "$ref", "required", "default", "title", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_as_a_schema_renders_without_an_error(schema: Any) -> None:
    assert render_tool("t", "", schema).endswith("=> any;\n\n")
