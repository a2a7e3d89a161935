from __future__ import annotations

from typing import Any

import pytest

from ullage.core.content import Media, Message, Part, ToolSpec
from ullage.core.wire.requests.gemini import read_message, read_system, read_tool, snake


def respelled(value: Any) -> Any:
    """The same in snake_case, as the Python SDK of Google sends parts of it."""
    if isinstance(value, dict):
        return {snake(key): respelled(item) for key, item in value.items()}
    return [respelled(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("spell", [lambda value: value, respelled], ids=["camelCase", "snake_case"])
@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": "hi"}, Part(kind="text", text="hi", wire_type="text")),
        (
            {"text": "hm", "thought": True, "thoughtSignature": "sig"},
            Part(kind="thinking", text="hm", carries_reasoning=True, sealed_chars=3, wire_type="thought"),
        ),
        (
            {"thought": True, "thoughtSignature": "sig"},
            Part(kind="thinking", carries_reasoning=True, sealed_chars=3, wire_type="thought"),
        ),
        (
            {"text": "hi", "thoughtSignature": "sig"},
            Part(kind="text", text="hi", carries_reasoning=True, sealed_chars=3, wire_type="text"),
        ),
        (
            {"functionCall": {"id": "c1", "name": "f", "args": {"path": "a"}}, "thoughtSignature": "sig"},
            Part(
                kind="tool_call",
                name="f",
                text='{"path":"a"}',
                call_id="c1",
                carries_reasoning=True,
                sealed_chars=3,
                wire_type="functionCall",
            ),
        ),
        (
            {"functionResponse": {"name": "f", "response": {"output": "done"}}},
            Part(kind="tool_result", name="f", text='{"output":"done"}', wire_type="functionResponse"),
        ),
        (
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            Part(kind="image", media=Media(kind="image", mime="image/png", size_bytes=3), wire_type="inlineData"),
        ),
        (
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
            Part(
                kind="document",
                media=Media(kind="document", mime="application/pdf", size_bytes=3),
                wire_type="inlineData",
            ),
        ),
        (
            {"inlineData": {"mimeType": "text/plain", "data": "aGVsbG8="}},
            Part(
                kind="document",
                text="hello",
                media=Media(kind="document", mime="text/plain", size_bytes=5),
                wire_type="inlineData",
            ),
        ),
        (
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x"}},
            Part(kind="video", media=Media(kind="video", mime="video/mp4", remote=True), wire_type="fileData"),
        ),
        (
            {"executableCode": {"language": "PYTHON", "code": "1+1"}},
            Part(kind="tool_call", name="code_execution", text="1+1", wire_type="executableCode"),
        ),
        (
            {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "oh"}},
            Part(kind="tool_result", name="code_execution", text="oh", is_error=True, wire_type="codeExecutionResult"),
        ),
        ({"later": 1}, Part(kind="other", text='{"later":1}')),
    ],
)
def test_parts_in_both_spellings(part: Any, expected: Part, spell: Any) -> None:
    assert read_message({"role": "model", "parts": [spell(part)]}).parts == (expected,)


def test_a_content_without_a_role_is_the_users_and_one_with_a_response_the_tools() -> None:
    response = {"functionResponse": {"name": "f", "response": {}}}
    assert read_message({"parts": [{"text": "a"}]}).role == "user"
    assert read_message({"role": "user", "parts": [response, response]}).role == "tool"
    assert len(read_message({"role": "user", "parts": [response, response]}).parts) == 2
    assert read_message({"role": "model", "parts": {"text": "a"}}) == Message(
        role="assistant", parts=(Part(kind="text", text="a", wire_type="text"),)
    )


def test_a_response_with_a_picture_nests_it() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data_omitted": {"width": 4, "height": 3, "bytes": 9}}}
    message = read_message(
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}, "parts": [picture]}}]}
    )
    result = message.parts[0]
    assert (result.text, [part.kind for part in result.parts]) == ("", ["text", "image"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"text": "a"}, "a"), ("a", "a"), ({"parts": [{"text": "a"}, {"text": "b"}]}, "a\nb"), ({"x": 1}, '{"x":1}')],
)
def test_a_system_slice_is_its_text(value: Any, expected: str) -> None:
    assert read_system(value) == expected


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            {"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}},
            ToolSpec(name="f", description="d", parameters={"type": "object"}),
        ),
        ({"name": "f", "parameters": {"type": "OBJECT"}}, ToolSpec(name="f", parameters={"type": "OBJECT"})),
        ({"googleSearch": {}}, ToolSpec(name="googleSearch", kind="hosted")),
        ({}, ToolSpec(name="unknown", kind="hosted")),
        (
            {"function_declarations": [{"name": "f"}], "googleSearch": {}},
            ToolSpec(
                name="functionDeclarations",
                kind="namespace",
                tools=(ToolSpec(name="f"), ToolSpec(name="googleSearch", kind="hosted")),
            ),
        ),
    ],
)
def test_tools_by_their_kind(tool: Any, expected: ToolSpec) -> None:
    assert read_tool(tool) == expected
