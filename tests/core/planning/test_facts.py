"""What a plan knows of a message, read from the wire in every dialect (planner specification, section 12; design, section 11)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.core.planning.making import read
from ullage.core.content import Message, Part
from ullage.core.planning import ResultFacts, facts_of
from ullage.core.wire import DIALECTS, Dialect

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def one(dialect: Dialect, message: Any) -> Any:
    return read(dialect, message)[0]


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("openai-chat", {"role": "user", "content": "Hello."}),
        ("openai-chat", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]}),
        ("openai-chat", {"role": "user", "content": []}),
        ("openai-responses", {"role": "user", "content": "Hello."}),
        ("openai-responses", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}),
        ("openai-responses", "Hello."),
        ("anthropic", {"role": "user", "content": "Hello."}),
        ("anthropic", {"role": "user", "content": [{"type": "text", "text": "Hello."}]}),
        ("gemini", {"role": "user", "parts": [{"text": "Hello."}]}),
        ("gemini", {"parts": [{"text": "Hello."}]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_message_of_the_user_opens_a_turn(dialect: Dialect, message: Any) -> None:
    assert one(dialect, message).opens_turn


@pytest.mark.parametrize(
    ("dialect", "message", "answers"),
    [
        ("openai-chat", {"role": "tool", "tool_call_id": "a", "content": "ok"}, ("a",)),
        ("openai-chat", {"role": "function", "name": "read", "content": "ok"}, ("\0read",)),
        ("openai-responses", {"type": "function_call_output", "call_id": "a", "output": "ok"}, ("a",)),
        ("openai-responses", {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"}, ("a",)),
        ("openai-responses", {"type": "local_shell_call_output", "id": "a", "output": "ok"}, ("a",)),
        (
            "anthropic",
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "ok"},
                    {"type": "text", "text": "And mind the tests."},
                ],
            },
            ("a",),
        ),
        (
            "gemini",
            {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "read", "response": {}}}]},
            ("\0read",),
        ),
    ],
)
def test_a_message_with_a_tool_result_opens_no_turn(dialect: Dialect, message: Any, answers: tuple[str, ...]) -> None:
    fact = one(dialect, message)
    assert (fact.opens_turn, fact.role, fact.answers) == (False, "tool", answers)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "item_reference", "id": "x"},
        {"type": "compaction_trigger"},
        {"type": "mcp_approval_response", "approval_request_id": "x", "approve": True},
        {"type": "something_new", "value": 1},
    ],
    ids=lambda item: item["type"],
)
def test_an_item_that_is_no_message_opens_no_turn(item: dict[str, Any]) -> None:
    assert not one("openai-responses", item).opens_turn


@pytest.mark.parametrize(
    ("dialect", "message", "calls"),
    [
        (
            "openai-chat",
            {
                "role": "assistant",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                    {"id": "b", "type": "custom", "custom": {"name": "write", "input": "x"}},
                    {"id": "", "type": "function", "function": {"name": "run", "arguments": "{}"}},
                ],
            },
            ("a", "b", "\0run"),
        ),
        (
            "openai-chat",
            {"role": "assistant", "function_call": {"name": "read", "arguments": "{}"}},
            ("\0read",),
        ),
        ("openai-responses", {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"}, ("a",)),
        ("openai-responses", {"type": "custom_tool_call", "call_id": "a", "name": "x", "input": ""}, ("a",)),
        ("openai-responses", {"type": "local_shell_call", "call_id": "a", "action": {}}, ("a",)),
        (
            "anthropic",
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]},
            ("a",),
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "id": "2"}}]},
            ("\0f", "\0f"),
        ),
    ],
)
def test_calls_that_wait_for_a_result_are_known_by_their_keys(
    dialect: Dialect, message: Any, calls: tuple[str, ...]
) -> None:
    assert one(dialect, message).calls == calls


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ("openai-responses", {"type": "web_search_call", "id": "a", "action": {"query": "x"}}),
        ("openai-responses", {"type": "file_search_call", "id": "a", "queries": ["x"]}),
        ("openai-responses", {"type": "code_interpreter_call", "id": "a", "code": "1"}),
        ("openai-responses", {"type": "image_generation_call", "id": "a", "result": ""}),
        ("openai-responses", {"type": "mcp_call", "id": "a", "name": "x", "arguments": "{}", "output": "ok"}),
        ("openai-responses", {"type": "tool_search_call", "call_id": "a", "arguments": {}}),
        ("anthropic", {"role": "assistant", "content": [{"type": "server_tool_use", "id": "a", "name": "web_search"}]}),
        ("anthropic", {"role": "assistant", "content": [{"type": "mcp_tool_use", "id": "a", "name": "x"}]}),
        ("gemini", {"role": "model", "parts": [{"executableCode": {"code": "1"}}]}),
    ],
)
def test_a_call_that_the_provider_answers_waits_for_no_result(dialect: Dialect, message: Any) -> None:
    fact = one(dialect, message)
    assert fact.calls == ()
    assert len(fact.hosted) == 1


def test_what_must_travel_with_the_next_item_says_so() -> None:
    facts = read(
        "openai-responses",
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "c2VhbGVk"},
        {"type": "mcp_approval_response", "approval_request_id": "x", "approve": True},
        {"type": "item_reference", "id": "x"},
        {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"},
    )
    assert [fact.leads for fact in facts] == [True, True, True, False]
    assert [fact.opaque for fact in facts] == [False, True, True, False]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_system_and_developer_messages_are_fixed_parts(dialect: Dialect) -> None:
    roles = ["system", "developer"] if dialect != "gemini" else []
    for role in roles:
        fact = one(dialect, {"role": role, "content": "Rules."})
        assert fact.system
        assert not fact.opens_turn


def test_words_of_the_user_beside_results_are_told_from_those_of_the_host() -> None:
    def beside(*blocks: dict[str, Any]) -> bool:
        held = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
        said: bool = one("anthropic", {"role": "user", "content": [held, *blocks]}).says
        return said

    assert beside({"type": "text", "text": "Production must stay on warning."})
    assert beside({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}})
    assert not beside()
    assert not beside({"type": "text", "text": "\n<system-reminder>\nThe list is empty.\n</system-reminder>"})
    assert one("gemini", {"role": "user", "parts": [{"functionResponse": {"name": "f"}}, {"text": "Wait."}]}).says
    assert not one("anthropic", {"role": "user", "content": "Hello."}).says


def test_signed_thinking_counts_for_loops_of_anthropic_alone() -> None:
    signed = {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}
    unsigned = {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}
    hidden = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "c2ln"}]}
    assert [fact.thinking for fact in read("anthropic", signed, unsigned, hidden)] == [True, False, True]
    reasoning = {"type": "reasoning", "summary": [], "encrypted_content": "c2ln"}
    assert not one("openai-responses", reasoning).thinking


def test_a_result_knows_its_place_its_tool_and_its_length() -> None:
    fact = one(
        "anthropic",
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "four"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [{"type": "text", "text": "ab"}, {"type": "text", "text": "🦊"}],
                },
            ],
        },
    )
    assert fact.results == (
        ResultFacts(call_id="a", tool=None, text_chars=4, ordinal=0),
        ResultFacts(call_id="b", tool=None, text_chars=4, ordinal=1),
    )


def test_output_of_code_that_gemini_ran_is_no_result_that_can_be_replaced() -> None:
    fact = one(
        "gemini",
        {
            "role": "user",
            "parts": [
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"functionResponse": {"name": "f", "response": {"output": "ok"}}},
            ],
        },
    )
    assert [(found.tool, found.ordinal) for found in fact.results] == [("code_execution", None), ("f", 0)]


def test_pictures_are_counted_wherever_they_are_nested() -> None:
    """Regression R37: also in the outputs of tools."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    nested = {"type": "tool_result", "tool_use_id": "a", "content": [picture, picture]}
    assert one("anthropic", {"role": "user", "content": [nested, picture]}).media == 3


def test_what_stands_for_all_before_it_is_known_in_both_dialects_that_have_it() -> None:
    assert one("openai-responses", {"type": "compaction", "id": "c", "encrypted_content": "c2VhbGVk"}).compaction
    assert one("anthropic", {"role": "assistant", "content": [{"type": "compaction", "content": "…"}]}).compaction


def test_a_summary_opens_no_turn_whatever_its_role() -> None:
    message = Message(role="user", parts=(Part(kind="text", text="What was before."),))
    fact = facts_of(message, "openai-chat", summary=True)
    assert (fact.summary, fact.opens_turn) == (True, False)
