"""Wire requests as chains: order, marks, options, and what a provider takes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.caching.making import CLAUDE, OPENAI
from ullage.core.caching import Chain, Mark, chain_of, count_blocks, is_whole
from ullage.core.wire import Conversation, Dialect, canonical_hash, parse_request

CLIENTS = Path(__file__).parents[2] / "data" / "clients"
TTL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def parsed(body: dict[str, Any], dialect: Dialect = "anthropic") -> Conversation:
    return parse_request(json.dumps(body).encode(), dialect)


def to_chain(conversation: Conversation, rule: Any = CLAUDE, **named: Any) -> Chain:
    pieces = (*conversation.tools, *conversation.system, *conversation.messages)
    hashes = [canonical_hash(piece, conversation.dialect) for piece in pieces]
    return chain_of(conversation, rule, hashes=hashes, weights=[10] * len(pieces), **named)


def recorded(client: str, name: str) -> Conversation:
    requests = json.loads((CLIENTS / f"{client}.json").read_text())["requests"]
    return parsed(next(request["body"] for request in requests if request["name"] == name))


def test_marks_are_found_on_tools_system_and_blocks_with_their_time() -> None:
    conversation = parsed(
        {
            "tools": [{"name": "a"}, {"name": "b", "cache_control": HOUR}],
            "system": [{"type": "text", "text": "s", "cache_control": HOUR}],
            "messages": [
                {"role": "user", "content": "plain"},
                {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y", "cache_control": TTL}]},
            ],
        }
    )  # fmt: skip
    chain = to_chain(conversation)
    assert (chain.tools, chain.system, chain.depth) == (2, 1, 5)
    assert chain.marks == (Mark(2, long=True), Mark(3, long=True), Mark(5))
    assert to_chain(conversation, OPENAI).marks == ()


def test_a_word_in_a_text_is_no_mark() -> None:
    conversation = parsed({"messages": [{"role": "user", "content": 'say "cache_control" please'}]})
    assert to_chain(conversation).marks == ()


def test_a_mark_on_the_whole_request_stands_at_its_end() -> None:
    conversation = parsed({"cache_control": TTL, "messages": [{"role": "user", "content": "a"}] * 3})
    assert to_chain(conversation).marks == (Mark(3),)


def test_a_moved_mark_changes_no_hash() -> None:
    first = parsed({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": TTL}]}]})
    later = parsed({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]})
    assert to_chain(first).hashes == to_chain(later).hashes[:1]


def test_the_block_that_tells_what_to_bill_is_passed_over_for_claude_alone() -> None:
    def asked(build: str) -> Conversation:
        header = {"type": "text", "text": f"x-anthropic-billing-header: cc_version={build};"}
        return parsed(
            {"system": [header, {"type": "text", "text": "s"}], "messages": [{"role": "user", "content": "a"}]}
        )

    one, two = asked("2.1.332.70e"), asked("2.1.332.5d1")
    assert to_chain(one) == to_chain(two)
    assert to_chain(one).tokens_to(1) == 0
    assert to_chain(one, OPENAI).hashes[0] != to_chain(two, OPENAI).hashes[0]


def test_real_requests_of_claude_code_share_harness_and_history() -> None:
    first = to_chain(recorded("claude-code-2.1.332", "tool-result"))
    second = to_chain(recorded("claude-code-2.1.332", "second-prompt"))
    assert first.marks[0].position == first.tools + 2
    assert len(first.marks) == len(second.marks) == 3
    assert first.marks[-1].position == first.depth
    assert second.marks[-1].position == second.depth


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ({"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}, "temperature": 1}, True),
        ({"thinking": {"type": "adaptive"}}, {}, False),
        ({"tool_choice": {"type": "auto"}}, {"tool_choice": {"type": "none"}}, False),
    ],
)
def test_options_that_make_held_messages_useless_are_told_apart(
    before: dict[str, Any], after: dict[str, Any], same: bool
) -> None:
    messages = [{"role": "user", "content": "a"}]
    one, two = (to_chain(parsed({**options, "messages": messages})) for options in (before, after))
    assert (one.options == two.options) is same


def test_openai_may_be_asked_to_hold_longer() -> None:
    messages = [{"role": "user", "content": "a"}]
    body = {"messages": messages, "prompt_cache_retention": "24h"}
    assert to_chain(parsed(body, "openai-chat"), OPENAI).long
    assert not to_chain(parsed({"messages": messages}, "openai-chat"), OPENAI).long


@pytest.mark.parametrize(
    ("body", "dialect", "whole"),
    [
        ({"input": [], "previous_response_id": "resp_1"}, "openai-responses", False),
        ({"input": [], "conversation": {"id": "conv_1"}}, "openai-responses", False),
        ({"input": [], "conversation": None}, "openai-responses", True),
        ({"input": []}, "openai-responses", True),
        ({"contents": [], "cachedContent": "cachedContents/1"}, "gemini", False),
        ({"contents": []}, "gemini", True),
    ],
)
def test_a_request_that_goes_on_from_something_stored_is_not_whole(
    body: dict[str, Any], dialect: Dialect, whole: bool
) -> None:
    assert is_whole(parsed(body, dialect)) is whole


@pytest.mark.parametrize(
    ("content", "blocks"),
    [("text", 1), ([], 1), ([{"type": "text", "text": "a"}] * 3, 3), (None, 1)],
)
def test_blocks_of_a_message_are_counted(content: Any, blocks: int) -> None:
    conversation = parsed({"messages": [{"role": "user", "content": content}]})
    assert count_blocks(conversation.messages[0]) == blocks
