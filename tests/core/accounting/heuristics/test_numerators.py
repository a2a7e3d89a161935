"""What is counted of tools: accounting specification, sections 3, 3.1 and 5.4."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.core.accounting.tools import FIND_FILES, MODE, PING, make_tool
from ullage.core.accounting.heuristics import Numerator, find_numerator
from ullage.core.accounting.tool_shapes import tools_payload
from ullage.core.content import ToolSpec
from ullage.core.profiles.heuristics import ToolShape

THREE = (PING, MODE, FIND_FILES)
TEMPLATE = {"kind": "function", "fn": {"name": "$name", "description": "$description", "schema": "$schema"}}


def together(numerator: Numerator, *specs: ToolSpec) -> tuple[int, int]:
    return numerator.together([len(numerator.text(spec)) for spec in specs], [numerator.tokens(spec) for spec in specs])


def shaped(**shape: Any) -> Numerator:
    return find_numerator("mine", 4, {"mine": ToolShape(**shape)})


@pytest.mark.parametrize(
    ("key", "chars"),
    [
        ("openai-responses", 195),
        ("openai-codex-responses", 195),
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
        ("nobody knows it", 195),
    ],
)
def test_a_payload_is_divided_and_rounded_up(key: str, chars: int) -> None:
    numerator = find_numerator(key, 2.6, {})
    assert len(numerator.text(PING)) == chars
    assert numerator.tokens(PING) == math.ceil(chars / 2.6)


@pytest.mark.parametrize("key", ["openai-responses", "openai-chat", "anthropic", "gemini", "bedrock", "raw-schema"])
def test_together_tools_are_the_list_that_is_sent(key: str) -> None:
    size = len(tools_payload(THREE, key))
    assert together(find_numerator(key, 3.3, {}), *THREE) == (size, math.ceil(size / 3.3))


@pytest.mark.parametrize("key", ["anthropic", "gemini", "openai-cookbook", "openai-tools-v1"])
def test_no_tools_are_nothing(key: str) -> None:
    assert together(find_numerator(key, 4, {})) == (0, 0)


def test_an_unknown_shape_says_what_is_counted_in_its_place() -> None:
    assert find_numerator("typo", 4, {}).method == "unknown shape typo, Responses payload ÷ 4"


@pytest.mark.parametrize(
    ("name", "tokens", "whole"),
    [
        ("openai-tools-v1", (20, 23, 50), 105),
        ("openai-tools-v2", (24, 23, 56), 119),
        ("openai-tools-v3", (22, 24, 60), 122),
        ("openai-tools-v3-pieces", (21, 23, 57), 117),
    ],
)
def test_the_formulas_for_openai_give_the_worked_numbers(name: str, tokens: tuple[int, ...], whole: int) -> None:
    numerator = find_numerator(name, 5.5, {})
    assert tuple(map(numerator.tokens, THREE)) == tokens
    assert together(numerator, *THREE)[1] == whole


def test_the_summary_of_one_and_two_tools_holds_its_constant_once() -> None:
    numerator = find_numerator("openai-cookbook", 5.5, {}, cookbook="openai-tools-v1")
    assert together(numerator, PING) == (197, 32)
    assert together(numerator, PING, MODE) == (195 + 182 + 3, 55)


def test_the_cookbook_is_the_declaration_unless_it_is_said_otherwise() -> None:
    numerator = find_numerator("openai-cookbook", 5.5, {})
    assert (len(numerator.text(PING)), numerator.method, numerator.denominator) == (75, "OpenAI render", None)
    assert together(numerator, PING) == (75, 38)


@pytest.mark.parametrize("key", ["anthropic", "openai-tools-v1", "openai-tools-v3"])
def test_an_empty_description_is_counted_as_words(key: str) -> None:
    numerator = find_numerator(key, 4, {})
    bare, spoken = make_tool("x", "", {}), make_tool("x", "(no description)", {})
    assert numerator.tokens(bare) == numerator.tokens(spoken)
    assert len(numerator.text(bare)) == len(numerator.text(spoken))


def test_a_template_is_filled_once_a_tool_and_counted_as_a_list() -> None:
    numerator = shaped(template=TEMPLATE, denominator=4.8, label="My payload")
    schema = '{"type":"object","properties":{"host":{"type":"string","description":"Target host"}},"required":["host"]}'
    text = f'{{"kind":"function","fn":{{"name":"ping","description":"Send a ping.","schema":{schema}}}}}'
    assert numerator.text(PING) == text
    size = len(f"[{text}]")
    assert together(numerator, PING) == (size, math.ceil(size / 4.8))
    assert numerator.method == "My payload ÷ 4.8"


def test_a_shape_without_a_denominator_takes_the_tools_denominator() -> None:
    assert shaped(template=TEMPLATE).denominator == 4
    assert shaped(template=TEMPLATE, denominator=7).denominator == 7


def test_a_shape_may_stand_for_another_one() -> None:
    shapes = {"a": ToolShape(shape="b", label="A"), "b": ToolShape(shape="anthropic", denominator=3)}
    numerator = find_numerator("a", 4, shapes)
    assert (len(numerator.text(PING)), numerator.method) == (165, "A ÷ 3")


def test_shapes_that_name_each_other_end_at_the_responses_payload() -> None:
    shapes = {"a": ToolShape(shape="b"), "b": ToolShape(shape="a")}
    assert len(find_numerator("a", 4, shapes).text(PING)) == 195


def test_a_shape_of_a_built_in_name_shadows_it() -> None:
    assert len(find_numerator("anthropic", 4, {"anthropic": ToolShape(shape="openai-chat")}).text(PING)) == 208


def test_a_tool_with_a_grammar_is_counted_by_its_grammar() -> None:
    tool = ToolSpec(name="patch", description="Edit.", kind="custom", format={"type": "grammar"})
    text = '{"name":"patch","description":"Edit.","format":{"type":"grammar"}}'
    assert find_numerator("anthropic", 4, {}).text(tool) == text


def test_a_numerator_s_key_tells_apart_whatever_counts_differently() -> None:
    keys = {
        find_numerator("anthropic", 2.6, {}).key,
        find_numerator("anthropic", 3.3, {}).key,
        find_numerator("gemini", 3.3, {}).key,
        find_numerator("openai-tools-v1", 4, {}).key,
        find_numerator("openai-tools-v3", 4, {}).key,
        shaped(template=TEMPLATE, label="x").key,
        shaped(template={**TEMPLATE, "more": 1}, label="x").key,
    }
    assert len(keys) == 7
