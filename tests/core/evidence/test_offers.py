"""Large tool results in requests of every dialect, and the messages with references in their place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ullage.core.evidence.artifacts import ArtifactCaps
from ullage.core.evidence.offers import LOOKUP_TOOLS, Offer, find_calls, find_offers, is_lookup, may_offer
from ullage.core.tokens.estimators import utf16_units
from ullage.core.wire import DIALECTS, Dialect, Slice, parse_request, read_message, render, replace_result

CAPS = ArtifactCaps()
LONG = "".join(f"{number} ok\n" for number in range(3_000))
KEYS: dict[Dialect, str] = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
IMAGE = {"type": "image", "source": {"type": "url", "url": "http://a/b.png"}}


def result(dialect: Dialect, text: str, call: str = "c1", tool: str = "bash") -> dict[str, Any]:
    """A message with one tool result."""
    match dialect:
        case "openai-chat":
            return {"role": "tool", "tool_call_id": call, "content": text}
        case "openai-responses":
            return {"type": "function_call_output", "call_id": call, "output": text}
        case "anthropic":
            return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}
        case "gemini":
            return {"role": "user", "parts": [{"functionResponse": {"name": tool, "response": {"output": text}}}]}


def slices(dialect: Dialect, *messages: Any) -> tuple[Slice, ...]:
    return parse_request(json.dumps({"model": "m", KEYS[dialect]: messages}).encode(), dialect).messages


def offers(
    dialect: Dialect, message: Any, names: Mapping[str, str] | None = None, caps: ArtifactCaps = CAPS
) -> tuple[Offer, ...]:
    return find_offers(*slices(dialect, message), dialect, names or {"c1": "bash"}, caps, str)


def replace_results(piece: Slice, dialect: Dialect, found: Iterable[Offer]) -> bytes:
    for offer in found:
        piece = structs.replace(piece, raw=replace_result(piece, dialect, offer.ordinal, offer.text))
    return piece.raw


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_large_result_is_offered_with_its_tool_and_call(dialect: Dialect) -> None:
    (offer,) = offers(dialect, result(dialect, LONG))
    assert offer.ordinal == 0
    assert offer.artifact.tool == "bash"
    assert offer.artifact.call_id == (None if dialect == "gemini" else "c1")
    assert offer.artifact.chars == len(LONG)
    assert 'tool: "bash"' in offer.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_the_text_of_the_result_changes(dialect: Dialect) -> None:
    message = result(dialect, LONG)
    (piece,) = slices(dialect, message)
    found = find_offers(piece, dialect, {}, CAPS, str)
    replaced = json.loads(replace_results(piece, dialect, found))
    assert replaced == json.loads(json.dumps(message).replace(json.dumps(LONG), json.dumps(found[0].text)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_12_000_characters_stay_and_12_001_are_offered(dialect: Dialect) -> None:
    assert offers(dialect, result(dialect, "x" * 12_000)) == ()
    assert len(offers(dialect, result(dialect, "x" * 12_001))) == 1


def test_characters_are_utf16_units() -> None:
    assert offers("openai-chat", result("openai-chat", "🦊" * 6_000)) == ()
    assert len(offers("openai-chat", result("openai-chat", "🦊" * 6_001))) == 1


@given(st.text(st.characters(codec="utf-8"), max_size=50).map(lambda text: text * 300))
def test_a_slice_that_could_not_hold_a_large_result_holds_none(text: str) -> None:
    (piece,) = slices("openai-chat", result("openai-chat", text))
    if utf16_units(text) > CAPS.inline_chars:
        assert may_offer(piece, CAPS)


def test_each_of_several_results_has_its_place() -> None:
    message = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "short"},
            {"type": "tool_result", "tool_use_id": "b", "is_error": True, "content": [{"type": "text", "text": LONG}, IMAGE]},
            {"type": "text", "text": LONG},
            {"type": "tool_result", "tool_use_id": "c", "content": LONG},
        ],
    }  # fmt: skip
    (piece,) = slices("anthropic", message)
    found = find_offers(piece, "anthropic", {"a": "one", "b": "two", "c": "three"}, CAPS, str)
    assert [(offer.ordinal, offer.artifact.tool, offer.artifact.is_error) for offer in found] == [
        (1, "two", True),
        (2, "three", False),
    ]
    content = json.loads(replace_results(piece, "anthropic", found))["content"]
    assert content[0] == message["content"][0]
    assert content[1]["content"] == [{"type": "text", "text": found[0].text}, IMAGE]
    assert content[1]["is_error"] is True
    assert content[2] == message["content"][2]
    assert content[3]["content"] == found[1].text


def test_what_a_user_or_a_model_says_is_never_offered() -> None:
    assert offers("openai-chat", {"role": "user", "content": LONG}) == ()
    assert offers("openai-chat", {"role": "assistant", "content": LONG}) == ()
    assert offers("openai-responses", LONG) == ()
    hosted = {"type": "mcp_tool_result", "tool_use_id": "x", "content": [{"type": "text", "text": LONG}]}
    assert offers("anthropic", {"role": "assistant", "content": [hosted]}) == ()
    ran = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": LONG}}
    assert offers("gemini", {"role": "model", "parts": [ran]}) == ()


@pytest.mark.parametrize("name", LOOKUP_TOOLS)
@pytest.mark.parametrize("prefix", ["", "mcp__ullage__", "ullage_", "ullage.", "mcp__ullage.", "my-ullage/"])
def test_what_our_own_lookups_gave_stays(name: str, prefix: str) -> None:
    """A reference to a reading would be read again, and again (regression R47)."""
    assert offers("anthropic", result("anthropic", LONG), {"c1": prefix + name}) == ()


@pytest.mark.parametrize("tool", ["bash", "read", "prehistory_search", "artifact_read_all", "artifact", ""])
def test_other_tools_are_no_lookups(tool: str) -> None:
    assert not is_lookup(tool)


def test_an_object_has_a_largest_size() -> None:
    message = result("openai-chat", LONG)
    assert len(offers("openai-chat", message, caps=ArtifactCaps(object_bytes=len(LONG)))) == 1
    assert offers("openai-chat", message, caps=ArtifactCaps(object_bytes=len(LONG) - 1)) == ()


def test_no_reference_is_longer_than_what_it_stands_for() -> None:
    caps = ArtifactCaps(inline_chars=100)
    assert offers("openai-chat", result("openai-chat", "x" * 300), caps=caps) == ()
    assert len(offers("openai-chat", result("openai-chat", "x" * 3_000), caps=caps)) == 1


def test_calls_are_known_by_id_and_tool() -> None:
    (piece,) = slices(
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "a", "name": "read", "input": {}},
                {"type": "tool_use", "id": "b", "name": "bash", "input": {}},
            ],
        },
    )
    assert find_calls(read_message(piece, "anthropic")) == (("a", "read"), ("b", "bash"))


@given(st.sampled_from(DIALECTS), st.text(st.characters(codec=None), min_size=40, max_size=60))
def test_a_replaced_message_reads_back_in_every_dialect(dialect: Dialect, text: str) -> None:
    """Lone surrogates, emoji and control characters in the result do no harm to the request."""
    caps = ArtifactCaps(inline_chars=1_000)
    body = json.dumps({"model": "m", KEYS[dialect]: [result(dialect, text * 200)]}).encode()
    conversation = parse_request(body, dialect)
    (piece,) = conversation.messages
    found = find_offers(piece, dialect, {}, caps, str)
    assert len(found) == 1
    sent = render(conversation, replaced={0: replace_results(piece, dialect, found)})
    assert len(sent) < len(body)
    (part,) = read_message(parse_request(sent, dialect).messages[0], dialect).parts
    assert found[0].text in (part.text, json.loads(part.text)["output"] if dialect == "gemini" else "")


@pytest.mark.shared
def test_the_emoji_case_of_the_recorded_requests_stays_valid(shared_data: Path) -> None:
    """Case c12, at many caps: every reference is sound, and all else keeps its bytes."""
    case = json.loads((shared_data / "cases" / "c12-cut-inside-emoji.json").read_bytes())
    conversation = parse_request(json.dumps(case["request"], ensure_ascii=False).encode(), "openai-chat")
    piece = conversation.messages[3]
    for cap in range(1_000, 3_000, 37):
        found = find_offers(piece, "openai-chat", {}, ArtifactCaps(inline_chars=cap), str)
        for offer in found:
            sent = json.loads(render(conversation, replaced={3: replace_results(piece, "openai-chat", [offer])}))
            assert sent["messages"][3]["content"] == offer.text
            assert utf16_units(offer.text) <= cap
