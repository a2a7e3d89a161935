"""What real clients sent, and requests that others get wrong, towards targets of every other dialect."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.core.translation.relay import MODELS
from tests.core.translation.sdk_bodies import find_body_fault
from ullage.core.translation import Target, TranslatedRequest, translate_request
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing.strict import find_refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "data"

MARK = b',"cache_control":{"type":"ephemeral"}'


class Recorded(NamedTuple):
    name: str
    dialect: Dialect
    body: dict[str, Any]


def recorded() -> Iterator[Recorded]:
    for file in sorted((DATA / "clients").glob("*.json")):
        for request in json.loads(file.read_text())["requests"]:
            dialect = dialect_of(request["target"])
            if request["body"] and dialect is not None:
                yield Recorded(f"{file.stem} {request['name']}", dialect, request["body"])
    for file in sorted((DATA / "cases").glob("*.json")):
        case = json.loads(file.read_text())
        named = {"anthropic-messages": "anthropic"}.get(case["protocol"], case["protocol"])
        yield Recorded(case["id"], next(one for one in DIALECTS if one == named), case["request"])


def dialect_of(target: str) -> Dialect | None:
    if "count_tokens" in target:
        return None
    marks: dict[str, Dialect] = {
        "/chat/completions": "openai-chat",
        "/responses": "openai-responses",
        "/messages": "anthropic",
        "enerateContent": "gemini",
    }
    return next((dialect for mark, dialect in marks.items() if mark in target), None)


RECORDED = list(recorded())
REQUESTS = pytest.mark.parametrize("request_", RECORDED, ids=[one.name for one in RECORDED])


def translate(request: Recorded, target: Dialect, model: str | None = None) -> TranslatedRequest:
    path = {"path_model": "gemini-x", "path_stream": True} if request.dialect == "gemini" else {}
    conversation = parse_request(json.dumps(request.body).encode(), request.dialect, **path)
    return translate_request(conversation, Target(dialect=target, model=model or MODELS[target]))


@REQUESTS
def test_it_is_translated_to_what_every_provider_takes(request_: Recorded) -> None:
    for target in DIALECTS:
        if target != request_.dialect:
            translated = translate(request_, target)
            assert find_refusal(target, json.loads(translated.body)) is None
            # The picture of this case is no real base64, which only Google's SDK looks at.
            if (request_.name, target) != ("c07-picture-in-list-content", "gemini"):
                assert find_body_fault(translated.body, target) is None
            told = [(loss.code, loss.where) for loss in translated.dropped]
            assert len(told) == len(set(told))


@REQUESTS
def test_the_same_request_gives_the_same_bytes(request_: Recorded) -> None:
    for target in DIALECTS:
        if target != request_.dialect:
            assert translate(request_, target).body == translate(request_, target).body


def names(name: str) -> Recorded:
    return next(one for one in RECORDED if one.name == name)


@pytest.mark.parametrize(
    ("name", "target", "model", "told"),
    [
        (
            "claude-code-2.1.332 first",
            "openai-chat",
            "gpt-5.2",
            [
                ("not_carried", "context_management"),
                ("not_deferred", "tools.defer_loading"),
                ("system_as_user", "messages"),
                ("user", "user"),
            ],
        ),
        (
            "codex-0.171.0 first",
            "anthropic",
            "claude-opus-4-6",
            [("not_carried", "client_metadata"), ("hosted_tool", "tools.web_search")],
        ),
        ("gemini-cli-0.61.0 first", "anthropic", "claude-opus-4-6", [("sampling", "top_k")]),
        (
            "gemini-cli-0.61.0 resumed",
            "openai-responses",
            "gpt-5.2",
            [("repeated_result", "messages"), ("sampling", "temperature")],
        ),
        ("opencode-1.18.33 first", "anthropic", "claude-opus-4-6", []),
    ],
)
def test_what_is_left_out_of_a_clients_request_is_told(
    name: str, target: Dialect, model: str, told: list[tuple[str, str]]
) -> None:
    translated = translate(names(name), target, model)
    assert [(loss.code, loss.where) for loss in translated.dropped] == told


SESSIONS = [(client, "tool-result", "second-prompt") for client in ("codex-0.171.0", "opencode-1.18.33")]
LISTS = {"openai-chat": "messages", "anthropic": "messages", "openai-responses": "input", "gemini": "contents"}
HEADS = ("system", "instructions", "systemInstruction", "tools", "toolConfig")


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("session", SESSIONS, ids=[session[0] for session in SESSIONS])
def test_the_prefix_of_a_session_stays_the_same_from_request_to_request(
    session: tuple[str, ...], target: Dialect
) -> None:
    """Else no provider's cache would ever be warm. Cache marks move on, and are no part of what is cached."""
    client, *requests = session
    sent = [json.loads(translate(names(f"{client} {name}"), target).body.replace(MARK, b"")) for name in requests]
    for first, second in pairwise(sent):
        assert second[LISTS[target]][: len(first[LISTS[target]])] == first[LISTS[target]]
        assert [second.get(key) for key in HEADS] == [first.get(key) for key in HEADS]
