from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.accounting import Options, read_options
from ullage.core.wire import Dialect, parse_request


def options(dialect: Dialect, **body: Any) -> Options:
    messages = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
    return read_options(parse_request(msgspec.json.encode({messages: [], **body}), dialect))


@pytest.mark.parametrize(
    ("dialect", "body", "forced"),
    [
        ("openai-chat", {}, False),
        ("openai-chat", {"tool_choice": "auto"}, False),
        ("openai-chat", {"tool_choice": "none"}, False),
        ("openai-chat", {"tool_choice": "required"}, True),
        ("openai-chat", {"tool_choice": {"type": "function", "function": {"name": "x"}}}, True),
        ("anthropic", {"tool_choice": {"type": "auto"}}, False),
        ("anthropic", {"tool_choice": {"type": "any"}}, True),
        ("anthropic", {"tool_choice": {"type": "tool", "name": "x"}}, True),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, True),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, False),
        ("openai-chat", {"tool_choice": [1]}, False),
    ],
)
def test_a_demanded_tool_is_seen_in_every_dialect(dialect: Dialect, body: dict[str, Any], forced: bool) -> None:
    assert options(dialect, **body).forced_tool is forced


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (
            "openai-chat",
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}},
        ),
        ("openai-responses", {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}),
        (
            "anthropic",
            {"output_config": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}},
        ),
        ("anthropic", {"output_format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}),
    ],
)
def test_an_output_schema_is_seen_in_every_dialect(dialect: Dialect, body: dict[str, Any]) -> None:
    found = options(dialect, **body)
    assert (found.schema, found.schema_name) == ({"type": "object"}, "n")


def test_gemini_names_no_schema() -> None:
    found = options("gemini", generationConfig={"responseSchema": {"type": "OBJECT"}})
    assert (found.schema, found.schema_name) == ({"type": "OBJECT"}, "")


def test_thinking_counts_when_it_has_a_budget() -> None:
    assert options("anthropic", thinking={"type": "enabled", "budget_tokens": 1024}).thinking
    assert not options("anthropic", thinking={"type": "disabled"}).thinking


def test_odd_options_count_as_none() -> None:
    assert options("openai-responses", text="x", tool_choice=7, response_format=[], thinking=1) == Options()
