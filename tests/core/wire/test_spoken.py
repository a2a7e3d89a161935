"""Texts of a message outside its tool results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.wire import Dialect, parse_request
from ullage.core.wire.spoken import replace_spoken, spoken_texts

LISTS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}


def piece_of(dialect: Dialect, message: Any) -> Any:
    body = json.dumps({LISTS[dialect]: [message] if isinstance(message, dict) else message}).encode()
    return parse_request(body, dialect).messages[0]


@pytest.mark.parametrize(
    ("dialect", "message", "texts"),
    [
        ("openai-chat", {"role": "user", "content": "one"}, ("one",)),
        ("openai-chat", {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}, ("a",)),
        ("openai-responses", {"role": "user", "content": [{"type": "input_text", "text": "a"}]}, ("a",)),
        ("openai-responses", "alone", ("alone",)),
        (
            "anthropic",
            {"role": "user", "content": [{"type": "tool_result", "content": "no"}, {"type": "text", "text": "ja"}]},
            ("ja",),
        ),
        ("gemini", {"role": "user", "parts": [{"text": "a"}, {"inlineData": {}}, {"text": "b"}]}, ("a", "b")),
        ("gemini", {"role": "user"}, ()),
        ("openai-chat", {"role": "user", "content": None}, ()),
    ],
)
def test_texts_are_read_in_their_order(dialect: Dialect, message: Any, texts: tuple[str, ...]) -> None:
    assert spoken_texts(piece_of(dialect, message), dialect) == texts


def test_all_but_the_replaced_text_stays_byte_for_byte() -> None:
    body = b'{"contents":[{ "role":"user","parts":[ {"text":"@high \\u00e9"} , {"text":"b","x":1}]}]}'
    piece = parse_request(body, "gemini").messages[0]
    changed = replace_spoken(piece, "gemini", {0: "é"})
    assert changed == '{ "role":"user","parts":[ {"text":"é"} , {"text":"b","x":1}]}'.encode()
