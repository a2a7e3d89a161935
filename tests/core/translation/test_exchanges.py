"""Calls and results that clients send in an order, or with ids, that no provider takes."""

from __future__ import annotations

import pytest

from ullage.core.translation.losses import Losses
from ullage.core.translation.naming import Ids
from ullage.core.translation.nouns import Call, Message, Result, Text
from ullage.core.translation.requests.exchanges import NO_RESULT, settle_exchanges


def call(id_: str, name: str = "ls") -> Message:
    return Message(role="assistant", parts=(Call(id=id_, name=name, arguments="{}"),))


def result(id_: str, text: str, name: str = "") -> Message:
    return Message(role="user", parts=(Result(id=id_, name=name, parts=(Text(text=text),)),))


def settled(*messages: Message) -> tuple[list[str], list[str]]:
    """The exchanges in their order, and what was told."""
    losses = Losses()
    found = []
    for message in settle_exchanges(messages, Ids(), losses):
        for part in message.parts:
            if isinstance(part, Call):
                found.append(f"call {part.id}")
            elif isinstance(part, Result):
                found.append(f"{part.id}: {''.join(one.text for one in part.parts if isinstance(one, Text))}")
            elif isinstance(part, Text):
                found.append(part.text)
    return found, [loss.code for loss in losses.found()]


def test_a_result_stands_behind_its_call() -> None:
    late = (call("a"), Message(role="user", parts=(Text(text="Wait."),)), call("b"), result("b", "2"), result("a", "1"))
    assert settled(*late) == (["call a", "a: 1", "Wait.", "call b", "b: 2"], [])


def test_results_stand_in_the_order_of_their_calls() -> None:
    both = Message(role="assistant", parts=(*call("a").parts, *call("b").parts))
    assert settled(both, result("b", "2"), result("a", "1")) == (["call a", "call b", "a: 1", "b: 2"], [])


def test_results_without_ids_belong_to_the_calls_of_their_tool_in_order() -> None:
    calls = (call("", "cat"), call("", "ls"), call("", "cat"))
    found = settled(*calls, result("", "1", "cat"), result("", "2", "cat"), result("", "3", "ls"))
    assert found == (["call call_1", "call_1: 1", "call call_2", "call_2: 3", "call call_3", "call_3: 2"], [])


def test_results_without_ids_belong_to_calls_with_ids_too() -> None:
    """Programs of Gemini answer the calls of other providers' models without repeating their ids."""
    both = Message(role="assistant", parts=(*call("a", "cat").parts, *call("b", "ls").parts, *call("c", "cat").parts))
    found = settled(both, result("", "1", "cat"), result("", "2", "ls"), result("", "3", "cat"))
    assert found == (["call a", "call b", "call c", "a: 1", "b: 2", "c: 3"], [])


def test_a_result_of_another_id_belongs_to_no_call_of_the_same_name() -> None:
    found, told = settled(call("a", "cat"), result("x", "1", "cat"), result("", "2", "cat"))
    assert found == ["call a", "a: 2", "Result of an earlier call of a tool cat:", "1"]
    assert told == ["orphan_result"]


def test_a_result_without_its_call_becomes_text_of_the_user() -> None:
    assert settled(result("x", "1", "ls")) == (["Result of an earlier call of a tool ls:", "1"], ["orphan_result"])


def test_a_result_that_comes_twice_is_sent_once() -> None:
    assert settled(call("a"), result("a", "1"), result("a", "1")) == (["call a", "a: 1"], ["repeated_result"])


def test_another_result_for_the_same_call_is_not_lost() -> None:
    found, told = settled(call("a"), result("a", "1"), result("a", "2"))
    assert found == ["call a", "a: 1", "Result of an earlier call of a tool:", "2"]
    assert told == ["orphan_result"]


def test_a_call_that_was_not_finished_gets_a_result_that_says_so() -> None:
    assert settled(call("a")) == (["call a", f"a: {NO_RESULT}"], ["missing_result"])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a:b", "a_b"], ["a_b", "a_b_2"]),
        (["", "call_1"], ["call_1", "call_1_2"]),
    ],
)
def test_ids_are_unique_and_of_plain_characters(given: list[str], expected: list[str]) -> None:
    ids = Ids()
    assert [ids.settle(one) for one in given] == expected


def test_long_ids_are_cut_and_stay_apart() -> None:
    ids = Ids()
    first, second = ids.settle("x" * 50 + "1"), ids.settle("x" * 50 + "2")
    assert len(first) == len(second) == 40
    assert first != second


def test_short_ids_that_fit_stay() -> None:
    ids = Ids(short=True)
    found = [ids.settle("abcdef123"), ids.settle("abcdef123"), ids.settle("toolu_1")]
    assert found[0] == "abcdef123"
    assert len(set(found)) == 3
    assert all(len(one) == 9 for one in found)
