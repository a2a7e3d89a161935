"""An answer as events that no dialect owns: start, parts one after the other, end. A whole answer is one with long deltas."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ullage.core.content import StopReason, Usage
from ullage.core.translation.nouns import Seal

PartKind = Literal["text", "reasoning", "refusal", "call"]
FailureKind = Literal[
    "invalid",
    "auth",
    "permission",
    "not_found",
    "too_large",
    "too_long",
    "rate_limit",
    "timeout",
    "overloaded",
    "server",
]


class AnswerStart(Struct, frozen=True, kw_only=True):
    """The first event. `usage` is what the provider reports before it answers."""

    id: str = ""
    model: str = ""
    usage: Usage | None = None


class PartStart(Struct, frozen=True, kw_only=True):
    """A part begins; it ends before the next one begins. A call has an id and a name; a `custom` one has free input."""

    kind: PartKind
    id: str = ""
    name: str = ""
    custom: bool = False


class PartDelta(Struct, frozen=True):
    """More of the part: text, readable thinking, or JSON text of arguments."""

    text: str


class PartEnd(Struct, frozen=True, kw_only=True):
    """The part is whole. Reasoning always has a seal, if only with its owner's name."""

    seal: Seal | None = None


class AnswerEnd(Struct, frozen=True, kw_only=True):
    """The answer is whole."""

    stop: StopReason
    stop_sequence: str | None = None
    usage: Usage | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """The provider's error, in place of an answer or inside of one. `status` is HTTP's; `code` the provider's own word."""

    kind: FailureKind
    message: str
    status: int
    code: str = ""


Event = AnswerStart | PartStart | PartDelta | PartEnd | AnswerEnd | Failure


class WholePart(Struct, frozen=True, kw_only=True):
    """A part with all of its text."""

    start: PartStart
    text: str
    seal: Seal | None = None


class WholeAnswer(Struct, frozen=True, kw_only=True):
    """All events of an answer that ended as it should."""

    start: AnswerStart
    parts: tuple[WholePart, ...]
    end: AnswerEnd


def collect(events: list[Event]) -> WholeAnswer | Failure:
    """The answer that the events make up, or the failure among them."""
    start, parts = AnswerStart(), []
    opened = PartStart(kind="text")
    texts: list[str] = []
    for event in events:
        match event:
            case Failure():
                return event
            case AnswerStart():
                start = event
            case PartStart():
                opened, texts = event, []
            case PartDelta(text=text):
                texts.append(text)
            case PartEnd(seal=seal):
                parts.append(WholePart(start=opened, text="".join(texts), seal=seal))
            case AnswerEnd():
                return WholeAnswer(start=start, parts=tuple(parts), end=event)
    return Failure(kind="server", message="The provider's answer ended before it was complete.", status=502)
