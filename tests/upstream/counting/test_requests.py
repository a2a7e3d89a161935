"""Captured requests to count requests, byte for byte; what an endpoint rejects is left out and named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.core.accounting.isolation import full_case, plan_isolation
from ullage.core.errors import CallError, RequestError, UpstreamError
from ullage.core.wire import Conversation, Dialect, parse_request
from ullage.testing import Exchange, make_request, make_tools
from ullage.upstream.counting import (
    CountRequest,
    bedrock_request,
    count_request,
    find_endpoint,
    make_countable,
    read_count,
)

COUNTED: tuple[tuple[str, Dialect], ...] = (
    ("openai", "openai-responses"),
    ("anthropic", "anthropic"),
    ("google", "gemini"),
)


def requests_of(body: bytes, provider: str, dialect: Dialect, model: str = "m-1") -> dict[str, CountRequest]:
    """The count requests of all cases."""
    endpoint = find_endpoint(provider, dialect)
    countable = make_countable(parse_request(body, dialect), endpoint)
    plan = plan_isolation(countable.conversation)
    return {case.id: count_request(countable, case, endpoint, model) for case in plan.cases}


def full_of(body: dict[str, Any], provider: str = "anthropic", dialect: Dialect = "anthropic") -> dict[str, Any]:
    endpoint = find_endpoint(provider, dialect)
    countable = make_countable(parse_request(msgspec.json.encode(body), dialect), endpoint)
    request = count_request(countable, full_case(countable.conversation), endpoint, "m-1")
    return {**msgspec.json.decode(request.body), "lost": countable.lost, "left_out": request.left_out}


def anthropic(**more: Any) -> dict[str, Any]:
    return {"model": "m-1", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **more}


def test_the_paths_and_members_of_the_specification() -> None:
    tools, system = make_tools(2), "Be brief."
    body = make_request("openai-responses", model="m-1", tools=tools, system=system).body
    full = requests_of(body, "openai", "openai-responses")["full"]
    assert full.path == "/v1/responses/input_tokens"
    assert list(msgspec.json.decode(full.body)) == ["model", "instructions", "input", "tools"]
    assert full.left_out == ("store", "stream")

    body = make_request("anthropic", model="m-1", tools=tools, system=system).body
    full = requests_of(body, "anthropic", "anthropic")["full"]
    assert full.path == "/v1/messages/count_tokens"
    assert list(msgspec.json.decode(full.body)) == ["model", "system", "tools", "messages"]
    assert full.left_out == ("max_tokens", "stream")

    extra = {"generation_config": {"temperature": 0}, "safetySettings": []}
    body = make_request("gemini", tools=tools, system=system, extra=extra).body
    full = requests_of(body, "google", "gemini", model="gemini-3-flash")["full"]
    assert full.path == "/v1beta/models/gemini-3-flash:countTokens"
    sent = msgspec.json.decode(full.body)["generateContentRequest"]
    assert list(sent) == ["model", "systemInstruction", "tools", "generationConfig", "contents"]
    assert sent["model"] == "models/gemini-3-flash"
    assert full.left_out == ("safetySettings",)


@pytest.mark.parametrize(("provider", "dialect"), COUNTED)
def test_sections_pass_byte_for_byte(provider: str, dialect: Dialect) -> None:
    """Odd spacing, escapes and unknown keys inside a slice reach the endpoint as they came."""
    request = make_request(
        dialect, turns=("One ü.", Exchange(), "Three."), tools=make_tools(3), system="Be brief.", marks=True
    )
    body = request.body.replace(b'"description":', b'"x-odd" : [ 1 , 2 ] ,\n "description" :').replace(
        b"Be", rb"\u0042e"
    )
    captured = parse_request(body, dialect)
    sent = requests_of(body, provider, dialect)
    for piece in captured.system:
        assert piece.raw in sent["system"].body
    for number, piece in enumerate(captured.tools):
        assert piece.raw in sent["tools"].body
        assert piece.raw in list(sent.values())[3 + number].body
    for piece in (*captured.system, *captured.tools, *captured.messages):
        assert piece.raw in sent["full"].body


@pytest.mark.parametrize(("provider", "dialect"), COUNTED)
def test_each_case_holds_its_own_section_and_the_minimal_message(provider: str, dialect: Dialect) -> None:
    body = make_request(dialect, turns=("A long question.",), tools=make_tools(2), system="Be brief.").body
    sent = {case: request.body for case, request in requests_of(body, provider, dialect).items()}
    assert {case for case, body in sent.items() if b"Be brief." in body} == {"system", "full"}
    assert {case for case, body in sent.items() if b'"tool_1"' in body} == {"tools", "tool:tool_1", "full"}
    assert {case for case, body in sent.items() if b"A long question." in body} == {"full"}
    assert {case for case, body in sent.items() if b'"hi"' in body} == set(sent) - {"full"}
    assert not any(b'"tools"' in sent[case] for case in ("baseline", "system"))


def test_options_that_frame_the_prompt_are_in_every_case_and_the_rest_in_the_full_one() -> None:
    body = anthropic(
        thinking={"type": "enabled", "budget_tokens": 1024},
        output_config={"effort": "high"},
        tool_choice={"type": "any"},
        tools=[{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}],
    )
    sent = {
        case: set(msgspec.json.decode(request.body))
        for case, request in requests_of(msgspec.json.encode(body), "anthropic", "anthropic").items()
    }
    assert all("thinking" in members for members in sent.values())
    assert {case for case, members in sent.items() if "tool_choice" in members} == {"tools", "tool:a", "tool:b", "full"}
    assert {case for case, members in sent.items() if "output_config" in members} == {"full"}


def test_a_choice_that_names_a_tool_is_in_the_full_request_alone() -> None:
    tools = [{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}]
    body = anthropic(tool_choice={"type": "tool", "name": "a"}, tools=tools)
    sent = requests_of(msgspec.json.encode(body), "anthropic", "anthropic")
    assert {case for case, request in sent.items() if b"tool_choice" in request.body} == {"full"}


def test_the_model_asked_for_replaces_the_captured_one() -> None:
    sent = requests_of(msgspec.json.encode(anthropic()), "anthropic", "anthropic", model="other")
    assert all(msgspec.json.decode(request.body)["model"] == "other" for request in sent.values())


def test_server_tools_are_left_out_and_named() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "a", "input_schema": {}}]
    sent = full_of(anthropic(tools=tools))
    assert [tool["name"] for tool in sent["tools"]] == ["a"]
    assert sent["lost"] == ("the server tool web_search_20250305",)


def test_a_choice_without_any_tool_left_goes_too() -> None:
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    sent = full_of(anthropic(tools=tools, tool_choice={"type": "auto"}))
    assert "tools" not in sent
    assert "tool_choice" not in sent


def test_tools_that_the_client_runs_stay_whatever_their_type() -> None:
    tools = [{"type": "bash_20250124", "name": "bash"}]
    assert full_of(anthropic(tools=tools))["lost"] == ()


def test_remote_sources_are_left_out_and_named() -> None:
    url = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    file = {"type": "document", "source": {"type": "file", "file_id": "file_1"}}
    here = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    messages = [
        {"role": "user", "content": [url]},
        {"role": "user", "content": [{"type": "text", "text": "Look."}, here, file], "odd": 1.50},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [url, here]}]},
    ]
    sent = full_of(anthropic(messages=messages))
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, here], "odd": 1.5},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [here]}]},
    ]
    assert sent["lost"] == ("3 blocks with a url or file source",)


def test_what_bears_on_the_prompt_and_is_not_taken_is_named_apart() -> None:
    sent = full_of(anthropic(mcp_servers=[], metadata={}))
    assert sent["lost"] == ("`mcp_servers`",)
    assert sent["left_out"] == ("max_tokens", "mcp_servers", "metadata")


def test_a_continued_response_is_counted_with_what_it_continues() -> None:
    body = {"model": "m-1", "input": "And then?", "previous_response_id": "resp_1"}
    sent = requests_of(msgspec.json.encode(body), "openai", "openai-responses")
    assert [case for case, request in sent.items() if b"resp_1" in request.body] == ["full"]


def test_a_wrapped_gemini_request_is_unwrapped_first() -> None:
    inner = {"model": "models/other", "contents": [{"parts": [{"text": "Hello."}]}]}
    body = msgspec.json.encode({"generateContentRequest": inner})
    sent = requests_of(body, "google", "gemini", model="models/gemini-3")["full"]
    assert msgspec.json.decode(sent.body) == {
        "generateContentRequest": {"model": "models/gemini-3", "contents": inner["contents"]}
    }
    assert sent.path == "/v1beta/models/gemini-3:countTokens"


def test_bedrock_has_the_shape_of_the_specification_and_is_not_sent() -> None:
    endpoint = find_endpoint("bedrock", "bedrock")
    body = b'{"messages": [ {"role":"user","content":[{"text":"h\\u00fc"}]} ],"inferenceConfig":{"maxTokens":1}}'
    request = bedrock_request(body, endpoint, "anthropic.claude-opus-4-8-v1:0")
    assert request.path == "/model/anthropic.claude-opus-4-8-v1%3A0/count-tokens"
    assert request.body == (b'{"input":{"converse":{"messages":[ {"role":"user","content":[{"text":"h\\u00fc"}]} ]}}}')
    assert request.left_out == ("inferenceConfig",)
    assert "AWS" in endpoint.not_sent
    with pytest.raises(RequestError):
        bedrock_request(b"[]", endpoint, "m")


@pytest.mark.parametrize(
    ("provider", "shape"), [("openai", "openai-chat"), ("openai", "anthropic"), ("mistral", "openai-chat")]
)
def test_the_shape_of_a_request_does_not_make_its_provider(provider: str, shape: str) -> None:
    with pytest.raises(CallError) as caught:
        find_endpoint(provider, shape)
    assert caught.value.code == "not_counted"
    assert "ullage probe" in caught.value.hint


@pytest.mark.parametrize(
    "answer", [b"<html>", b"[]", b"{}", b'{"input_tokens":"7"}', b'{"input_tokens":true}', b'{"input_tokens":-1}', b""]
)
def test_an_answer_without_a_count_is_no_count(answer: bytes) -> None:
    with pytest.raises(UpstreamError, match="not with a count") as caught:
        read_count(answer, find_endpoint("anthropic", "anthropic"), "example.com")
    assert caught.value.code == "count_unreadable"


def test_counts_are_read_by_each_providers_name() -> None:
    assert read_count(b'{"input_tokens":7}', find_endpoint("anthropic", "anthropic"), "h") == 7
    assert read_count(b'{"totalTokens":8}', find_endpoint("google", "gemini"), "h") == 8


def parsed(body: dict[str, Any]) -> Conversation:
    return parse_request(msgspec.json.encode(body), "anthropic")


def test_nothing_is_written_anew_where_nothing_is_rejected() -> None:
    captured = parsed(anthropic(tools=[{"name": "a", "input_schema": {}}]))
    assert make_countable(captured, find_endpoint("anthropic", "anthropic")).conversation is captured
