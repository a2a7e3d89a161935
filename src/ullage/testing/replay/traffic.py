"""A recorded session as traffic: the request of every call, in order, and the answer that its provider gave."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting import account, make_meter, measure_message
from ullage.core.content import Usage
from ullage.core.errors import CallError
from ullage.sources import Call
from ullage.testing.builders import BuiltRequest, make_prose, make_request
from ullage.testing.faults import Fault
from ullage.testing.script import Reply, Rule, Stop, ToolUse

from .rendering import DIALECTS, render_messages, render_prelude, render_system_messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.accounting import Measure, Meter
    from ullage.core.content import Message
    from ullage.core.wire import Dialect
    from ullage.sources import Session

STAND_IN = "(What follows stands for the part of the prompt that the record leaves out.)\n"

_SAMPLE_CHARS = 40_000
_FRAGMENT_CHARS = 16_384
_FAILED = frozenset({"aborted", "error"})
_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "length": "length",
    "max_tokens": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
    "stop": "end",
    "stop_sequence": "stop_sequence",
    "toolUse": "tool_calls",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
}


class RecordedExchange(Struct, frozen=True, kw_only=True):
    """One call of a record: what its client sends, headers included, and the rule by which the fake provider answers it."""

    call: Call
    request: BuiltRequest
    rule: Rule


def recorded_traffic(session: Session, *, stand_in: str = "") -> Iterator[RecordedExchange]:
    """Every call of a session in the order of its file.

    The answer has the recorded text, tool calls, stop reason and usage. Two things differ from the record: of an output that the
    client logged from its first chunk (`Call.output_unsure`) the fake provider reports what the visible answer weighs, as no
    provider reports less; and a failed call gets an error. Calls of which the file holds no message are left out. `stand_in` is a
    system prompt before the recorded one. Raises `CallError` for a dialect that nothing is rendered in.
    """
    following = {call.previous: call.index for call in reversed(session.calls) if call.previous is not None}
    sent: list[list[dict[str, Any]]] = []
    for call in session.calls:
        dialect = _dialect(session, call)
        start = 0 if call.previous is None else session.calls[call.previous].messages
        # A model may change to one of another dialect, whose client writes everything anew.
        goes_on = call.previous is not None and _dialect(session, session.calls[call.previous]) == dialect
        before = sent[call.previous] if goes_on and call.previous is not None else []
        sent.append(
            render_messages(dialect, session.messages(call.index, start if goes_on else 0, call.messages), before)
        )
        if not sent[-1]:
            continue
        yield RecordedExchange(
            call=call,
            request=_request(session, call, dialect, sent[-1], stand_in),
            rule=_rule(session, call, _reply(session, call, following.get(call.index))),
        )


def make_stand_in(session: Session) -> str:
    """A text that weighs what the first trusted call reported beyond what the file holds of it; empty if that is nothing.

    System prompt and tools are not in most files, but in every real request. So the prompt of the first call is matched by
    construction, and proves nothing.
    """
    call = next((call for call in session.calls if call.trusted and not call.lossy), None)
    if call is None or call.usage is None:
        return ""
    meter = _meter(session, call)
    missing = (call.usage.prompt or 0) - account(session.context(call.index), meter).total.tokens
    if missing <= 0:
        return ""
    chars = _SAMPLE_CHARS
    for _ in range(2):  # made-up prose grows denser with its length
        chars = round(chars * missing / max(1, meter.rule.prose(make_prose(chars)).tokens))
    return STAND_IN + make_prose(chars)


def _dialect(session: Session, call: Call) -> Dialect:
    """The dialect of a call; a record that does not say it comes from a host of open weights."""
    dialect: Dialect = call.dialect or "openai-chat"
    if dialect not in DIALECTS:
        raise CallError(f"{session.path}: calls in the {dialect} dialect cannot be sent again.")
    return dialect


def _request(
    session: Session, call: Call, dialect: Dialect, messages: list[dict[str, Any]], stand_in: str
) -> BuiltRequest:
    recorded = session.prelude(call.index)
    prelude = replace(recorded, system=(stand_in, *recorded.system)) if stand_in else recorded
    messages = [*render_system_messages(dialect, prelude), *messages]
    body: dict[str, Any] = {"input" if dialect == "openai-responses" else "messages": messages}
    if dialect == "openai-chat":
        body["stream_options"] = {"include_usage": True}
    built = make_request(
        dialect, model=call.model or "unknown", stream=True, extra={**body, **render_prelude(dialect, prelude)}
    )
    return replace(built, headers={**built.headers, **_client_headers(session, call)})


def _client_headers(session: Session, call: Call) -> dict[str, str]:
    """By what the gateway knows the client, the session and a sub-agent in it (clients specification, section 3)."""
    name = session.id or Path(session.path).stem
    version = session.client_version or "0"
    agent = (call.agent or "side-chain") if call.sidechain else None
    match session.client:
        case "claude-code":
            headers = {"user-agent": f"claude-cli/{version} (external, cli)", "x-claude-code-session-id": name}
            return headers | ({"x-claude-code-agent-id": agent} if agent else {})
        case "codex":
            headers = {"user-agent": f"codex_cli_rs/{version}", "originator": "codex_cli_rs", "session-id": name}
            return headers | ({"thread-id": agent} if agent else {})
        case "pi":
            return {"user-agent": f"pi/{version}", "session-id": name}
        case _:
            return {"user-agent": f"{session.client}/{version}", "x-ullage-session": name}


def _reply(session: Session, call: Call, following: int | None) -> list[Message]:
    """The messages of a reply, read where a later call, or else the conversation as it stands now, goes on from it."""
    if not call.reply or (following is None and session.messages_before(call.index) < call.messages):
        return []
    read = session.messages(following, call.reply[0], call.reply[-1] + 1)
    return [message for index, message in enumerate(read, call.reply[0]) if index in call.reply]


def _rule(session: Session, call: Call, reply: Sequence[Message]) -> Rule:
    if call.stop_reason in _FAILED:
        return Rule(times=1, fault=Fault(status=500))
    parts = [part for message in reply for part in message.parts]
    return Rule(
        times=1,
        reply=Reply(
            text="\n\n".join(part.text for part in parts if part.kind == "text"),
            thinking="\n\n".join(part.text for part in parts if part.kind == "thinking"),
            tool_calls=tuple(
                ToolUse(name=part.name or "", arguments=part.text, id=part.call_id)
                for part in parts
                if part.kind == "tool_call"
            ),
            stop=_STOPS.get(call.stop_reason or ""),
            usage=_usage(session, call, reply),
            fragment_chars=_FRAGMENT_CHARS,
        ),
    )


def _usage(session: Session, call: Call, reply: Sequence[Message]) -> Usage:
    usage = replace(call.usage or Usage(), raw=None)
    if not call.output_unsure:
        return usage
    meter = _meter(session, call)
    visible = sum(_visible_tokens(measure_message(message, meter)) for message in reply)
    return replace(usage, output=max(usage.output or 0, visible))


def _visible_tokens(measure: Measure) -> int:
    shown = sum(entry.tokens for entry in measure.entries if entry.section != "thinking_summaries")
    return shown + measure.frame


def _meter(session: Session, call: Call) -> Meter:
    return make_meter(dialect=call.dialect, provider=call.provider, model=call.model, client=session.client)
