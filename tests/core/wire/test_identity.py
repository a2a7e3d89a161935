"""What is not told to providers that are not the client's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.wire import Dialect, parse_request, render
from ullage.core.wire.identity import without_identity


def sent(dialect: Dialect, body: bytes, recipient: str = "corp") -> bytes:
    conversation = parse_request(body, dialect)
    return render(conversation, options=without_identity(conversation, recipient))


@pytest.mark.parametrize(
    ("dialect", "members"),
    [
        ("anthropic", {"metadata": {"user_id": "jane"}}),
        ("openai-chat", {"user": "jane", "safety_identifier": "jane", "metadata": {"who": "jane"}}),
        ("openai-responses", {"user": "jane", "client_metadata": {"session": "jane"}, "session_id": "jane"}),
        ("gemini", {"labels": {"team": "jane"}}),
    ],
)
def test_who_asks_is_left_out_and_every_other_byte_stays(dialect: Dialect, members: dict[str, Any]) -> None:
    rest = b'"model" : "m","temperature":  0.20'
    inside = json.dumps(members).encode()[1:-1]
    assert sent(dialect, b"{" + rest + b", " + inside + b"}") == b"{" + rest + b"}"


def test_a_request_that_says_nothing_of_its_client_stays_as_it_is() -> None:
    body = b'{ "messages": [{"role": "user", "content": "user: jane", "user": "jane"}], "store": false }'
    assert sent("openai-chat", body) == body


def test_a_cache_key_is_the_same_for_a_session_and_another_one_at_every_provider() -> None:
    def key(text: str, recipient: str) -> Any:
        body = json.dumps({"prompt_cache_key": text}).encode()
        return json.loads(sent("openai-responses", body, recipient))["prompt_cache_key"]

    keys = {key(text, recipient) for text in ("s1", "s2", "\ud800") for recipient in ("corp", "openrouter")}
    assert len(keys) == 6
    assert all(len(one) == 32 for one in keys)
    assert key("s1", "corp") == key("s1", "corp")
    assert sent("openai-chat", b'{"prompt_cache_key":{}}') == b"{}"
