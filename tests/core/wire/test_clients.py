"""Clients specification, section 3, against requests of the real clients (tests/data/clients)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.core.wire import (
    Caller,
    Conversation,
    Dialect,
    canonical_hash,
    parse_request,
    read_context,
    recognise,
    render,
)

RECORDED = Path(__file__).resolve().parents[2] / "data" / "clients"
SESSION = "01a22a31-d090-72f6-a9d3-b99393c01664"


def dialect_of(target: str) -> Dialect:
    if "/messages" in target:
        return "anthropic"
    if "/models/" in target:
        return "gemini"
    return "openai-responses" if "/responses" in target else "openai-chat"


def recorded() -> list[Any]:
    """One parameter for each recorded request, named by client, version and request."""
    return [
        pytest.param(file["client"], file["version"], request, id=f"{path.stem}:{request['name']}")
        for path in sorted(RECORDED.glob("*.json"))
        for file in [json.loads(path.read_text())]
        for request in file["requests"]
    ]


def parsed(request: dict[str, Any]) -> Conversation | None:
    if request["body"] is None:
        return None
    return parse_request(json.dumps(request["body"]).encode(), dialect_of(request["target"]))


def caller_of(request: dict[str, Any]) -> Caller:
    headers = {name.lower(): value for name, value in request["headers"]}
    return recognise(headers, request["target"], parsed(request))


def named(file: str, name: str) -> dict[str, Any]:
    requests = json.loads((RECORDED / f"{file}.json").read_text())["requests"]
    return next(request for request in requests if request["name"] == name)


KINDS = {
    "subagent": "subagent",
    "nested-subagent": "subagent",
    "compaction": "compaction",
    "title": "title",
    "anthropic-title": "title",
    "built-in-google-title": "title",
    "count-tokens": "count_tokens",
    "classifier": "classifier",
    "upgrade": "warm_up",
}
# Their requests look like those of the SDK that they use.
INDISTINCT = {"llm": "openai-sdk"}


@pytest.mark.parametrize(("client", "version", "request_"), recorded())
def test_every_recorded_request_is_recognised(client: str, version: str, request_: dict[str, Any]) -> None:
    caller = caller_of(request_)
    if request_["name"] == "hello":
        assert caller.client == "unknown"
        return
    assert caller.client == INDISTINCT.get(client, client)
    assert caller.kind == KINDS.get(request_["name"], "conversation")
    if client not in ("aider", "llm") and version != "0.74.2":
        assert caller.version == version


@pytest.mark.parametrize(("client", "version", "request_"), recorded())
def test_every_recorded_request_is_read_whole(client: str, version: str, request_: dict[str, Any]) -> None:
    conversation = parsed(request_)
    if conversation is None:
        return
    assert (
        render(conversation, messages=range(len(conversation.messages)), model=conversation.model) == conversation.body
    )
    known = {"additional_tools", "compaction_trigger", "tool_reference"}
    for message in read_context(conversation).messages:
        assert all(part.kind != "other" or part.wire_type in known for part in message.parts)


@pytest.mark.parametrize(
    ("file", "name", "session"),
    [
        ("claude-code-2.1.332", "first", "133808c1-880b-4ead-942c-16e2a079aab8"),
        ("codex-0.171.0", "first", "01a22a3a-695c-78c3-b4c7-d0665d648b21"),
        ("opencode-1.18.33", "first", "ses_dd5cf3852ffeqS8R6AVAjPSTtA"),
        ("pi-1.6.0", "responses", SESSION),
        ("pi-1.6.0", "chat", "01a22a35-e0f1-7108-b4bc-208f7962c11e"),
        ("pi-1.6.0", "anthropic", "01a22a36-1681-757d-bd92-180eeaee51a4"),
        ("pi-0.74.2", "responses", "01a22a35-8d2b-771b-b019-b1de580bbfe9"),
        ("pi-1.6.0", "gemini", None),
        ("gemini-cli-0.61.0", "first", None),
        ("aider-0.86.2", "chat", None),
    ],
)
def test_the_session_id_is_the_clients_own(file: str, name: str, session: str | None) -> None:
    caller = caller_of(named(file, name))
    assert (caller.session, caller.identity) == (session, "client" if session else None)


def test_our_header_comes_first() -> None:
    request = named("claude-code-2.1.332", "first")
    request["headers"].append(["X-Ullage-Session", "mine"])
    caller = caller_of(request)
    assert (caller.session, caller.identity, caller.client) == ("mine", "header", "claude-code")


def test_a_sub_agent_names_itself_and_its_parent() -> None:
    first, nested = (caller_of(named("claude-code-2.1.332-helpers", name)) for name in ("subagent", "nested-subagent"))
    assert (first.agent, first.parent_agent) == ("abcac3f013a745304", None)
    assert (nested.agent, nested.parent_agent) == ("a8bc71f10234a21b6", "abcac3f013a745304")
    assert first.session == nested.session
    opencode = caller_of(named("opencode-1.18.33", "subagent"))
    assert opencode.parent_session == "ses_dd5cae4e0ffeInImedHpjB3Y8M"


@pytest.mark.parametrize(
    ("file", "earlier", "later", "shared"),
    [
        ("claude-code-2.1.332", "first", "tool-result", 2),
        ("codex-0.171.0", "first", "tool-result", 4),
        ("codex-0.171.0", "tool-result", "second-prompt", 6),
        ("opencode-1.18.33", "first", "tool-result", 2),
        ("opencode-1.18.33", "anthropic", "anthropic-tool-result", 1),
        ("pi-1.6.0", "responses", "responses-tool-result", 2),
        ("pi-1.6.0", "responses-tool-result", "responses-second-prompt", 4),
        ("gemini-cli-0.61.0", "first", "tool-result", 1),
        ("gemini-cli-0.61.0", "tool-result", "resumed", 3),
    ],
)
def test_the_next_turn_begins_with_the_messages_of_the_one_before(
    file: str, earlier: str, later: str, shared: int
) -> None:
    """Marks move, strings become lists, keys change order, signatures vanish: the canonical hashes stay."""
    before, after = (parsed(named(file, name)) for name in (earlier, later))
    assert before is not None and after is not None
    hashes = [
        [canonical_hash(piece, conversation.dialect) for piece in conversation.messages]
        for conversation in (before, after)
    ]
    assert len(hashes[0]) == shared
    assert hashes[1][:shared] == hashes[0]


def with_body(body: Any, dialect: Dialect = "anthropic") -> Conversation:
    return parse_request(json.dumps(body).encode(), dialect)


CLAUDE = {"user-agent": "claude-cli/2.0.1 (external, cli)"}
CODEX = {"user-agent": "codex_cli_rs/0.55.0 (Ubuntu)", "originator": "codex_cli_rs"}
PI = {"user-agent": "pi/1.6.0 (linux)"}


@pytest.mark.parametrize(
    ("user_id", "session"),
    [
        ('{"device_id":"0","account_uuid":"","session_id":"abc"}', "abc"),
        ("user_0123_account__session_abc", "abc"),
        ("{broken", None),
        ("someone", None),
        (7, None),
    ],
)
def test_claude_codes_session_is_found_in_the_body_where_the_header_is_missing(
    user_id: object, session: str | None
) -> None:
    conversation = with_body({"messages": [], "metadata": {"user_id": user_id}})
    assert recognise(CLAUDE, "/v1/messages", conversation).session == session


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"x-claude-code-request-class": "side_reply"}, "auxiliary"),
        ({"x-claude-code-request-class": "workflow"}, "subagent"),
        ({"x-claude-code-request-class": "compaction"}, "compaction"),
        ({"x-claude-code-request-class": "later_word"}, "conversation"),
        ({"x-claude-code-compaction": "auto"}, "compaction"),
        ({"x-claude-code-agent-id": "a1"}, "subagent"),
    ],
)
def test_claude_codes_hint_headers_tell_the_kind(headers: dict[str, str], kind: str) -> None:
    assert recognise({**CLAUDE, **headers}, "/v1/messages", with_body({"messages": []})).kind == kind


def test_claude_codes_compaction_is_known_by_its_last_text_but_not_by_a_quotation_of_it() -> None:
    asked = {"type": "text", "text": "Your task is to create a detailed summary of the conversation so far."}
    quoted = {"type": "tool_result", "tool_use_id": "t", "content": [asked]}
    for content, kind in ([asked], "compaction"), ([quoted], "conversation"):
        conversation = with_body({"messages": [{"role": "user", "content": content}], "tools": [{"name": "f"}]})
        assert recognise(CLAUDE, "/v1/messages", conversation).kind == kind


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"request_kind": "turn", "thread_source": "user"}, "conversation"),
        ({"request_kind": "compaction", "thread_source": "user"}, "compaction"),
        ({"request_kind": "turn", "thread_source": "thread_title"}, "title"),
        ({"request_kind": "prewarm"}, "warm_up"),
    ],
)
def test_codexs_turn_metadata_tells_the_kind_in_the_header_or_the_body(metadata: dict[str, str], kind: str) -> None:
    text = json.dumps(metadata)
    in_body = with_body({"input": [], "client_metadata": {"x-codex-turn-metadata": text}}, "openai-responses")
    assert recognise({**CODEX, "x-codex-turn-metadata": text}, "/v1/responses", None).kind == kind
    assert recognise(CODEX, "/v1/responses", in_body).kind == kind


@pytest.mark.parametrize(
    ("body", "headers", "kind"),
    [
        ({"input": [{"role": "user"}, {"type": "compaction_trigger"}]}, {}, "compaction"),
        ({"input": [], "generate": False}, {}, "warm_up"),
        ({"input": []}, {"x-openai-subagent": "review"}, "subagent"),
        ({"input": []}, {"x-openai-subagent": "compact"}, "compaction"),
    ],
)
def test_codexs_other_marks_tell_the_kind(body: Any, headers: dict[str, str], kind: str) -> None:
    assert recognise({**CODEX, **headers}, "/v1/responses", with_body(body, "openai-responses")).kind == kind


def test_codexs_sub_agent_is_a_thread_of_its_own_in_the_session() -> None:
    caller = recognise(
        {**CODEX, "session-id": "s", "thread-id": "t", "x-codex-parent-thread-id": "s"}, "/v1/responses", None
    )
    assert (caller.session, caller.agent, caller.parent_session) == ("s", "t", "s")


def test_pis_branch_summary_is_told_from_a_compaction() -> None:
    def kind(text: str, headers: dict[str, str]) -> str:
        messages = [{"role": "system", "content": "Summarise."}, {"role": "user", "content": text}]
        return recognise(
            {**PI, **headers}, "/v1/chat/completions", with_body({"messages": messages}, "openai-chat")
        ).kind

    branch = "<conversation>\n</conversation>\n\nCreate a structured summary of this conversation branch for context."
    assert kind(branch, {}) == "branch_summary"
    assert kind("<conversation>\n</conversation>\n\nSummarise.", {}) == "compaction"
    assert kind("<conversation>", {"session_id": "s"}) == "conversation"
    assert kind("Hello.", {}) == "conversation"


@pytest.mark.parametrize(
    ("prompt", "client"),
    [
        ("You are a coding assistant operating inside pi, a harness.", "pi"),
        ("You work inside pipelines.", "openai-sdk"),
        ("Act as an expert code analyst.", "aider"),
        ("Be kind.", "openai-sdk"),
    ],
)
def test_an_agent_behind_an_sdk_is_known_by_its_prompt(prompt: str, client: str) -> None:
    conversation = with_body({"messages": [{"role": "system", "content": prompt}]}, "openai-chat")
    caller = recognise({"user-agent": "OpenAI/JS 6.26.0"}, "/v1/chat/completions", conversation)
    assert (caller.client, caller.version) == (client, "6.26.0" if client == "openai-sdk" else None)


@pytest.mark.parametrize(
    ("agent", "client", "version"),
    [
        ("OpenAI/Python 3.57.0", "openai-sdk", "3.57.0"),
        ("AsyncOpenAI/Python 3.57.0", "openai-sdk", "3.57.0"),
        ("OpenAI/JS 6.26.0", "openai-sdk", "6.26.0"),
        ("Anthropic/Python 1.17.0", "anthropic-sdk", "1.17.0"),
        ("AsyncAnthropic/Python 2.14.0", "anthropic-sdk", "2.14.0"),
        ("google-genai-sdk/3.6.1 gl-python/3.11", "google-genai-sdk", "3.6.1"),
        ("curl/8.7.1", "unknown", None),
    ],
)
def test_sdks_are_known_by_their_user_agent(agent: str, client: str, version: str | None) -> None:
    caller = recognise({"user-agent": agent}, "/v1/chat/completions", None)
    assert (caller.client, caller.version, caller.session, caller.kind) == (client, version, None, "conversation")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/count_tokens?beta=true",
        "/v1beta/models/m:countTokens",
        "/v1/v1/messages/count_tokens/",
        "/v1/responses/input_tokens",
    ],
)
def test_counting_is_known_by_its_path(path: str) -> None:
    assert recognise({}, path, None).kind == "count_tokens"


@pytest.mark.parametrize("value", ["", "  ", "x" * 300, "a\nb", "a\x00b"])
def test_an_id_that_cannot_be_shown_is_none(value: str) -> None:
    caller = recognise({"x-ullage-session": value, "x-session-id": value}, "/v1/messages", None)
    assert (caller.session, caller.identity) == (None, None)


def test_any_client_may_name_its_session_in_the_usual_headers() -> None:
    assert recognise({"x-session-id": " mine "}, "/v1/messages", None).session == "mine"
