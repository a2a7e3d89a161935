from __future__ import annotations

from typing import Any

import pytest

from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.wire.requests.openai_responses import read_message, read_tool


def text(value: str, wire_type: str) -> Part:
    return Part(kind="text", text=value, wire_type=wire_type)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("hello", Message(role="user", parts=(text("hello", "text"),))),
        ({"role": "user", "content": "hello"}, Message(role="user", parts=(text("hello", "text"),))),
        (
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
            Message(role="developer", parts=(text("rules", "input_text"),)),
        ),
        (
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "a", "annotations": []}],
            },
            Message(role="assistant", parts=(text("a", "output_text"),)),
        ),
    ],
)
def test_messages_with_and_without_a_type(item: Any, expected: Message) -> None:
    assert read_message(item) == expected


@pytest.mark.parametrize(
    ("item", "role", "part"),
    [
        (
            {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{ }"},
            "assistant",
            Part(kind="tool_call", name="f", text="{ }", call_id="c1", wire_type="function_call"),
        ),
        (
            {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"},
            "assistant",
            Part(kind="tool_call", name="patch", text="*** Begin", call_id="c1", wire_type="custom_tool_call"),
        ),
        (
            {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}, "status": "completed"},
            "assistant",
            Part(
                kind="tool_call",
                name="local_shell",
                text='{"command":["ls"]}',
                call_id="c1",
                wire_type="local_shell_call",
            ),
        ),
        (
            {"type": "web_search_call", "id": "ws", "action": {"query": "q"}},
            "assistant",
            Part(kind="tool_call", name="web_search", text='{"query":"q"}', call_id="ws", wire_type="web_search_call"),
        ),
        (
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
            "tool",
            Part(kind="tool_result", text="done", call_id="c1", wire_type="function_call_output"),
        ),
        (
            {"type": "custom_tool_call_output", "call_id": "c1", "output": {"content": "done", "success": True}},
            "tool",
            Part(kind="tool_result", text="done", call_id="c1", wire_type="custom_tool_call_output"),
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [{"type": "input_image", "image_url": "data:image/png;omitted,width=4,height=3,bytes=9"}],
            },
            "tool",
            Part(
                kind="tool_result",
                call_id="c1",
                wire_type="function_call_output",
                parts=(
                    Part(
                        kind="image",
                        media=Media(kind="image", mime="image/png", width=4, height=3, size_bytes=9),
                        wire_type="input_image",
                    ),
                ),
            ),
        ),
        (
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "sealed"},
            "assistant",
            Part(kind="thinking", text="hm", carries_reasoning=True, sealed_chars=6, wire_type="reasoning"),
        ),
        (
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": None},
            "assistant",
            Part(kind="thinking", wire_type="reasoning"),
        ),
        (
            {"type": "compaction", "encrypted_content": "sealed"},
            "assistant",
            Part(kind="other", carries_reasoning=True, sealed_chars=6, wire_type="compaction"),
        ),
        ({"type": "compaction_trigger"}, "user", Part(kind="other", wire_type="compaction_trigger")),
        ({"type": "item_reference", "id": "x"}, "user", Part(kind="other", wire_type="item_reference")),
        (
            {"type": "additional_tools", "role": "developer", "tools": [{"name": "f"}]},
            "developer",
            Part(kind="other", text='[{"name":"f"}]', wire_type="additional_tools"),
        ),
        (
            {"type": "new_kind", "text": "x", "encrypted_content": "s" * 20},
            "user",
            Part(kind="other", text='{"type":"new_kind","text":"x"}', sealed_chars=20, wire_type="new_kind"),
        ),
    ],
)
def test_an_item_is_a_message_of_one_part(item: dict[str, Any], role: str, part: Part) -> None:
    message = read_message(item)
    assert (message.role, message.parts) == (role, (part,))


def test_a_call_that_the_provider_answered_holds_both_halves() -> None:
    message = read_message(
        {"type": "mcp_call", "id": "m1", "name": "f", "arguments": "{}", "output": None, "error": "gone"}
    )
    assert [(part.kind, part.text, part.is_error) for part in message.parts] == [
        ("tool_call", "{}", False),
        ("tool_result", "gone", True),
    ]


def test_pictures_files_and_sounds() -> None:
    message = read_message(
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "high"},
                {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
                {"type": "refusal", "refusal": "No."},
            ],
        }
    )
    assert [(part.kind, part.text, part.name) for part in message.parts] == [
        ("image", "", None),
        ("document", "hello", "a.txt"),
        ("audio", "", None),
        ("text", "No.", None),
    ]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"type": "function", "name": "f", "description": None, "parameters": {}, "strict": False},
            ToolSpec(name="f", parameters={}, strict=False),
        ),
        (
            {"type": "custom", "name": "c", "format": {"type": "grammar"}},
            ToolSpec(name="c", kind="custom", format={"type": "grammar"}),
        ),
        (
            {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "f"}]},
            ToolSpec(name="n", description="d", kind="namespace", tools=(ToolSpec(name="f"),)),
        ),
        ({"type": "web_search"}, ToolSpec(name="web_search", kind="hosted")),
        ({"type": "mcp", "server_label": "docs"}, ToolSpec(name="docs", kind="hosted")),
        ({"type": "tool_search"}, ToolSpec(name="tool_search", kind="hosted")),
    ],
)
def test_tools_by_their_kind(tool: Any, expected: ToolSpec) -> None:
    assert read_tool(tool) == expected
