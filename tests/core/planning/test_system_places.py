"""Where Anthropic's system messages stand when others leave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.planning.system_places import place_system
from ullage.core.wire import Conversation, parse_request


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def read(messages: list[dict[str, Any]]) -> Conversation:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}
    return parse_request(json.dumps(body).encode(), "anthropic")


def place(messages: list[dict[str, Any]], kept: list[int]) -> list[str]:
    """The texts of what is sent, in its order."""
    conversation = read(messages)
    stay, moved = place_system(conversation, kept)
    sent: list[int] = []
    for index in range(len(messages) + 1):
        sent += moved.get(index, ())
        if index in stay:
            sent.append(index)
    return [json.loads(conversation.messages[index].raw)["content"] for index in sent]


def test_one_that_loses_its_user_goes_behind_the_next() -> None:
    messages = [user("a"), system("rules"), assistant("b"), user("c"), assistant("d"), user("e")]
    assert place(messages, [1, 3, 4, 5]) == ["c", "rules", "d", "e"]


def test_without_another_place_it_goes_to_the_end() -> None:
    assert place([user("a"), system("rules"), assistant("b"), user("c")], [1, 3]) == ["c", "rules"]


def test_where_all_is_kept_nothing_moves() -> None:
    messages = [user("a"), system("rules"), assistant("b"), user("c"), system("more")]
    assert place(messages, [0, 1, 2, 3, 4]) == ["a", "rules", "b", "c", "more"]


@pytest.mark.parametrize(
    "messages",
    [
        [system("rules"), assistant("b"), user("c")],
        [system("rules"), user("a"), assistant("b"), user("c")],
        [user("a"), assistant("b"), system("rules"), user("c")],
    ],
    ids=["first", "before a user", "behind an assistant"],
)
def test_one_that_had_no_place_from_the_client_stays(messages: list[dict[str, Any]]) -> None:
    kept = [index for index, message in enumerate(messages) if message["role"] != "assistant"]
    assert place(messages, kept) == [messages[index]["content"] for index in kept]
