"""What the user says beside instruction files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.core.planning.making import assistant, system, user
from ullage.core.accounting import make_meter
from ullage.core.planning.prompts import find_forsaken, find_words
from ullage.core.wire import Slice, parse_request

METER = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-5", client="claude-code")
RULES = (
    "<system-reminder>\nCodebase and user instructions are shown below. Be sure to adhere to these instructions.\n\n"
    "Contents of /p/CLAUDE.md (project instructions, checked into the codebase):\n\nAnswer in Latin.\n</system-reminder>"
)
REMINDER = "<system-reminder>\nThe list is empty.\n</system-reminder>"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def message(content: Any) -> Slice:
    body = {"messages": [{"role": "user", "content": content}]}
    return parse_request(json.dumps(body).encode(), "anthropic").messages[0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([text(RULES), text("Fix it.")], (1,)),
        ([text(RULES), text(REMINDER), text("Fix it."), IMAGE], (2, 3)),
        ([text("Fix it."), text(RULES)], (0,)),
        ([text(RULES)], ()),
        ([text(REMINDER), text("Fix it.")], ()),
        ([text(f"{RULES}\n\nFix it.")], ()),
        (f"{RULES}\n\nFix it.", ()),
        ("Fix it.", ()),
    ],
)
def test_they_are_told_apart_block_by_block(content: Any, words: tuple[int, ...]) -> None:
    assert find_words(message(content), "anthropic", METER) == words


@pytest.mark.parametrize(
    ("kept", "forsaken"),
    [
        ((0, 4, 5, 6), (0,)),
        ((0, 1, 4, 6), (0,)),
        ((0, 2, 4, 6), ()),
        ((0, 1, 2, 3, 4, 5, 6), ()),
        ((0, 6), (0,)),
        ((6,), ()),
    ],
)
def test_a_message_is_forsaken_once_all_of_its_turn_has_left(kept: tuple[int, ...], forsaken: tuple[int, ...]) -> None:
    messages = [user(1), system(1), assistant(1), assistant(1), user(1), assistant(1), user(1)]
    facts = [fact for fact, _ in messages]
    assert find_forsaken(facts, kept, {0}) == forsaken


def test_what_has_no_answer_yet_is_not_forsaken() -> None:
    facts = [fact for fact, _ in (user(1), user(1), assistant(1), user(1))]
    assert find_forsaken(facts, (0, 3), {0, 3}) == ()
