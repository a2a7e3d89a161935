from __future__ import annotations

from typing import Any

import pytest

from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.wire.requests.openai_chat import read_message, read_tool


def text(value: str, wire_type: str = "text") -> Part:
    return Part(kind="text", text=value, wire_type=wire_type)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "system", "content": "Be kind."}, Message(role="system", parts=(text("Be kind."),))),
        ({"role": "developer", "content": "x"}, Message(role="developer", parts=(text("x"),))),
        (
            {"role": "user", "name": "ann", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            Message(role="user", parts=(text("a"), text("b")), name="ann"),
        ),
        ({"role": "assistant", "content": None}, Message(role="assistant")),
        ({"role": "critic", "content": "x"}, Message(role="user", parts=(text("x"),))),
        ("a string", Message(role="user", parts=(text("a string"),))),
        (
            {"role": "assistant", "content": None, "refusal": "No."},
            Message(role="assistant", parts=(text("No.", "refusal"),)),
        ),
    ],
)
def test_texts_keep_their_role(message: Any, expected: Message) -> None:
    assert read_message(message) == expected


def test_an_assistant_message_thinks_speaks_and_calls_in_this_order() -> None:
    message = read_message(
        {
            "role": "assistant",
            "reasoning_content": "hm",
            "content": "Reading.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}},
                {"id": "c2", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
                {
                    "id": "c3",
                    "type": "function",
                    "function": {"name": "ls", "arguments": {"a": 1}},
                    "extra_content": {"google": {"thought_signature": "sig"}},
                },
            ],
        }
    )
    assert [(part.kind, part.text, part.name, part.call_id) for part in message.parts] == [
        ("thinking", "hm", None, None),
        ("text", "Reading.", None, None),
        ("tool_call", '{"p": 1}', "read", "c1"),
        ("tool_call", "*** Begin", "patch", "c2"),
        ("tool_call", '{"a":1}', "ls", "c3"),
    ]
    assert message.parts[4].carries_reasoning and message.parts[4].sealed_chars == 3


def test_the_old_function_call_is_a_call() -> None:
    message = read_message({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}})
    assert message.parts == (Part(kind="tool_call", name="f", text="{}", wire_type="function_call"),)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
            Part(kind="tool_result", text="done", call_id="c1", wire_type="tool"),
        ),
        (
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "done"}]},
            Part(kind="tool_result", text="done", call_id="c1", wire_type="tool"),
        ),
        (
            {"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            Part(kind="tool_result", parts=(text("a"), text("b")), wire_type="tool"),
        ),
        (
            {"role": "function", "name": "f", "content": "done"},
            Part(kind="tool_result", text="done", name="f", wire_type="function"),
        ),
        ({"role": "tool"}, Part(kind="tool_result", wire_type="tool")),
    ],
)
def test_a_tool_message_is_a_tool_result(message: Any, expected: Part) -> None:
    read = read_message(message)
    assert (read.role, read.parts) == ("tool", (expected,))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
            Part(kind="image", media=Media(kind="image", detail="low", remote=True), wire_type="image_url"),
        ),
        (
            {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
            Part(kind="image", media=Media(kind="image", mime="image/png", size_bytes=3), wire_type="image_url"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            Part(kind="audio", media=Media(kind="audio", mime="audio/wav", size_bytes=3), wire_type="input_audio"),
        ),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            Part(
                kind="document",
                name="a.pdf",
                media=Media(kind="document", mime="application/pdf", size_bytes=3),
                wire_type="file",
            ),
        ),
        (
            {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="}},
            Part(
                kind="document",
                name="a.txt",
                text="hello",
                media=Media(kind="document", mime="text/plain", size_bytes=5),
                wire_type="file",
            ),
        ),
        (
            {"type": "document_url", "document_url": "https://x.test/a.txt"},
            Part(kind="document", media=Media(kind="document", remote=True), wire_type="document_url"),
        ),
        (
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            Part(kind="thinking", text="hm", wire_type="thinking"),
        ),
        ({"type": "refusal", "refusal": "No."}, text("No.", "refusal")),
        (
            {"type": "hologram", "data": "A" * 600, "caption": "a cat"},
            Part(kind="other", text='{"type":"hologram","caption":"a cat"}', sealed_chars=600, wire_type="hologram"),
        ),
    ],
)
def test_blocks_are_told_apart_and_unknown_ones_survive(block: Any, expected: Part) -> None:
    assert read_message({"role": "user", "content": [block]}).parts == (expected,)


def test_openrouters_reasoning_details_say_what_is_sealed() -> None:
    message = read_message(
        {
            "role": "assistant",
            "reasoning": "hm",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "hm", "signature": "sig"},
                {"type": "reasoning.encrypted", "data": "sealed"},
            ],
        }
    )
    assert [(part.text, part.carries_reasoning, part.sealed_chars) for part in message.parts] == [
        ("hm", True, 3),
        ("", True, 6),
    ]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {
                "type": "function",
                "function": {"name": "f", "description": "d", "parameters": {"b": 1, "a": 2}, "strict": True},
            },
            ToolSpec(name="f", description="d", parameters={"b": 1, "a": 2}, strict=True),
        ),
        ({"name": "f", "parameters": {}}, ToolSpec(name="f", parameters={})),
        (
            {"type": "custom", "custom": {"name": "c", "description": "d", "format": {"type": "text"}}},
            ToolSpec(name="c", description="d", kind="custom", format={"type": "text"}),
        ),
        ({"type": "web_search"}, ToolSpec(name="web_search", kind="hosted")),
        ({"type": "function"}, ToolSpec(name="function", kind="hosted")),
        (7, ToolSpec(name="unknown", kind="hosted")),
    ],
)
def test_tools_by_their_kind(tool: Any, expected: ToolSpec) -> None:
    assert read_tool(tool) == expected
