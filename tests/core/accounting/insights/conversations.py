"""Messages and calls of made-up conversations, for tests of insights."""

from __future__ import annotations

import json
from typing import Any

from ullage.core.accounting import CallFacts, Measure, make_meter, measure_message
from ullage.core.accounting.insights import Prelude, Timeline, TimelineCall
from ullage.core.content import Message, Part, Usage

METER = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="pi")


def say(words: str, role: str = "user") -> Message:
    return Message(role=role, parts=(Part(kind="text", text=words, wire_type="text"),))  # type: ignore[arg-type]


def ask(tool: str, identity: str = "1", **arguments: Any) -> Message:
    """A call of a tool; with the one argument `raw` its text is that."""
    text = arguments["raw"] if list(arguments) == ["raw"] else json.dumps(arguments)
    return Message(role="assistant", parts=(Part(kind="tool_call", name=tool, text=text, call_id=identity),))


def give(text: str, identity: str = "1", *, failed: bool = False) -> Message:
    part = Part(kind="tool_result", text=text, call_id=identity, is_error=failed)
    return Message(role="tool", parts=(part,))


def lines(count: int, word: str = "value") -> str:
    """Text whose lines all differ."""
    return "\n".join(f"    {word}_{number} = compute({number}, {number * 7})" for number in range(count))


def measured(messages: list[Message]) -> tuple[Measure, ...]:
    return tuple(measure_message(message, METER) for message in messages)


def facts(prompt: int, start: int, *, read: int | None = None, output: int = 40, **more: Any) -> CallFacts:
    """A trusted call of `METER`'s model; what was not read from cache was written."""
    usage = Usage(
        input_fresh=prompt - (read or 0),
        cache_read=read,
        cache_write=None if read is None else 0,
        output=output,
        reasoning=more.pop("reasoning", None),
    )
    known = {"provider": "anthropic", "api": "messages", "model": "claude-opus-4-8", "start": start, **more}
    return CallFacts(usage=usage, **known)


def timeline(calls: list[tuple[CallFacts | None, list[Message]]], **last: Any) -> Timeline:
    """Calls that go on from one another, each with the messages it sent beyond the call before; `last` are facts of the last."""
    made: list[TimelineCall] = []
    added: list[tuple[Measure, ...]] = []
    since_anchor: list[Message] = []
    start = 0
    trusted: int | None = None
    for number, (call, new) in enumerate(calls, 1):
        start += len(new)
        since_anchor += new
        added.append(measured(since_anchor))
        made.append(
            TimelineCall(
                number=number,
                meter=METER,
                prelude=Prelude(complete=False),
                start=start,
                facts=call,
                follows=number - 2 if number > 1 else None,
                anchor=trusted,
                **(last if number == len(calls) else {}),
            )
        )
        if call is not None:
            trusted, since_anchor = number - 1, []
    return Timeline(calls=tuple(made), added={METER.key: added})
