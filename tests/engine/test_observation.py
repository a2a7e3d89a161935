"""What is recorded of an exchange: who asked, in which session, for what, and how it ended. Never what was said."""

from __future__ import annotations

import gzip
import json
import string
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import brotli
import msgspec
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.observing import ANSWERS, ROOT, Asked, Bench, asked, recorded
from ullage.core.errors import StoreError
from ullage.core.profiles.heuristics import Match, Rule
from ullage.core.wire import DIALECTS, Dialect
from ullage.stores import MemoryStore, SqliteStore, Store
from ullage.testing import Exchange as ToolExchange
from ullage.testing import make_request, make_tools
from ullage.upstream import provider_of

CLAUDE, CODEX, PI = "claude-code-2.1.332", "codex-0.171.0", "pi-1.6.0"
OPENCODE, GEMINI, AIDER = "opencode-1.18.33", "gemini-cli-0.61.0", "aider-0.86.2"
FILES = [CLAUDE, f"{CLAUDE}-helpers", CODEX, f"{CODEX}-helpers", f"{CODEX}-default-model", PI, "pi-0.74.2"]
FILES += [OPENCODE, GEMINI, AIDER, "llm-0.36"]

# All other recorded requests are the user's own conversation.
KINDS = {
    (f"{CLAUDE}-helpers", "subagent"): "subagent",
    (f"{CLAUDE}-helpers", "nested-subagent"): "subagent",
    (f"{CLAUDE}-helpers", "compaction"): "compaction",
    (f"{CLAUDE}-helpers", "title"): "title",
    (f"{CLAUDE}-helpers", "count-tokens"): "count_tokens",
    (f"{CODEX}-helpers", "title"): "title",
    (f"{CODEX}-helpers", "compaction"): "compaction",
    (PI, "compaction"): "compaction",
    (OPENCODE, "title"): "title",
    (OPENCODE, "anthropic-title"): "title",
    (OPENCODE, "built-in-google-title"): "title",
    (OPENCODE, "subagent"): "subagent",
    (GEMINI, "classifier"): "classifier",
}
# `llm` sends these with nothing that tells it from a program with the same SDK.
HIDDEN = {("llm-0.36", name): "openai-sdk" for name in ("chat", "chat-tool-result", "responses")}
VERSIONED = {"claude-code": "2.1.332", "codex": "0.171.0", "opencode": "1.18.33", "gemini-cli": "0.61.0"}


def all_recorded() -> Iterator[tuple[str, str, Asked]]:
    for file in FILES:
        names = [request["name"] for request in json.loads((DATA / f"{file}.json").read_text())["requests"]]
        for name, request in zip(names, recorded(file), strict=True):
            if request.endpoint.purpose in ("generate", "count_tokens"):
                yield file, name, request


DATA = Path(__file__).parents[1] / "data" / "clients"
ALL = list(all_recorded())


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


# --- who asked, in which session, for what ---


@pytest.mark.parametrize(("file", "name", "request_"), ALL, ids=[f"{file}-{name}" for file, name, _ in ALL])
def test_every_recorded_request_is_recognised_and_accounted_for(
    file: str, name: str, request_: Asked, bench: Bench
) -> None:
    record = bench.ask(request_)
    client = HIDDEN.get((file, name), next(key for key in (*VERSIONED, "pi", "aider", "llm") if file.startswith(key)))
    session = bench.store.find_session(record.session)
    if session is not None:
        assert session.client == client
        assert VERSIONED.get(client) in (None, session.client_version)
    assert record.kind == KINDS.get((file, name), "conversation")
    assert record.outcome == "ok"
    assert record.model == (request_.endpoint.model or request_.payload["model"])
    assert record.usage is None or record.usage["input_fresh"] + record.usage["cache_read"] == 100
    assert (record.breakdown is None) == (record.kind == "count_tokens")
    if record.breakdown is not None:
        sections = record.breakdown["sections"]
        assert sum(section["tokens"] for section in sections) + record.breakdown["gap"] == record.breakdown["total"]
        assert record.breakdown["total"] == 100


@pytest.mark.parametrize(
    ("file", "name", "session"),
    [
        (CLAUDE, "first", "133808c1-880b-4ead-942c-16e2a079aab8"),
        (f"{CLAUDE}-helpers", "compaction", "0f3740fc-287f-4bf0-b8eb-e1f0a6ec9f25"),
        (CODEX, "first", "01a22a3a-695c-78c3-b4c7-d0665d648b21"),
        (OPENCODE, "first", "ses_dd5cf3852ffeqS8R6AVAjPSTtA"),
        (OPENCODE, "title", "ses_dd5cf3852ffeqS8R6AVAjPSTtA"),
        (PI, "responses", "01a22a31-d090-72f6-a9d3-b99393c01664"),
        (PI, "chat", "01a22a35-e0f1-7108-b4bc-208f7962c11e"),
        (PI, "anthropic", "01a22a36-1681-757d-bd92-180eeaee51a4"),
        ("pi-0.74.2", "chat", "01a22a35-946f-7896-8075-99dc85db10f2"),
    ],
)
def test_the_session_is_the_one_that_the_client_names(file: str, name: str, session: str, bench: Bench) -> None:
    assert bench.ask(*recorded(file, name)).session == session
    assert bench.store.find_session(session).identity == "client"


def test_our_header_goes_before_the_clients_own_id(bench: Bench) -> None:
    (request,) = recorded(CODEX, "first")
    record = bench.ask(request.having(headers={"x-ullage-session": "mine"}))
    assert record.session == "mine"
    assert bench.store.find_session("mine").identity == "header"


@pytest.mark.parametrize(
    ("file", "name"), [(GEMINI, "first"), (AIDER, "chat"), (PI, "gemini"), ("llm-0.36", "responses")]
)
def test_clients_without_an_id_are_known_by_their_messages(file: str, name: str, bench: Bench) -> None:
    record = bench.ask(*recorded(file, name))
    assert bench.store.find_session(record.session).identity == "fingerprint"


def test_sub_agents_are_sessions_of_their_own_with_their_parent(bench: Bench) -> None:
    parent = "0f3740fc-287f-4bf0-b8eb-e1f0a6ec9f25"
    sub, nested = (
        bench.ask(request).session for request in recorded(f"{CLAUDE}-helpers", "subagent", "nested-subagent")
    )
    assert (sub, nested) == (f"{parent}/abcac3f013a745304", f"{parent}/a8bc71f10234a21b6")
    assert bench.store.find_session(sub).parent == parent
    assert bench.store.find_session(nested).parent == sub
    (theirs,) = recorded(OPENCODE, "subagent")
    assert bench.store.find_session(bench.ask(theirs).session).parent == "ses_dd5cae4e0ffeInImedHpjB3Y8M"


# --- how a request relates to the one before ---


@pytest.mark.parametrize(
    ("file", "names", "shared"),
    [
        (CLAUDE, ("first", "tool-result"), [0, 2]),
        (CODEX, ("first", "tool-result", "second-prompt"), [0, 4, 6]),
        (f"{CODEX}-default-model", ("first", "tool-result", "second-prompt"), [0, 7, 9]),
        (OPENCODE, ("title", "first", "tool-result", "second-prompt"), [None, 0, 2, 4]),
        (OPENCODE, ("anthropic-title", "anthropic", "anthropic-tool-result"), [None, 0, 1]),
        (PI, ("responses", "responses-tool-result", "responses-second-prompt"), [0, 2, 4]),
        (PI, ("gemini", "gemini-tool-result"), [0, 1]),
        (GEMINI, ("first", "tool-result", "resumed"), [0, 1, 3]),
    ],
)
def test_a_growing_conversation_extends_itself_whatever_its_client_changes(
    file: str, names: tuple[str, ...], shared: list[int | None], bench: Bench
) -> None:
    """String or list content, moving cache marks, dropped signatures and doubled results make no other message."""
    records = [bench.ask(request) for request in recorded(file, *names)]
    assert [record.prefix_messages for record in records] == shared
    assert len({record.session for record in records}) == 1
    assert bench.events() == []


def test_a_rewritten_history_is_an_event_with_before_and_after(bench: Bench) -> None:
    """Claude Code merged an answer into an earlier message of a continued session."""
    records = [bench.ask(request) for request in recorded(CLAUDE, "first", "tool-result", "second-prompt")]
    assert bench.events(records[0].session) == [("rewrite", {"shared_messages": 2, "before": 4, "after": 6})]


def test_a_session_after_its_compaction_is_still_itself_and_tells_what_became_of_it(bench: Bench) -> None:
    (after,) = recorded(CLAUDE, "after-compaction")
    messages = [{"role": "user", "content": f"message {number}"} for number in range(9)]
    before = bench.ask(after.having(messages=messages))
    (compaction,) = recorded(f"{CLAUDE}-helpers", "compaction")
    bench.ask(compaction)
    assert bench.ask(after).session == before.session
    assert bench.events(before.session) == [
        ("compaction_asked", {"messages": 4}),
        ("compaction", {"shared_messages": 0, "before": 9, "after": 3}),
    ]


def test_going_back_is_a_branch_event(bench: Bench) -> None:
    first, tool_result, later = recorded(CODEX, "first", "tool-result", "second-prompt")
    for request in (first, tool_result, later):
        bench.ask(request)
    back = later.having(input=[*tool_result.payload["input"], {"type": "message", "role": "user", "content": "other"}])
    record = bench.ask(back)
    assert bench.events(record.session) == [("branch", {"shared_messages": 6, "before": 8, "after": 7})]


def test_a_branch_of_an_unnamed_session_names_its_parent(bench: Bench) -> None:
    first, tool_result, resumed = recorded(GEMINI, "first", "tool-result", "resumed")
    parent, *_ = [bench.ask(request).session for request in (first, tool_result, resumed)]
    contents = [*resumed.payload["contents"][:-1], {"role": "user", "parts": [{"text": "something else"}]}]
    branch = bench.ask(resumed.having(contents=contents)).session
    assert branch != parent
    assert bench.store.find_session(branch).parent == parent
    assert bench.events(branch) == [("branch", {"shared_messages": 4, "before": 0, "after": 5, "parent": parent})]


def test_another_model_in_the_same_conversation_is_a_switch(bench: Bench) -> None:
    first, second = recorded(CODEX, "first", "tool-result")
    bench.ask(first)
    session = bench.ask(second.having(model="another")).session
    assert bench.events() == [("model_switch", switch("gateway-model", "another", source="context"))]
    assert bench.store.find_session(session).model == "another"


def test_a_title_by_a_small_model_is_no_switch(bench: Bench) -> None:
    """opencode asks for the title before the conversation's first request."""
    title, first = recorded(OPENCODE, "built-in-google-title", "built-in-google")
    session = bench.ask(title).session
    assert bench.store.find_session(session).model == "gemini-3.8-flash"
    assert bench.ask(first).session == session
    assert bench.store.find_session(session).model == "gemini-2.5-pro"
    bench.ask(title)
    assert bench.store.find_session(session).model == "gemini-2.5-pro"
    assert bench.events() == []


@pytest.mark.parametrize(
    ("conversation", "helper"),
    [
        (recorded(CLAUDE, "terminal"), recorded(f"{CLAUDE}-helpers", "title")),
        (recorded(CLAUDE, "terminal"), recorded(f"{CLAUDE}-helpers", "count-tokens")),
        (recorded(OPENCODE, "first"), recorded(OPENCODE, "title")),
        (recorded(CODEX, "after-compaction"), recorded(f"{CODEX}-helpers", "compaction")),
    ],
    ids=["title", "count", "opencode title", "compaction"],
)
def test_a_helper_request_never_moves_the_chain_of_its_session(
    conversation: list[Asked], helper: list[Asked], bench: Bench
) -> None:
    first = bench.ask(*conversation)
    guest = bench.ask(*helper)
    again = bench.ask(*conversation)
    assert guest.session == first.session
    assert guest.prefix_messages is None
    assert again.prefix_messages is not None and again.prefix_messages > 0
    assert not [kind for kind, _ in bench.events() if kind in ("branch", "rewrite", "model_switch")]
    session = bench.store.find_session(first.session)
    assert session.calls == 3
    assert session.tip["depth"] == again.prefix_messages


@pytest.mark.parametrize("file", [GEMINI, PI], ids=["classifier", "compaction"])
def test_a_helper_without_session_is_recorded_without_one(file: str, bench: Bench) -> None:
    (helper,) = recorded(file, "classifier" if file == GEMINI else "compaction")
    assert bench.ask(helper).session == ""
    assert bench.store.sessions() == []


def test_a_branch_summary_of_pi_is_recorded_as_such(bench: Bench) -> None:
    (compaction,) = recorded(PI, "compaction")
    messages = [dict(message) for message in compaction.payload["messages"]]
    messages[-1]["content"] = "Write a summary of this conversation branch for later."
    assert bench.ask(compaction.having(messages=messages)).kind == "branch_summary"


def test_answers_of_one_session_that_overlap_are_all_recorded(bench: Bench) -> None:
    (request,) = recorded(CODEX, "first")
    items = request.payload["input"]
    asks = [request.having(input=[*items, {"type": "message", "role": "user", "content": str(n)}]) for n in range(8)]
    open_exchanges = [bench.begin(one) for one in asks]
    records = [bench.end(exchange, pieces=3) for exchange in reversed(open_exchanges)]
    assert {record.outcome for record in records} == {"ok"}
    assert len({record.id for record in records}) == 8
    session = bench.store.find_session(records[0].session)
    assert session.calls == 8
    assert session.started_ms == bench.store.find_call(open_exchanges[0].id).created_ms
    assert session.last_ms == bench.store.find_call(open_exchanges[-1].id).created_ms


@pytest.fixture
def open_file(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Opens the same database file again and again."""
    stores: list[SqliteStore] = []

    def open_it() -> Store:
        for store in stores:
            store.close()
        stores.append(SqliteStore(tmp_path / "ullage.db", clock_ms=lambda: 1_800_000_000_000))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("file", "names"),
    [(GEMINI, ("first", "tool-result", "resumed")), (CODEX, ("first", "tool-result", "second-prompt"))],
    ids=["by its messages", "by its id"],
)
def test_a_session_goes_on_in_the_next_run(file: str, names: tuple[str, ...], open_file: Callable[[], Store]) -> None:
    requests = recorded(file, *names)
    sessions = []
    for number, request in enumerate(requests):
        with Bench(open_file(), prefix=f"run{number}") as bench:
            sessions.append(bench.ask(request).session)
            assert bench.store.find_session(sessions[-1]).calls == number + 1
            assert bench.events() == []
    assert len(set(sessions)) == 1


def test_another_chat_is_not_taken_for_one_of_an_earlier_run(open_file: Callable[[], Store]) -> None:
    (first,) = recorded(GEMINI, "first")
    with Bench(open_file(), prefix="a") as bench:
        known = bench.ask(first).session
    other = [{"role": "user", "parts": [{"text": "something else"}]}]
    with Bench(open_file(), prefix="b") as bench:
        assert bench.ask(first.having(contents=other)).session != known


def test_a_switch_of_models_is_seen_over_a_restart(open_file: Callable[[], Store]) -> None:
    first, second = recorded(CODEX, "first", "tool-result")
    with Bench(open_file(), prefix="a") as bench:
        bench.ask(first)
    with Bench(open_file(), prefix="b") as bench:
        bench.ask(second.having(model="another"))
        assert bench.events() == [("model_switch", switch("gateway-model", "another", source="restore"))]


# --- the answer ---

CALLS: dict[Dialect, Asked] = {
    "openai-chat": asked("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    "openai-responses": asked("/v1/responses", {"model": "m", "input": "hi"}),
    "anthropic": asked(
        "/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    ),
    "gemini": asked("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
}
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_answers_are_read_through_their_compression(dialect: Dialect, encoding: str, bench: Bench) -> None:
    data = ENCODERS[encoding](json.dumps(ANSWERS[dialect]).encode())
    record = bench.ask(CALLS[dialect], data, pieces=7, headers={"content-encoding": encoding})
    assert record.outcome == "ok"
    assert record.answered_by == "answering"
    assert record.usage is not None
    assert (record.usage["input_fresh"], record.usage["cache_read"], record.usage["output"]) == (40, 60, 5)
    assert record.answer_bytes == len(data)
    assert record.breakdown is not None and record.breakdown["total_kind"] == "usage"


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "compress"])
def test_an_answer_that_cannot_be_decoded_is_recorded_with_a_warning(encoding: str, bench: Bench) -> None:
    record = bench.ask(CALLS["openai-chat"], b"\x1f\x8b no such thing" * 9, headers={"content-encoding": encoding})
    assert record.usage is None
    assert record.warnings == ("answer_encoding_unreadable",)
    assert record.breakdown is not None and record.breakdown["total_kind"] == "estimate"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_that_breaks_off_is_cut_and_keeps_what_was_known(dialect: Dialect, bench: Bench) -> None:
    whole = json.dumps(ANSWERS[dialect]).encode()
    for how in ("cut", "left"):
        record = bench.ask(CALLS[dialect], whole[:-20], how=how)
        assert (record.outcome, record.status) == (how, 200)
        assert record.answer_bytes == len(whole) - 20


def test_usage_of_a_stream_that_broke_off_is_kept(bench: Bench) -> None:
    start = {"type": "message_start", "message": {"model": "answering", "usage": ANSWERS["anthropic"]["usage"]}}
    stream = f"event: message_start\ndata: {json.dumps(start)}\n\nevent: content_block_delta\nda".encode()
    record = bench.ask(CALLS["anthropic"], stream, how="cut", headers={"content-type": "text/event-stream"})
    assert record.outcome == "cut"
    assert record.usage is not None and record.usage["cache_read"] == 60


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_an_error_answer_is_an_error(status: int, bench: Bench) -> None:
    record = bench.ask(CALLS["anthropic"], {"type": "error", "error": {"type": "x", "message": "no"}}, status=status)
    assert (record.outcome, record.status, record.usage) == ("error", status, None)


def test_an_error_inside_a_stream_is_an_error(bench: Bench) -> None:
    stream = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n'
    record = bench.ask(CALLS["anthropic"], stream, headers={"content-type": "text/event-stream"})
    assert (record.outcome, record.status) == ("error", 200)


@pytest.mark.parametrize("body", [b"", b"\x00\xff", b"{", b"[]", b"[" * 500], ids=repr)
def test_what_cannot_be_parsed_is_recorded_as_unparsed_with_its_usage(body: bytes, bench: Bench) -> None:
    record = bench.ask(asked("/v1/chat/completions", body))
    assert record.outcome == "unparsed"
    assert record.breakdown is None
    assert record.usage is not None and record.usage["output"] == 5
    assert record.request_bytes == len(body)


def test_a_body_in_an_unknown_encoding_is_unparsed(bench: Bench) -> None:
    assert bench.ask(CALLS["openai-chat"]._replace(headers={"content-encoding": "rot13"})).outcome == "unparsed"


def test_without_accounting_usage_and_session_are_still_recorded() -> None:
    with Bench(enabled=False) as bench:
        records = [bench.ask(request) for request in recorded(CODEX, "first", "tool-result")]
    assert [record.prefix_messages for record in records] == [0, 4]
    assert [record.breakdown for record in records] == [None, None]
    assert [record.estimator for record in records] == [None, None]
    assert all(record.usage is not None for record in records)


def test_rules_of_the_user_s_own_count_in_live_figures() -> None:
    rule = Rule(match=Match(api="anthropic"), text_denominator=1, session_denominator=1, label="Mine")
    messages = [{"role": "user", "content": "y" * 12}]
    request = asked("/v1/messages", {"model": "m", "max_tokens": 9, "system": "x" * 30, "messages": messages})
    with Bench(estimator="inspector-v2", rules=(rule,)) as bench:
        record = bench.ask(request)
    assert record.estimated_input_tokens == 42
    assert record.breakdown is not None
    assert record.breakdown["heuristic"]["source"] == "Mine"


@pytest.mark.parametrize("estimator", ["wire-v1", "o200k-base-v1", "chars-v1", "inspector-v2", "inspector-v1"])
def test_every_estimate_names_its_estimator(estimator: str) -> None:
    with Bench(estimator=estimator) as bench:
        record = bench.ask(CALLS["anthropic"])
    assert record.estimator == estimator
    assert record.estimated_input_tokens is not None and record.estimated_input_tokens > 0


# --- never what was said ---

# Members that are names, ids and words of the protocol; every other string is content.
NAMES = {"id", "model", "name", "role", "type", "call_id", "tool_call_id", "tool_use_id", "namespace", "status"}


def switch(before: str, after: str, *, source: str) -> dict[str, Any]:
    """The details of a switch to a model that the session has not been on."""
    target = f"{provider_of(ROOT)}/"
    return {"from": target + before, "to": target + after, "source": source, "profile_reused": False}


def marked(value: Any, mark: str, key: str = "") -> Any:
    """The value with a mark at the end of every string that is content."""
    if isinstance(value, str):
        return value if key in NAMES else f"{value}\n{mark}"
    if isinstance(value, list):
        return [marked(entry, mark, key) for entry in value]
    if isinstance(value, dict):
        return {name: marked(entry, mark, name) for name, entry in value.items()}
    return value


def all_records(store: Any) -> bytes:
    """Everything that is kept, as JSON."""
    return msgspec.json.encode([store.sessions(limit=1000), store.calls(limit=1000), store.events(limit=1000)])


@pytest.mark.parametrize("file", FILES)
def test_no_text_of_a_recorded_request_is_ever_kept(file: str, bench: Bench) -> None:
    for request in recorded(file):
        if request.body:
            keep = {key: request.payload[key] for key in ("metadata", "prompt_cache_key") if key in request.payload}
            body = json.dumps({**marked(request.payload, "MARKED-TEXT"), **keep}).encode()
            bench.ask(request._replace(body=body))
    assert len(bench.store.calls(limit=1000)) > 0
    assert b"MARKED-TEXT" not in all_records(bench.store)


TEXTS = st.text(string.ascii_letters, min_size=12, max_size=20).map("Q".__add__)


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(TEXTS, min_size=7, max_size=7, unique=True), dialect=st.sampled_from(DIALECTS))
def test_no_text_of_a_request_or_its_answer_is_ever_kept(texts: list[str], dialect: Dialect) -> None:
    system, user, result, argument, answer, thinking, failure = texts
    request = make_request(
        dialect,
        turns=[user, ToolExchange(arguments={"command": argument}, result=result), user],
        tools=make_tools(2),
        system=system,
        extra={"unheard_of": {"text": failure}},
    )
    with Bench() as bench:
        one = asked(request.path, request.body)
        bench.ask(one, marked_answer(dialect, answer, thinking))
        bench.ask(one, {"error": {"type": "x", "code": 400, "message": failure, "status": "X"}}, status=400)
        bench.ask(one._replace(body=request.body[:-7]), failure.encode(), status=500)
        kept = all_records(bench.store).decode()
    assert not [text for text in texts if text in kept]


def marked_answer(dialect: Dialect, text: str, thinking: str) -> dict[str, Any]:
    arguments = json.dumps({"command": thinking})
    contents: dict[Dialect, dict[str, Any]] = {
        "openai-chat": {
            "choices": [
                {
                    "message": {
                        "content": text,
                        "reasoning_content": thinking,
                        "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": arguments}}],
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        },
        "openai-responses": {
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": thinking}]},
                {"type": "message", "content": [{"type": "output_text", "text": text}]},
                {"type": "function_call", "call_id": "c", "name": "bash", "arguments": arguments},
            ]
        },
        "anthropic": {
            "content": [
                {"type": "thinking", "thinking": thinking},
                {"type": "text", "text": text},
                {"type": "tool_use", "id": "c", "name": "bash", "input": {"command": thinking}},
            ]
        },
        "gemini": {
            "candidates": [
                {
                    "content": {
                        "parts": [
                            {"text": thinking, "thought": True},
                            {"text": text},
                            {"functionCall": {"name": "bash", "args": {"command": thinking}}},
                        ]
                    },
                    "finishReason": "STOP",
                }
            ]
        },
    }
    return {**ANSWERS[dialect], **contents[dialect]}


def test_a_session_that_the_store_cannot_be_asked_about_keeps_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked("/v1/messages", {"model": "m", "messages": []}, x_ullage_session="s")
    store = MemoryStore()
    with Bench(store, prefix="a") as bench:
        bench.ask(request)
        bench.ask(request)
    with Bench(store, prefix="b", start_ms=1_900_000_000_000) as bench:
        with monkeypatch.context() as busy:
            busy.setattr(store, "find_session", fail_as_busy)
            bench.ask(request)
        kept = store.find_session("s")
        bench.ask(request)
        later = store.find_session("s")
    assert kept is not None and later is not None
    assert (kept.calls, later.calls) == (2, 3)
    assert later.started_ms == kept.started_ms
    assert len(store.calls("s")) == 4


def fail_as_busy(session_id: str) -> None:
    raise StoreError("The database is locked.", code="store_busy")
