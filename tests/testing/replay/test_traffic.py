"""A recorded session as requests and answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.sources.rows import pi_header, pi_reply, pi_user, write_lines
from ullage.core.accounting import account, make_meter
from ullage.core.errors import CallError
from ullage.core.wire import parse_request, read_context, recognise
from ullage.sources import read_session
from ullage.testing.replay import make_stand_in, recorded_traffic
from ullage.testing.replay.traffic import STAND_IN

if TYPE_CHECKING:
    from ullage.core.content import Message, Part
    from ullage.sources import Session
    from ullage.testing.replay import RecordedExchange

RECORDINGS = Path(__file__).resolve().parents[2] / "data" / "sessions"
FILES = sorted(path.relative_to(RECORDINGS).as_posix() for path in RECORDINGS.glob("*/*.json*"))
CHAT = {"api": "openai-completions", "provider": "zai", "model": "glm-5"}


def texts(messages: tuple[Message, ...]) -> list[tuple[str, str, int]]:
    """Kind, text and seal of every part that weighs something."""
    return [
        (part.kind, _text(part), part.sealed_chars)
        for message in messages
        for part in message.parts
        if part.kind != "text" or part.text
    ]


def _text(part: Part) -> str:
    """Arguments of a call without white space between them: some clients keep the model's own."""
    if part.kind == "tool_call":
        return msgspec.json.encode(msgspec.json.decode(part.text)).decode()
    return part.text + "".join(map(_text, part.parts))


def traffic(session: Session, **options: Any) -> list[RecordedExchange]:
    return list(recorded_traffic(session, **options))


@pytest.mark.parametrize("name", FILES)
def test_every_request_holds_what_the_record_says_was_sent(name: str) -> None:
    session = read_session(RECORDINGS / name)
    exchanges = traffic(session)
    assert [exchange.call for exchange in exchanges] == list(session.calls)
    for exchange in exchanges:
        context = read_context(parse_request(exchange.request.body, exchange.request.dialect))
        sent = tuple(message for message in context.messages if message.role != "system")
        assert sorted(texts(sent)) == sorted(texts(session.context(exchange.call.index).messages))


@pytest.mark.parametrize("name", FILES)
def test_the_gateway_knows_client_and_session(name: str) -> None:
    session = read_session(RECORDINGS / name)
    for exchange in traffic(session):
        request = exchange.request
        caller = recognise(request.headers, request.path, parse_request(request.body, request.dialect))
        assert caller.client == (session.client if session.client != "openhands" else "unknown")
        assert caller.session in (session.id, Path(session.path).stem)
        assert caller.kind == ("subagent" if exchange.call.sidechain else "conversation")


def test_the_answer_is_the_recorded_one() -> None:
    session = read_session(RECORDINGS / "claude-code/happy-cli-task-non-sdk.jsonl")
    first = traffic(session)[0]
    reply = first.rule.reply
    assert reply is not None
    [said] = session.messages(4, first.call.reply[0], first.call.reply[0] + 1)
    assert [use.id for use in reply.tool_calls] == [part.call_id for part in said.parts if part.kind == "tool_call"]
    assert reply.text == "".join(part.text for part in said.parts if part.kind == "text")
    assert (reply.usage and reply.usage.prompt) == (first.call.usage and first.call.usage.prompt)


def test_an_output_logged_from_its_first_chunk_is_reported_as_what_is_visible() -> None:
    session = read_session(RECORDINGS / "claude-code/sniffly-fed8ce56.jsonl")
    unsure = [exchange for exchange in traffic(session) if exchange.call.output_unsure]
    assert unsure
    for exchange in unsure:
        reply, usage = exchange.rule.reply, exchange.call.usage
        assert reply is not None and reply.usage is not None and usage is not None
        assert (reply.usage.output or 0) > (usage.output or 0)
        assert reply.usage.prompt == usage.prompt


def test_a_failed_call_fails() -> None:
    session = read_session(RECORDINGS / "pi/pi-mono-version-1.jsonl")
    assert [exchange.rule.fault is not None for exchange in traffic(session)] == [False, True, False]


def test_a_call_of_which_the_file_holds_no_message_is_left_out(tmp_path: Path) -> None:
    rows = [pi_header(), pi_reply("a1", None), pi_user("u2", "a1", "On."), pi_reply("a2", "u2")]
    session = read_session(write_lines(tmp_path / "s.jsonl", rows))
    assert [exchange.call.index for exchange in traffic(session)] == [1]


def test_a_call_in_another_dialect_writes_everything_anew(tmp_path: Path) -> None:
    rows = [pi_header(), pi_user("u1", None, "Hi."), pi_reply("a1", "u1"), pi_user("u2", "a1", "On.")]
    rows.append(pi_reply("a2", "u2", **CHAT))
    first, second = traffic(read_session(write_lines(tmp_path / "s.jsonl", rows)))
    assert (first.request.dialect, second.request.dialect) == ("anthropic", "openai-chat")
    assert [message["content"] for message in second.request.payload["messages"]] == ["Hi.", "yes", "On."]
    assert second.request.payload["stream_options"] == {"include_usage": True}


def test_a_dialect_that_nothing_is_rendered_in_is_told(tmp_path: Path) -> None:
    rows = [pi_header(), pi_user("u1", None, "Hi."), pi_reply("a1", "u1", api="google-generative-ai")]
    session = read_session(write_lines(tmp_path / "s.jsonl", rows))
    with pytest.raises(CallError, match="calls in the gemini dialect cannot be sent again"):
        traffic(session)


def test_a_stand_in_weighs_what_the_file_leaves_out(tmp_path: Path) -> None:
    rows = [pi_header(), pi_user("u1", None, "Hi."), pi_reply("a1", "u1", prompt=20_000, **CHAT)]
    session = read_session(write_lines(tmp_path / "s.jsonl", rows))
    stand_in = make_stand_in(session)
    assert stand_in.startswith(STAND_IN)
    [exchange] = traffic(session, stand_in=stand_in)
    context = read_context(parse_request(exchange.request.body, "openai-chat"))
    meter = make_meter(dialect="openai-chat", provider="zai", model="glm-5", client="pi")
    assert account(context, meter).total.tokens == pytest.approx(20_000, rel=0.01)


def test_nothing_stands_in_where_the_file_holds_all(tmp_path: Path) -> None:
    rows = [pi_header(), pi_user("u1", None, "Hi."), pi_reply("a1", "u1", prompt=3)]
    assert make_stand_in(read_session(write_lines(tmp_path / "s.jsonl", rows))) == ""
