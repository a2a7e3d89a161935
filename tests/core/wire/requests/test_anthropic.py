from __future__ import annotations

from typing import Any

import pytest

from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.wire.requests.anthropic import read_message, read_system, read_tool


def text(value: str, wire_type: str = "text") -> Part:
    return Part(kind="text", text=value, wire_type=wire_type)


def test_a_system_message_among_the_others_is_read_in_either_form() -> None:
    block = {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}
    expected = Message(role="system", parts=(text("rules"),))
    assert read_message({"role": "system", "content": [block]}) == expected
    assert read_message({"role": "system", "content": "rules", "output_config": {"effort": "high"}}) == expected


def test_a_message_with_a_tool_result_has_the_role_tool() -> None:
    message = read_message(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "a"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "is_error": True,
                    "content": [{"type": "text", "text": "b"}],
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [
                        {"type": "text", "text": "c"},
                        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                        {"type": "tool_reference", "tool_name": "grep"},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "t3"},
                {"type": "text", "text": "and now?"},
            ],
        }
    )
    assert message.role == "tool"
    assert [(part.kind, part.call_id, part.text, part.is_error) for part in message.parts] == [
        ("tool_result", "t1", "a", False),
        ("tool_result", "t2", "b", True),
        ("tool_result", "t2", "", False),
        ("tool_result", "t3", "", False),
        ("text", None, "and now?", False),
    ]
    assert [part.kind for part in message.parts[2].parts] == ["text", "image", "other"]


def test_thinking_is_readable_signed_or_redacted() -> None:
    message = read_message(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "thinking", "thinking": "", "signature": "signature only"},
                {"type": "redacted_thinking", "data": "sealed"},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {"p": "é", "n": [1]}},
            ],
        }
    )
    assert [(part.kind, part.text, part.carries_reasoning, part.sealed_chars) for part in message.parts] == [
        ("thinking", "hm", True, 3),
        ("thinking", "", True, 14),
        ("thinking", "", True, 6),
        ("tool_call", '{"p":"é","n":[1]}', False, 0),
    ]


def test_results_of_hosted_tools_stay_with_the_assistant() -> None:
    message = read_message(
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s1",
                    "content": [{"type": "web_search_result", "title": "t", "encrypted_content": "x" * 900}],
                },
            ],
        }
    )
    assert message.role == "assistant"
    assert message.parts[1].kind == "tool_result"
    assert message.parts[1].text == '[{"type":"web_search_result","title":"t"}]'


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            Part(kind="image", media=Media(kind="image", mime="image/png", size_bytes=3), wire_type="image"),
        ),
        (
            {"type": "image", "source": {"type": "base64", "data_omitted": {"width": 4, "height": 3, "bytes": 9}}},
            Part(kind="image", media=Media(kind="image", width=4, height=3, size_bytes=9), wire_type="image"),
        ),
        (
            {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "body"}},
            Part(
                kind="document",
                name="T",
                text="T\nbody",
                media=Media(kind="document", mime="text/plain"),
                wire_type="document",
            ),
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "body"}]}},
            Part(kind="document", text="body", media=Media(kind="document"), wire_type="document"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f1"}},
            Part(kind="document", media=Media(kind="document", remote=True), wire_type="document"),
        ),
        (
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "c"}]},
            text("s\nt\nc", "search_result"),
        ),
        (
            {"type": "container_upload", "file_id": "f1"},
            Part(kind="other", text='{"type":"container_upload","file_id":"f1"}', wire_type="container_upload"),
        ),
        ("a bare string", text("a bare string")),
        (None, Part(kind="other")),
    ],
)
def test_blocks_are_told_apart_and_unknown_ones_survive(block: Any, expected: Part) -> None:
    assert read_message({"role": "user", "content": [block]}).parts == (expected,)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("whole", "whole"), ({"type": "text", "text": "block"}, "block"), ({"type": "odd"}, '{"type":"odd"}')],
)
def test_a_system_slice_is_its_text(value: Any, expected: str) -> None:
    assert read_system(value) == expected


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {}},
            ToolSpec(name="f", description="d", parameters={"type": "object"}),
        ),
        (
            {"type": "custom", "name": "f", "input_schema": {}, "defer_loading": True, "strict": True},
            ToolSpec(name="f", parameters={}, deferred=True, strict=True),
        ),
        ({"type": "bash_20250124", "name": "bash"}, ToolSpec(name="bash", kind="hosted")),
        ({"type": "mcp_toolset", "mcp_server_name": "m"}, ToolSpec(name="mcp_toolset", kind="hosted")),
    ],
)
def test_tools_by_their_kind(tool: Any, expected: ToolSpec) -> None:
    assert read_tool(tool) == expected
