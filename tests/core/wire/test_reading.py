from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.core.wire import (
    DIALECTS,
    Dialect,
    parse_request,
    read_context,
    read_message,
    read_system,
    read_tool,
    render,
)

PROTOCOLS: dict[str, Dialect] = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic",
}


def check(body: bytes, dialect: Dialect) -> None:
    """Parses, reads and renders a request with every message left out in turn."""
    conversation = parse_request(body, dialect)
    context = read_context(conversation)
    assert len(context.messages) == len(conversation.messages)
    assert render(conversation, messages=range(len(conversation.messages))) == body
    for left_out in range(len(conversation.messages)):
        kept = [index for index in range(len(conversation.messages)) if index != left_out]
        again = parse_request(render(conversation, messages=kept), dialect)
        assert [piece.raw for piece in again.messages] == [conversation.messages[index].raw for index in kept]


@pytest.mark.shared
def test_the_awkward_requests_are_read(shared_data: Path) -> None:
    files = sorted((shared_data / "cases").glob("*.json"))
    assert files
    for file in files:
        case = json.loads(file.read_text())
        for indent in (None, 2):
            check(json.dumps(case["request"], indent=indent).encode(), PROTOCOLS[case["protocol"]])


@pytest.mark.shared
def test_every_recorded_payload_is_read_and_nothing_in_it_is_unknown(shared_data: Path) -> None:
    known = {"additional_tools", "compaction", "tool_reference"}
    seen = 0
    for payload, api in recorded_payloads(shared_data):
        conversation = parse_request(json.dumps(payload).encode(), api)
        for message in read_context(conversation).messages:
            assert all(part.kind != "other" or part.wire_type in known for part in message.parts), message
        seen += 1
    assert seen > 1_400


@pytest.mark.shared
def test_inline_pictures_of_recorded_payloads_have_their_size(shared_data: Path) -> None:
    sizes = []
    for payload, api in recorded_payloads(shared_data):
        for message in read_context(parse_request(json.dumps(payload).encode(), api)).messages:
            parts = [*message.parts, *(inner for part in message.parts for inner in part.parts)]
            media = [part.media for part in parts if part.media is not None and not part.media.remote]
            sizes += [medium.width for medium in media if medium.kind == "image"]
    assert sizes and None not in sizes


def recorded_payloads(shared_data: Path) -> list[tuple[Any, Dialect]]:
    lines = (shared_data / "token_ground_truth.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    return [(row["payload"], row["api"]) for row in rows if row["api"] in DIALECTS and row["kind"] != "component-sizes"]


def test_a_tool_keeps_its_bytes() -> None:
    raw = b'{ "name":"f", "input_schema": {"b":1, "a":2} }'
    conversation = parse_request(b'{"tools":[' + raw + b"]}", "anthropic")
    tool = read_tool(conversation.tools[0], "anthropic")
    assert tool.wire == raw
    assert list(tool.parameters or ()) == ["b", "a"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lone_surrogates_read_as_replacement_characters(dialect: Dialect) -> None:
    content = '{"role":"user","content":"a\\ud83e","parts":[{"text":"a\\ud83e"}]}'
    body = f'{{"messages":[{content}],"input":[{content}],"contents":[{content}],"system":["a\\ud83e"]}}'.encode()
    conversation = parse_request(body, dialect)
    assert read_message(conversation.messages[0], dialect).parts[0].text == "a\ufffd"
    assert all(read_system(piece, dialect) == "a\ufffd" for piece in conversation.system)


def test_a_context_holds_everything_that_bears_on_the_prompt() -> None:
    body = b'{"instructions":"rules","tools":[{"type":"web_search"}],"input":"hi"}'
    context = read_context(parse_request(body, "openai-responses"))
    assert context.system == ("rules",)
    assert [tool.name for tool in context.tools] == ["web_search"]
    assert [message.role for message in context.messages] == ["user"]
    assert context.complete
