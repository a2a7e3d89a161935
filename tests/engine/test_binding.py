"""What answers of a session were made on, over its requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.planning.bound import Settled
from ullage.core.planning.layout import Layout
from ullage.core.wire import parse_request
from ullage.engine.binding import Bindings
from ullage.engine.keeping import Asker
from ullage.engine.measuring import Measuring

ME = Asker(session="s", project=None)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(text: str) -> dict[str, Any]:
    thought = {"type": "thinking", "thinking": f"{text}?", "signature": "abc"}
    return {"role": "assistant", "content": [thought, {"type": "text", "text": text}]}


TALK = [user("a"), answer("b"), user("c"), answer("d"), user("e")]


class Kept:
    def __init__(self) -> None:
        self._measuring = Measuring()
        self.bindings = Bindings(self._measuring)

    def send(self, messages: list[Any], first: int = 0, asker: Asker = ME, *, trusting: bool = True) -> Settled:
        """A request that is sent from its message `first` on."""
        conversation = parse_request(json.dumps({"messages": messages}).encode(), "anthropic")
        layout = Layout(kept=range(first, len(messages)), inserted={}, replaced={}, changes={})
        facts = self._measuring.facts(conversation)
        return self.bindings.settle(asker, conversation, facts, layout, trusting=trusting)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_what_is_sent_as_it_came_keeps_its_thinking(kept: Kept) -> None:
    for count in (1, 3, 5):
        assert kept.send(TALK[:count]).unbound == ()


def test_another_session_knows_nothing_and_a_branch_knows_what_it_came_from(kept: Kept) -> None:
    kept.send(TALK[:3], first=2)
    stranger, branch = Asker(session="t", project=None), Asker(session="u", project=None, ancestors=("s",))
    assert kept.send(TALK, first=2, asker=stranger).unbound == (3,)
    assert kept.send(TALK, first=2, asker=branch).unbound == ()
    assert kept.send(TALK, asker=branch).unbound == (3,)


def test_what_is_not_known_is_sent_only_if_it_can_be_trusted(kept: Kept) -> None:
    assert kept.send(TALK, trusting=False).unbound == (1, 3)
    assert kept.send(TALK).unbound == (1, 3)


def test_nobody_knows_which_of_two_requests_was_answered(kept: Kept) -> None:
    kept.send(TALK[:3])
    kept.send(TALK[:3], first=2)
    assert kept.send(TALK, first=2).unbound == (3,)


def test_one_that_failed_was_not(kept: Kept) -> None:
    failed = kept.send(TALK[:3])
    kept.bindings.note_failure("s", failed, refused=False)
    kept.send(TALK[:3], first=2)
    assert kept.send(TALK, first=2).unbound == ()


def test_a_request_that_failed_and_left_an_answer_all_the_same_is_not_trusted(kept: Kept) -> None:
    kept.bindings.note_failure("s", kept.send(TALK[:3]), refused=False)
    assert kept.send(TALK).unbound == (3,)


def test_what_was_refused_is_not_sent_again(kept: Kept) -> None:
    refused = kept.send(TALK)
    assert len(refused.held) == 2
    kept.bindings.note_failure("s", refused, refused=True)
    assert kept.send(TALK).unbound == (1, 3)
