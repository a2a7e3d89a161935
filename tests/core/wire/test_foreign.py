"""Thinking of another model is taken out of a message, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.wire import Dialect, parse_request
from ullage.core.wire.foreign import without_thinking

from .test_spoken import piece_of

CALL = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sealed"}


@pytest.mark.parametrize(
    ("dialect", "message", "left"),
    [
        ("anthropic", {"role": "assistant", "content": [THOUGHT, CALL]}, {"role": "assistant", "content": [CALL]}),
        ("anthropic", {"role": "assistant", "content": [THOUGHT]}, None),
        ("openai-responses", {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, None),
        (
            "openai-responses",
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ),
        (
            "openai-chat",
            {"role": "assistant", "reasoning_content": "hm", "content": "yes"},
            {"role": "assistant", "content": "yes"},
        ),
        (
            "openai-chat",
            {"role": "assistant", "tool_calls": [{"id": "c", "extra_content": {"google": {}}}]},
            {"role": "assistant", "tool_calls": [{"id": "c"}]},
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "yes", "thoughtSignature": "s"}]},
            {"role": "model", "parts": [{"text": "yes"}]},
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "s"}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": "skip_thought_signature_validator"}],
            },
        ),
    ],
)
def test_thinking_goes_and_the_rest_stays(dialect: Dialect, message: dict[str, Any], left: Any) -> None:
    raw = without_thinking(piece_of(dialect, message), dialect)
    assert (None if raw is None else json.loads(raw)) == left


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_a_message_without_thinking_stays_byte_for_byte(dialect: Dialect) -> None:
    message = {"role": "user", "content" if dialect != "gemini" else "parts": [{"type": "text", "text": "a"}]}
    piece = piece_of(dialect, message)
    assert without_thinking(piece, dialect) == piece.raw


def test_a_bare_text_stays() -> None:
    piece = parse_request(b'{"input":"hello"}', "openai-responses").messages[0]
    assert without_thinking(piece, "openai-responses") == b'"hello"'
