"""Recorded messages as they go over the wire: what is read from there is what was recorded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.content import Context, Media, Message, Part, ToolSpec
from ullage.core.wire import Conversation, Dialect, parse_request, read_context
from ullage.testing.replay.rendering import DIALECTS, render_messages, render_prelude, render_system_messages

PICTURE = Media(kind="image", mime="image/png", width=640, height=480, size_bytes=9_000)
DOCUMENT = Media(kind="document", mime="application/pdf", width=0, height=0, size_bytes=5)

CONVERSATION = (
    Message(role="user", parts=(Part(kind="text", text="Look.", wire_type="text"), Part(kind="image", media=PICTURE))),
    Message(
        role="assistant",
        parts=(
            Part(kind="thinking", text="Hm.", sealed_chars=40, carries_reasoning=True),
            Part(kind="text", text="I look."),
            Part(kind="tool_call", name="read", text='{"path":"a"}', call_id="c1"),
            Part(kind="tool_call", name="read", text='{"path":"b"}', call_id="c2"),
        ),
    ),
    Message(role="tool", parts=(Part(kind="tool_result", text="one", call_id="c1"),)),
    Message(
        role="tool",
        parts=(
            Part(
                kind="tool_result",
                call_id="c2",
                parts=(Part(kind="text", text="two"), Part(kind="image", media=PICTURE)),
            ),
        ),
    ),
    Message(role="assistant", parts=(Part(kind="text", text="Done."),)),
    Message(role="user", parts=(Part(kind="text", text="And this?"), Part(kind="document", media=DOCUMENT))),
)
TOOL = ToolSpec(name="read", description="Reads.", parameters={"type": "object", "properties": {}})


def parsed(dialect: Dialect, messages: list[dict[str, Any]], **members: Any) -> Conversation:
    key = "input" if dialect == "openai-responses" else "messages"
    return parse_request(msgspec.json.encode({"model": "m", key: messages, **members}), dialect)


def read(dialect: Dialect, messages: tuple[Message, ...], before: tuple[Message, ...] = ()) -> Context:
    return read_context(parsed(dialect, render_messages(dialect, messages, render_messages(dialect, before))))


def pieces(messages: tuple[Message, ...]) -> list[tuple[object, ...]]:
    """What weighs something, in order, wherever one message ends."""
    return [piece for message in messages for part in message.parts for piece in _pieces(part)]


def _pieces(part: Part) -> list[tuple[object, ...]]:
    name = part.name if part.kind == "tool_call" else None
    own = (part.kind, part.text, name, part.call_id, part.sealed_chars, part.media)
    return [own, *(piece for inner in part.parts for piece in _pieces(inner))]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_recorded_is_what_arrives(dialect: Dialect) -> None:
    assert pieces(read(dialect, CONVERSATION).messages) == pieces(CONVERSATION)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_results_answer_calls_in_the_role_of_a_tool(dialect: Dialect) -> None:
    roles = [message.role for message in read(dialect, CONVERSATION).messages]
    assert roles[-2:] == ["assistant", "user"]
    assert "tool" in roles


def test_neighbours_of_one_role_are_one_message_of_anthropic() -> None:
    roles = [message.role for message in read("anthropic", CONVERSATION).messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_what_stood_before_is_not_changed_when_more_is_put_behind() -> None:
    before = render_messages("anthropic", CONVERSATION[:3])
    kept = msgspec.json.encode(before)
    longer = render_messages("anthropic", CONVERSATION[3:4], before)
    assert msgspec.json.encode(before) == kept
    assert (len(before), len(longer)) == (3, 3)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_piece_by_piece_is_as_at_once(dialect: Dialect) -> None:
    at_once = read(dialect, CONVERSATION)
    assert read(dialect, CONVERSATION[3:], CONVERSATION[:3]) == at_once


def test_an_empty_text_is_not_sent_where_it_is_refused() -> None:
    empty = (
        Message(role="user", parts=(Part(kind="text"),)),
        Message(role="user", parts=(Part(kind="text", text="x"),)),
    )
    assert render_messages("anthropic", empty) == [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
    assert render_messages("anthropic", empty[:1]) == []


def test_thinking_without_a_seal_is_a_field_of_chat() -> None:
    thought = Message(role="assistant", parts=(Part(kind="thinking", text="Hm."), Part(kind="text", text="Yes.")))
    assert render_messages("openai-chat", [thought]) == [
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
    ]


@pytest.mark.parametrize(
    ("dialect", "block"),
    [
        ("anthropic", {"type": "container_upload", "file_id": "f"}),
        ("openai-responses", {"type": "item_of_tomorrow", "words": ["a", "b"]}),
    ],
)
def test_a_block_that_no_noun_stands_for_goes_back_as_it_came(dialect: Dialect, block: dict[str, Any]) -> None:
    items = [block] if dialect == "openai-responses" else [{"role": "user", "content": [block]}]
    recorded = read_context(parsed(dialect, items)).messages
    assert read(dialect, recorded).messages == recorded


def test_sealed_items_keep_the_length_of_their_seal() -> None:
    items = [
        {"type": "compaction", "encrypted_content": "x" * 300},
        {"type": "reasoning", "encrypted_content": "y" * 50},
    ]
    recorded = read_context(parsed("openai-responses", items)).messages
    assert [part.sealed_chars for message in recorded for part in message.parts] == [300, 50]
    assert pieces(read("openai-responses", recorded).messages) == pieces(recorded)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_system_prompt_and_tools_arrive(dialect: Dialect) -> None:
    prelude = Context(system=("Be brief.",), tools=(TOOL,))
    messages = [*render_system_messages(dialect, prelude), *render_messages(dialect, CONVERSATION[:1])]
    context = read_context(parsed(dialect, messages, **render_prelude(dialect, prelude)))
    said = [*context.system, *(part.text for one in context.messages if one.role == "system" for part in one.parts)]
    assert said == ["Be brief."]
    assert [(tool.name, tool.description, tool.parameters) for tool in context.tools] == [
        (TOOL.name, TOOL.description, TOOL.parameters)
    ]


def test_a_namespace_of_tools_stays_one() -> None:
    prelude = Context(tools=(ToolSpec(name="files", kind="namespace", tools=(TOOL,)),))
    messages = render_messages("openai-responses", CONVERSATION[:1])
    context = read_context(parsed("openai-responses", messages, **render_prelude("openai-responses", prelude)))
    assert [(tool.name, [member.name for member in tool.tools]) for tool in context.tools] == [("files", ["read"])]
