from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.accounting import Options, read_options
from ullage.core.wire import Conversation, Dialect, parse_request


def parse(dialect: Dialect, **body: Any) -> Conversation:
    messages = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
    return parse_request(msgspec.json.encode({messages: [], **body}), dialect)


def options(dialect: Dialect, **body: Any) -> Options:
    return read_options(parse(dialect, **body))


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
    assert options("anthropic", thinking={"type": "adaptive"}).adaptive


@pytest.mark.parametrize(
    ("reasoning", "thinks"),
    [
        ({"effort": "high"}, True),
        ({"max_tokens": 2000}, True),
        ({"enabled": True}, True),
        ({"effort": "none"}, False),
        ({"enabled": False, "effort": "high"}, False),
        ({}, False),
        ("high", False),
    ],
)
def test_an_aggregator_takes_thinking_as_an_effort(reasoning: Any, thinks: bool) -> None:
    assert options("openai-chat", reasoning=reasoning).thinking is thinks


@pytest.mark.parametrize(
    ("dialect", "body", "choice", "name"),
    [
        ("openai-chat", {"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool", "x"),
        ("openai-responses", {"tool_choice": {"type": "function", "name": "x"}}, "tool", "x"),
        ("anthropic", {"tool_choice": {"type": "tool", "name": "x"}}, "tool", "x"),
        ("openai-chat", {"function_call": {"name": "x"}}, "tool", "x"),
        ("openai-chat", {"function_call": "none"}, "none", ""),
        ("openai-chat", {"tool_choice": "none"}, "none", ""),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, "none", ""),
        ("openai-chat", {"tool_choice": {"type": "unheard of"}}, "auto", ""),
    ],
)
def test_the_choice_and_the_tool_it_names_are_read(
    dialect: Dialect, body: dict[str, Any], choice: str, name: str
) -> None:
    found = options(dialect, **body)
    assert (found.choice, found.tool_name) == (choice, name)


def test_forbidden_parallel_calls_are_seen() -> None:
    assert options("openai-responses", parallel_tool_calls=False).parallel is False
    assert options("openai-responses", parallel_tool_calls=True).parallel is True
    assert options("anthropic", tool_choice={"type": "auto", "disable_parallel_tool_use": True}).parallel is False
    assert options("anthropic").parallel is None


def test_a_description_beside_a_schema_and_a_budget_of_the_task_are_seen() -> None:
    schema = {"name": "n", "description": "", "schema": {"type": "object"}}
    assert options("openai-chat", response_format={"type": "json_schema", "json_schema": schema}).schema_described
    assert options("anthropic", output_config={"task_budget": {"tokens": 9}}).task_budget


def test_odd_options_count_as_none() -> None:
    assert options("openai-responses", text="x", tool_choice=7, response_format=[], thinking=1) == Options()
