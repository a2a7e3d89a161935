from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.wire import Dialect, Slice, canonical_hash, parse_request


def _slice(kind: str, value: Any) -> Slice:
    return Slice(kind=kind, index=0, start=0, raw=json.dumps(value).encode(), hash=0)  # type: ignore[arg-type]


def same(dialect: Dialect, left: Any, right: Any, kind: str = "message") -> bool:
    return canonical_hash(_slice(kind, left), dialect) == canonical_hash(_slice(kind, right), dialect)


MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("dialect", "left", "right"),
    [
        (
            "anthropic",
            {"role": "system", "content": [{"type": "text", "text": "a", **MARK}]},
            {"output_config": {"effort": "high"}, "content": "a", "role": "system"},
        ),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a", **MARK}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}]}],
            },
        ),
        (
            "openai-chat",
            {"role": "assistant", "content": "a", "refusal": None, "annotations": []},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        ),
        (
            "openai-responses",
            {"role": "assistant", "content": "a"},
            {
                "type": "message",
                "id": "msg_1",
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []}],
            },
        ),
        (
            "openai-responses",
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c",
                "name": "f",
                "arguments": "{}",
                "status": "completed",
            },
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ),
        (
            "openai-responses",
            {"type": "function_call_output", "call_id": "c", "output": "a"},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a"}]},
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "sig"}]},
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]},
        ),
        (
            "gemini",
            {"parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}}] * 2},
            {"role": "user", "parts": {"functionResponse": {"response": {"a": 1}, "name": "f"}}},
        ),
    ],
)
def test_one_message_in_two_dresses_is_one(dialect: Dialect, left: Any, right: Any) -> None:
    assert same(dialect, left, right)


@pytest.mark.parametrize(
    ("dialect", "left", "right"),
    [
        ("anthropic", {"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": "ab"},
        ),
        (
            "anthropic",
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"cache_control": 1}}],
            },
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        ),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "a"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "b"}]},
        ),
        ("openai-responses", {"type": "item_reference", "id": "a"}, {"type": "item_reference", "id": "b"}),
        (
            "openai-responses",
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
        ),
        ("gemini", {"parts": [{"text": "a"}] * 2}, {"parts": [{"text": "a"}]}),
    ],
)
def test_two_messages_stay_two(dialect: Dialect, left: Any, right: Any) -> None:
    assert not same(dialect, left, right)


def test_system_and_tools_have_a_canonical_form_too() -> None:
    assert same("anthropic", "rules", {"text": "rules", "type": "text", **MARK}, kind="system")
    assert same("anthropic", {"name": "f", **MARK}, {"name": "f"}, kind="tool")
    assert not same("anthropic", {"name": "f", "input_schema": MARK}, {"name": "f", "input_schema": {}}, kind="tool")


def test_the_kind_belongs_to_the_identity() -> None:
    as_system, as_tool = (canonical_hash(_slice(kind, {"x": 1}), "anthropic") for kind in ("system", "tool"))
    assert as_system != as_tool


def test_odd_numbers_and_lone_surrogates_have_a_hash() -> None:
    body = b'{"messages":[{"content":"\\ud800","n":1e999},{"n":' + b"9" * 5_000 + b"}]}"
    for piece in parse_request(body, "openai-chat").messages:
        assert 0 <= canonical_hash(piece, "openai-chat") < 2**128
