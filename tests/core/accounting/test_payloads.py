from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.accounting import guess_shape, read_payload
from ullage.core.errors import CallError, RequestError


def body(**keys: Any) -> bytes:
    return msgspec.json.encode(keys)


@pytest.mark.parametrize(
    ("request_body", "shape"),
    [
        (body(messages=[{"role": "user", "content": "hi"}], model="gpt-4o"), "openai-chat"),
        (body(messages=[{"role": "system", "content": "x"}]), "openai-chat"),
        (body(input="hi"), "openai-responses"),
        (body(instructions="x", model="m"), "openai-responses"),
        (body(messages=[], system="x", max_tokens=5), "anthropic"),
        (body(messages=[{"role": "user", "content": [{"type": "tool_result"}]}]), "anthropic"),
        (body(messages=[], tools=[{"name": "x", "input_schema": {}}]), "anthropic"),
        (body(messages=[{"role": "user", "content": "x"}], model="claude-x", max_tokens=3), "anthropic"),
        (body(contents=[]), "gemini"),
        (body(generateContentRequest={}), "gemini"),
        (body(messages=[{"role": "user", "content": [{"text": "hi"}]}]), "bedrock"),
        (body(messages=[], toolConfig={}), "bedrock"),
        (body(messages=[{"role": "toolResult", "content": []}]), "pi-messages"),
        (body(messages=[], systemPrompt="x"), "pi-messages"),
        (body(type="session", version=3), None),
        (body(messages=[{"role": "user", "content": [{"type": []}]}]), "openai-chat"),
        (body(messages=[{"role": "user", "content": [{"type": [], "text": "hi"}]}]), "openai-chat"),
    ],
)
def test_a_body_shows_its_shape(request_body: bytes, shape: str | None) -> None:
    assert guess_shape(request_body) == shape


@pytest.mark.parametrize(
    ("legal", "text"),
    [
        (rb'{"messages":[{"role":"user","content":"a\ud800"}]}', "a\ufffd"),
        (b'{"temperature":1e999,"messages":[{"role":"user","content":"a"}]}', "a"),
        (b'{"seed":' + b"9" * 5000 + b',"messages":[{"role":"user","content":"a"}]}', "a"),
        (b'\xef\xbb\xbf{"messages":[{"role":"user","content":"a"}]}', "a"),
    ],
    ids=["lone surrogate", "number out of range", "very long number", "byte-order mark"],
)
@pytest.mark.parametrize("shape", ["openai-chat", "pi-messages"])
def test_what_is_legal_on_the_wire_is_read(legal: bytes, text: str, shape: str) -> None:
    """Design, section 11."""
    assert guess_shape(legal) == "openai-chat"
    assert read_payload(legal, shape).context.messages[0].parts[0].text == text


def test_a_schema_of_bedrock_that_is_no_json_is_none() -> None:
    config = {"textFormat": {"structure": {"jsonSchema": {"name": "n", "schema": "{"}}}}
    assert read_payload(body(messages=[], outputConfig=config), "bedrock").options.schema is None


def test_an_unknown_shape_is_refused_with_the_known_ones() -> None:
    with pytest.raises(CallError, match="klingon") as caught:
        read_payload(b"{}", "klingon")
    assert "bedrock" in caught.value.hint


@pytest.mark.parametrize("odd", [b"", b"[]", b"{", b'"x"', b"\xff", b"[" * 5000])
@pytest.mark.parametrize("shape", ["openai-chat", "bedrock", "pi-messages"])
def test_what_is_no_json_object_is_refused(odd: bytes, shape: str) -> None:
    with pytest.raises(RequestError):
        read_payload(odd, shape)


def test_bedrock_is_read_with_its_tools_choices_and_schema() -> None:
    payload = read_payload(
        body(
            system=[{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
            messages=[
                {"role": "user", "content": [{"text": "hi"}, {"guardContent": {"text": {"text": "guard"}}}]},
                {
                    "role": "assistant",
                    "content": [
                        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
                        {"toolUse": {"toolUseId": "1", "name": "x", "input": {"a": 1}}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "toolResult": {
                                "toolUseId": "1",
                                "content": [
                                    {"json": {"b": 2}},
                                    {
                                        "image": {
                                            "format": "png",
                                            "source": {"bytes_omitted": {"width": 4, "height": 3, "bytes": 9}},
                                        }
                                    },
                                ],
                            }
                        },
                        {"cachePoint": {"type": "default"}},
                        {"somethingNew": 1},
                    ],
                },
            ],
            toolConfig={
                "tools": [{"toolSpec": {"name": "x", "inputSchema": {"json": {"type": "object"}}}}, {"cachePoint": {}}],
                "toolChoice": {"any": {}},
            },
            additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 5}},
            outputConfig={"textFormat": {"structure": {"jsonSchema": {"name": "n", "schema": '{"type":"object"}'}}}},
        ),
        "bedrock",
    )
    context = payload.context
    assert context.system == ("Be brief.",)
    assert [part.kind for part in context.messages[1].parts] == ["thinking", "tool_call"]
    result = context.messages[2].parts[0]
    assert [part.kind for part in result.parts] == ["text", "image"]
    assert result.parts[1].media is not None
    assert (result.parts[1].media.width, result.parts[1].media.height) == (4, 3)
    assert context.tools[0].parameters == {"type": "object"}
    assert (payload.options.forced_tool, payload.options.thinking) == (True, True)
    assert (payload.options.schema, payload.options.schema_name) == ({"type": "object"}, "n")


def test_pi_messages_are_read_with_calls_results_and_pictures() -> None:
    payload = read_payload(
        body(
            systemPrompt="Be brief.",
            tools=[{"name": "read", "description": "d", "parameters": {"type": "object"}}],
            messages=[
                {"role": "user", "content": "hi"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
                        {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a.ts"}},
                    ],
                },
                {
                    "role": "toolResult",
                    "toolCallId": "1",
                    "toolName": "read",
                    "content": [{"type": "text", "text": "ok"}],
                },
                {"role": "user", "content": [{"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}]},
            ],
        ),
        "pi-messages",
    )
    kinds = [(message.role, [part.kind for part in message.parts]) for message in payload.context.messages]
    assert kinds == [
        ("user", ["text"]),
        ("assistant", ["thinking", "tool_call"]),
        ("tool", ["tool_result"]),
        ("user", ["image"]),
    ]
    assert payload.context.messages[1].parts[1].text == '{"path":"a.ts"}'
    assert payload.context.tools[0].parameters == {"type": "object"}


def test_what_pi_tells_of_a_tool_beside_its_definition_is_kept() -> None:
    told = {
        "name": "search",
        "parameters": {},
        "sourceInfo": {"scope": "user", "source": "auto", "path": "~/search.ts"},
        "promptGuidelines": ["Search first.", 3],
    }
    request = body(messages=[], systemPrompt="x", tools=[told, {"name": "off", "active": False}])
    search, off = read_payload(request, "pi-messages").context.tools
    assert (search.source, search.guidelines, search.active) == ("user · auto · ~/search.ts", ("Search first.",), True)
    assert (off.source, off.guidelines, off.active) == (None, (), False)
