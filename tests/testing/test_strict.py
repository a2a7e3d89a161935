"""What the fake provider refuses when it is as strict as real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.core.wire import DIALECTS, Dialect
from ullage.testing import BuiltRequest, Exchange, FakeProvider, make_request
from ullage.testing.dialects.events import seal
from ullage.testing.strict import find_refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .conftest import Result

USER = {"role": "user", "content": "Go on."}
MIND = {"role": "system", "content": "Mind."}
ANSWER = {"role": "assistant", "content": "Done."}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": seal("Hm.")}


def chat_call(*ids: str) -> dict[str, Any]:
    calls = [{"id": one, "type": "function", "function": {"name": "read", "arguments": "{}"}} for one in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_result(call: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": "done"}


def item(kind: str, call: str) -> dict[str, Any]:
    return {"type": kind, "call_id": call, "name": "read", "arguments": "{}", "output": "done"}


def use(*ids: str, first: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": one, "name": "read", "input": {}} for one in ids]
    return {"role": "assistant", "content": [*first, *calls]}


def results(*ids: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": one, "content": "done"} for one in ids]}


def model(*names: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": one, "args": {}}} for one in names]}


def responses(*names: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": one, "response": {}}} for one in names]}


SAID = {"role": "user", "parts": [{"text": "Go on."}]}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}
LISTS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}

TAKEN: list[tuple[Dialect, list[Any]]] = [
    ("openai-chat", [USER, chat_call("a", "b"), chat_result("b"), chat_result("a"), USER]),
    ("openai-chat", [chat_call("a"), chat_result("a"), chat_call("a"), chat_result("a")]),
    ("openai-responses", [USER, REASONING, item("function_call", "a"), item("function_call_output", "a"), USER]),
    ("openai-responses", [USER, REASONING, {"role": "developer", "content": "Mind."}, ANSWER]),
    ("openai-responses", [{"type": "web_search_call", "id": "w"}, {"type": "tool_search_call", "call_id": None}]),
    ("anthropic", [USER, use("a", "b", first=(THOUGHT,)), results("b"), results("a"), USER]),
    ("anthropic", [USER, MIND, use("a"), results("a"), MIND, ANSWER, USER, MIND]),
    ("anthropic", [USER, {"role": "assistant", "content": []}]),
    ("anthropic", [USER, {"role": "system", "content": [], "output_config": {"effort": "low"}}, ANSWER, USER]),
    ("gemini", [SAID, model("read", "run"), responses("read", "run"), SAID]),
    ("gemini", [SAID, model("read", "read"), responses("read"), responses("read"), SAID]),
]

REFUSED: list[tuple[str, Dialect, list[Any]]] = [
    ("a result without a call", "openai-chat", [USER, chat_result("a"), USER]),
    ("a result of another call", "openai-chat", [USER, chat_call("a"), chat_result("b")]),
    ("a second result", "openai-chat", [chat_call("a"), chat_result("a"), chat_result("a")]),
    ("a message between", "openai-chat", [chat_call("a"), USER, chat_result("a")]),
    ("one of two results", "openai-chat", [chat_call("a", "b"), chat_result("a"), USER]),
    ("a call in flight", "openai-chat", [USER, chat_call("a")]),
    ("an empty answer", "openai-chat", [USER, {"role": "assistant", "content": "", "reasoning_content": "Hm."}, USER]),
    ("an output without a call", "openai-responses", [USER, item("function_call_output", "a")]),
    ("an output before its call", "openai-responses", [item("function_call_output", "a"), item("function_call", "a")]),
    ("a second output", "openai-responses", [item("function_call", "a"), *[item("function_call_output", "a")] * 2]),
    ("a call without an output", "openai-responses", [USER, item("custom_tool_call", "a"), USER]),
    ("reasoning alone", "openai-responses", [USER, REASONING, USER]),
    ("reasoning at the end", "openai-responses", [USER, REASONING]),
    (
        "reasoning before an output",
        "openai-responses",
        [item("function_call", "a"), REASONING, item("function_call_output", "a")],
    ),
    ("a result without a call", "anthropic", [USER, ANSWER, results("a")]),
    ("a result at the start", "anthropic", [results("a")]),
    ("a call without a result", "anthropic", [USER, use("a"), USER]),
    ("a result too late", "anthropic", [USER, use("a"), USER, ANSWER, results("a")]),
    ("one of two results", "anthropic", [USER, use("a", "b"), results("a")]),
    ("a call in flight", "anthropic", [USER, use("a")]),
    ("an id that comes again", "anthropic", [USER, use("a"), results("a"), use("a"), results("a")]),
    ("the assistant first", "anthropic", [{"role": "assistant", "content": "Hello."}, USER]),
    ("an empty message", "anthropic", [{"role": "user", "content": []}]),
    ("an empty text", "anthropic", [{"role": "user", "content": ""}]),
    ("system first", "anthropic", [MIND, USER]),
    ("system before the user", "anthropic", [USER, MIND, USER]),
    ("system behind the assistant", "anthropic", [USER, ANSWER, MIND]),
    ("system between call and result", "anthropic", [USER, use("a"), MIND, results("a")]),
    ("thinking alone", "anthropic", [USER, {"role": "assistant", "content": [THOUGHT]}, USER]),
    ("altered thinking", "anthropic", [USER, use("a", first=({**THOUGHT, "thinking": "Oh."},)), results("a")]),
    ("no signature", "anthropic", [USER, use("a", first=({**THOUGHT, "signature": ""},)), results("a")]),
    ("one of two responses", "gemini", [SAID, model("read", "run"), responses("read"), SAID]),
    ("another response", "gemini", [SAID, model("read"), responses("run"), SAID]),
    ("a response without a call", "gemini", [responses("read"), SAID]),
    ("a call in flight", "gemini", [SAID, model("read")]),
    ("a call first", "gemini", [model("read"), responses("read"), SAID]),
    ("no parts", "gemini", [SAID, {"role": "model", "parts": []}, SAID]),
]


@pytest.mark.parametrize(("dialect", "messages"), TAKEN)
def test_what_real_providers_take_is_taken(dialect: Dialect, messages: list[Any]) -> None:
    assert find_refusal(dialect, {LISTS[dialect]: messages}) is None


@pytest.mark.parametrize(
    ("dialect", "messages"),
    [case[1:] for case in REFUSED],
    ids=[f"{dialect}: {name}" for name, dialect, _ in REFUSED],
)
def test_what_real_providers_refuse_is_refused(dialect: Dialect, messages: list[Any]) -> None:
    assert find_refusal(dialect, {LISTS[dialect]: messages})


@pytest.mark.parametrize("enabled", [True, False])
def test_where_thinking_is_enabled_a_tool_loop_begins_with_it(enabled: bool) -> None:
    later = [use("b", first=(THOUGHT,)), results("b")]
    begun = {
        "thinking": {"type": "enabled" if enabled else "adaptive"},
        "messages": [USER, use("a"), results("a"), *later],
    }
    assert (find_refusal("anthropic", begun) is not None) == enabled
    assert find_refusal("anthropic", {**begun, "messages": [USER, *later, use("a"), results("a")]}) is None
    assert find_refusal("anthropic", {**begun, "messages": [USER, use("a"), results("a"), ANSWER, USER]}) is None


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_strict_provider_answers_400_in_its_dialect(
    dialect: Dialect, ask: Callable[..., Awaitable[Result]]
) -> None:
    whole = make_request(dialect, turns=["Look.", Exchange(), "Done.", "Thanks."])
    messages = whole.payload[LISTS[dialect]]
    broken = {**whole.payload, LISTS[dialect]: [messages[0], *messages[2:]]}
    cut = BuiltRequest(dialect=dialect, path=whole.path, body=msgspec.json.encode(broken), headers=whole.headers)
    async with FakeProvider(strict=True) as strict, FakeProvider() as lenient:
        assert (await ask(strict, whole)).status == 200
        refused = await ask(strict, cut)
        assert (refused.status, refused.json["error"]["message"]) == (400, find_refusal(dialect, broken))
        assert (await ask(lenient, cut)).status == 200
