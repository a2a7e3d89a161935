"""Accounting specification, section 3."""

from __future__ import annotations

import pytest

from ullage.core.accounting.tool_shapes import count_properties, schema_strings, tool_payload, tools_payload

from .tools import FIND_FILES, MODE, PING, make_tool


@pytest.mark.parametrize(
    ("key", "chars"),
    [
        ("openai-responses", 195),
        ("openai-codex-responses", 195),
        ("something unknown", 195),
        ("openai-cookbook", 195),
        ("openai-chat", 208),
        ("openai-completions", 208),
        ("mistral", 208),
        ("anthropic", 165),
        ("gemini", 173),
        ("google", 173),
        ("vertex", 173),
        ("bedrock", 186),
        ("pi-messages", 163),
        ("raw-schema", 185),
    ],
)
def test_the_worked_tool_has_the_size_that_the_provider_sees(key: str, chars: int) -> None:
    assert len(tool_payload(PING, key)) == chars


@pytest.mark.parametrize(
    ("tool", "chars"), [(PING, 195), (MODE, 182), (FIND_FILES, 444)], ids=lambda tool: str(tool)[:20]
)
def test_the_responses_payloads_of_section_5_have_their_sizes(tool: object, chars: int) -> None:
    assert len(tool_payload(tool, "openai-responses")) == chars  # type: ignore[arg-type]


def test_all_tools_together_are_a_list_and_for_gemini_an_object() -> None:
    one = tool_payload(PING, "anthropic")
    assert tools_payload([PING, PING], "anthropic") == f"[{one},{one}]"
    assert tools_payload([PING], "gemini") == f'{{"functionDeclarations":[{tool_payload(PING, "gemini")}]}}'


def test_no_tools_count_nothing() -> None:
    assert tools_payload([], "anthropic") == ""
    assert tools_payload([], "gemini") == ""


def test_an_empty_description_is_replaced_before_counting() -> None:
    assert '"description":"(no description)"' in tool_payload(make_tool("x", "", {}), "anthropic")
    assert '"description":""' in tool_payload(make_tool("x", "", {}), "anthropic", placeholder=False)


def test_the_strings_of_a_schema_are_names_and_text_values_in_order() -> None:
    found = list(schema_strings(PING.parameters))
    assert found == ["object", "host", "string", "Target host", "host"]


def test_properties_are_counted_at_every_depth() -> None:
    assert count_properties(FIND_FILES.parameters) == 4
    assert count_properties(None) == 0
