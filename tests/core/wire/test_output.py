"""How long the answer may be, as a request says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.wire import Conversation, Dialect, parse_request
from ullage.core.wire.output import cap_output, requested_output


def parse(dialect: Dialect, **body: Any) -> Conversation:
    messages = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
    return parse_request(msgspec.json.encode({messages: [], **body}), dialect)


@pytest.mark.parametrize(
    ("dialect", "body", "tokens"),
    [
        ("openai-chat", {}, None),
        ("openai-chat", {"max_tokens": 100}, 100),
        ("openai-chat", {"max_completion_tokens": 100}, 100),
        ("openai-chat", {"max_tokens": 100, "max_completion_tokens": 200}, 200),
        ("openai-responses", {"max_output_tokens": 100}, 100),
        ("openai-responses", {"max_output_tokens": None}, None),
        ("anthropic", {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 32_000}}, 64_000),
        ("gemini", {"generationConfig": {"maxOutputTokens": 100}}, 100),
        ("gemini", {"generation_config": {"max_output_tokens": 100}}, 100),
        ("gemini", {"generationConfig": {}}, None),
        ("openai-chat", {"max_tokens": "100"}, None),
        ("openai-chat", {"max_tokens": True, "max_completion_tokens": -1}, None),
        ("openai-chat", {"max_tokens": 0}, None),
        ("gemini", {"generationConfig": [1]}, None),
    ],
)
def test_the_output_that_is_asked_for_is_read_in_every_dialect(
    dialect: Dialect, body: dict[str, Any], tokens: int | None
) -> None:
    assert requested_output(parse(dialect, **body)) == tokens


def test_the_longest_answer_is_cut_to_what_the_model_gives() -> None:
    gemini = parse_request(b'{"generationConfig":{"maxOutputTokens":9000},"contents":[]}', "gemini")
    chat = parse_request(b'{"max_completion_tokens":9000,"messages":[]}', "openai-chat")
    assert requested_output(gemini) == requested_output(chat) == 9000
    assert cap_output(gemini, 8000) == {("generationConfig", "maxOutputTokens"): 8000}
    assert cap_output(chat, 8000) == {("max_completion_tokens",): 8000}
    assert cap_output(chat, 9000) == cap_output(chat, None) == {}
