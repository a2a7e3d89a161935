"""Planner specification, section 12: what is kept or left whole, and what is wrong with a list of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.planning.making import assistant, exchange, given, read, result, summary, system, user
from ullage.core.planning import SliceFacts, current_groups, find_faults, group_messages, outline, split_exchanges

if TYPE_CHECKING:
    from ullage.core.planning import PlanInput
    from ullage.core.wire import Dialect


def ids(made: PlanInput) -> list[str]:
    return [group.id for group in group_messages(made.facts, made.tokens)]


def kinds(made: PlanInput) -> list[tuple[tuple[int, ...], str]]:
    return [(group.indices, group.kind) for group in group_messages(made.facts, made.tokens)]


def exchanges(made: PlanInput) -> list[tuple[int, ...]]:
    whole = outline(made.facts, made.tokens)
    return [one.indices for one in split_exchanges(whole, current_groups(whole))]


def faults(facts: tuple[SliceFacts, ...], *kept: int) -> list[tuple[int, str]]:
    found = find_faults(facts, kept or range(len(facts)))
    return [(fault.index, fault.kind) for fault in found]


def test_a_call_id_that_comes_again_binds_to_the_latest_call() -> None:
    """The example of section 12.2 (regression R8): by id alone all seven would be one group."""
    made = given(
        user(1), assistant(2, "a", "b"), result(4, "a"), result(8, "b"), user(16), assistant(32, "a"), result(64, "a")
    )
    groups = group_messages(made.facts, made.tokens)
    assert [(group.id, group.tokens, group.kind) for group in groups] == [
        ("group:0-3", 15, "turn"),
        ("group:4-6", 112, "turn"),
    ]


def test_a_result_that_comes_after_the_next_request_joins_both_turns() -> None:
    made = given(user(), assistant(10, "a", "b"), result(10, "a"), user(), result(10, "b"), assistant(), user())
    assert ids(made) == ["group:0-5", "group:6-6"]


def test_results_that_come_ever_later_join_all_of_their_turns() -> None:
    made = given(
        (user(), assistant(10, "a")),
        (user(), assistant(10, "b", "c"), result(10, "c"), result(10, "a")),
        (user(), result(10, "b"), result(10, "a")),
        user(),
    )
    assert kinds(made) == [((0, 1, 2, 3, 4, 5, 6, 7, 8), "turn"), ((9,), "turn")]


def test_summaries_stand_alone_and_close_the_turn() -> None:
    made = given(assistant(), user(), assistant(), summary(), assistant(10, "a"), result(10, "a"), user())
    assert kinds(made) == [
        ((0,), "prefix"),
        ((1, 2), "turn"),
        ((3,), "summary"),
        ((4, 5), "prefix"),
        ((6,), "turn"),
    ]


def test_a_prefix_that_is_bound_to_a_turn_is_part_of_it() -> None:
    made = given(assistant(10, "a"), user(), result(10, "a"))
    assert kinds(made) == [((0, 1, 2), "turn")]


def test_system_messages_belong_to_no_turn_wherever_they_stand() -> None:
    made = given(system(), user(), system(), assistant(), user())
    assert kinds(made) == [((0,), "system"), ((1, 3), "turn"), ((2,), "system"), ((4,), "turn")]


def test_an_exchange_is_a_run_of_the_assistant_with_all_its_results() -> None:
    made = given(
        user(),
        assistant(10, "a", "b"),
        result(10, "b"),
        result(10, "a"),
        assistant(),
        assistant(10, "c"),
        result(10, "c"),
        assistant(),
    )
    assert exchanges(made) == [(0,), (1, 2, 3), (4, 5, 6), (7,)]


def test_the_same_id_twice_in_a_turn_pairs_by_position() -> None:
    """Case c08, and its kind: the exchanges stay apart."""
    made = given(user(), exchange("x"), exchange("x"), assistant(10, "x", "x"), result(10, "x"), result(10, "x"))
    assert exchanges(made) == [(0,), (1, 2), (3, 4), (5, 6, 7)]
    assert faults(made.facts) == []


def test_a_call_that_is_answered_late_ties_its_exchange_to_the_result() -> None:
    made = given(
        user(), assistant(10, "a", "b"), result(10, "a"), assistant(10, "c"), result(10, "c", "b"), assistant()
    )
    assert exchanges(made) == [(0,), (1, 2, 3, 4), (5,)]


def test_without_a_message_of_the_user_the_last_group_is_the_current_one() -> None:
    made = given(system(), assistant(), summary(), exchange("a"))
    whole = outline(made.facts, made.tokens)
    assert whole.request is None
    assert [group.indices for group in current_groups(whole)] == [(3, 4)]
    assert current_groups(outline((), ())) == ()


REASONING = {"type": "reasoning", "summary": [], "encrypted_content": "c2VhbGVk"}


def call(name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "shell", "arguments": "{}"}


def output(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": "ok"}


ASKED = {"role": "user", "content": "Go on."}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def parts_of(dialect: Dialect, *messages: Any) -> list[tuple[int, ...]]:
    facts = read(dialect, *messages)
    whole = outline(facts, [1] * len(facts))
    assert whole.pairing.faults == ()
    return [one.indices for one in split_exchanges(whole, current_groups(whole))]


def test_reasoning_items_travel_with_the_item_that_follows() -> None:
    """Case c04."""
    made = parts_of(
        "openai-responses",
        ASKED,
        REASONING,
        call("a"),
        call("b"),
        output("b"),
        output("a"),
        REASONING,
        SAID,
        call("c"),
        output("c"),
        REASONING,
        SAID,
    )
    assert made == [(0,), (1, 2, 3, 4, 5), (6, 7, 8, 9), (10, 11)]


def test_a_system_message_between_reasoning_and_what_it_led_to_parts_nothing() -> None:
    assert parts_of("openai-responses", ASKED, REASONING, {"role": "developer", "content": "Be brief."}, SAID) == [
        (0,),
        (1, 3),
    ]


def test_a_consent_travels_with_its_request_and_with_what_was_allowed() -> None:
    made = parts_of(
        "openai-responses",
        ASKED,
        {"type": "mcp_approval_request", "id": "r", "name": "x", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True},
        {"type": "mcp_call", "id": "m", "name": "x", "arguments": "{}", "output": "ok"},
        call("a"),
        output("a"),
        SAID,
    )
    assert made == [(0,), (1, 2, 3, 4, 5), (6,)]


def test_calls_that_the_provider_answers_need_no_result() -> None:
    search = {"type": "web_search_call", "id": "w", "action": {"query": "x"}}
    assert parts_of("openai-responses", ASKED, REASONING, search, SAID, ASKED, search, SAID) == [(4,), (5, 6)]


def test_a_result_may_belong_to_an_item_that_is_only_referred_to() -> None:
    made = parts_of("openai-responses", ASKED, {"type": "item_reference", "id": "x"}, output("a"), SAID)
    assert made == [(0,), (1, 2), (3,)]


def test_a_hosted_result_in_the_next_message_belongs_to_its_call() -> None:
    """After `pause_turn` an answer of Anthropic goes on in another message."""
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    made = parts_of(
        "anthropic",
        {"role": "user", "content": "Search."},
        {"role": "assistant", "content": [use]},
        {"role": "assistant", "content": [found, {"type": "text", "text": "Found."}]},
    )
    assert made == [(0,), (1, 2)]


def test_gemini_pairs_by_name_and_order() -> None:
    def calls(*names: str) -> dict[str, Any]:
        return {"role": "model", "parts": [{"functionCall": {"name": name}} for name in names]}

    def answers(*names: str) -> dict[str, Any]:
        return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}}} for name in names]}

    made = parts_of(
        "gemini",
        {"role": "user", "parts": [{"text": "Go."}]},
        calls("read", "read", "run"),
        answers("read", "read"),
        answers("run"),
        calls("read"),
        answers("read", "read"),  # repeated on resume, as Gemini CLI does
        calls("run", "read"),
        answers("read", "read", "run"),
    )
    assert made == [(0,), (1, 2, 3), (4, 5), (6, 7)]


def test_results_without_ids_pair_by_place() -> None:
    def ask(*names: str) -> dict[str, Any]:
        calls = [{"id": "", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
        return {"role": "assistant", "tool_calls": calls}

    reply = {"role": "tool", "content": "ok"}
    made = parts_of("openai-chat", ASKED, ask("read", "run"), reply, reply, ask("read"), reply, ask("read"), reply)
    assert made == [(0,), (1, 2, 3), (4, 5), (6, 7)]


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ((0, 1, 2, 3, 4), []),
        ((0, 1, 4), [(1, "call-without-result"), (1, "call-without-result")]),
        ((0, 1, 2, 4), [(1, "call-without-result")]),
        ((0, 2, 3, 4), [(2, "result-without-call"), (3, "result-without-call")]),
    ],
)
def test_a_selection_that_parts_a_call_from_a_result_is_faulty(
    kept: tuple[int, ...], expected: list[tuple[int, str]]
) -> None:
    """Section 12.3 (regression R33)."""
    made = given(user(), assistant(10, "a", "b"), result(10, "a"), result(10, "b"), user())
    assert faults(made.facts, *kept) == expected


def test_a_call_may_wait_in_the_last_message_of_the_assistant_alone() -> None:
    """Contradiction C10: the reference refuses every request with a call in flight."""
    made = given(user(), assistant(10, "a", "b"), result(10, "a"))
    assert faults(made.facts) == []
    assert [group.open for group in group_messages(made.facts, made.tokens)] == [True]
    interrupted = given(user(), assistant(10, "a"), user())
    assert faults(interrupted.facts) == [(1, "call-without-result")]
    earlier = given(user(), assistant(10, "a"), result(10), assistant(10, "b"), result(10, "b"))
    assert faults(earlier.facts) == [(1, "call-without-result")]


def test_a_result_without_an_id_belongs_to_no_call_of_an_earlier_run() -> None:
    made = given(user(), assistant(10, "\0read"), user(), assistant(), result(10, "\0"))
    assert faults(made.facts) == [(1, "call-without-result"), (4, "result-without-call")]


def test_a_call_of_an_earlier_turn_that_nobody_answered_is_given_up_when_its_id_comes_again() -> None:
    made = given(user(), assistant(10, "a", "a"), user(), assistant(10, "a"), result(10, "a"))
    assert faults(made.facts) == [(1, "call-without-result"), (1, "call-without-result")]
    assert ids(made) == ["group:0-1", "group:2-4"]


def test_a_result_that_is_sent_twice_is_no_fault() -> None:
    made = given(user(), assistant(10, "a"), result(10, "a"), result(10, "a"))
    assert faults(made.facts) == []


def test_a_result_must_keep_the_call_it_had() -> None:
    made = given(user(), assistant(10, "a"), result(10, "a"), user(), assistant(10, "a"), result(10, "a"))
    assert faults(made.facts, 0, 1, 3, 5) == [(5, "result-of-another-call")]


def test_reasoning_must_not_be_last_or_stand_before_the_user() -> None:
    """Case c04."""
    facts = read("openai-responses", ASKED, REASONING, SAID, ASKED)
    assert faults(facts) == []
    assert faults(facts, 0, 1) == [(1, "reasoning-without-successor")]
    assert faults(facts, 0, 1, 3) == [(1, "reasoning-without-successor")]


@pytest.mark.parametrize("key", ["x", "\0"], ids=["one id", "no id"])
def test_outlines_of_long_lists_of_one_key_take_no_longer(key: str) -> None:
    """What a hostile client may send: no step looks at all messages before."""
    many = 20_000
    calls = (assistant(1, f"{key}{number}" if key == "\0" else key) for number in range(many))
    made = given(user(), *calls, *(result(1, key) for _ in range(many)))
    assert len(outline(made.facts, made.tokens).groups) == 1
    assert faults(made.facts) == []
