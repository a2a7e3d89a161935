"""What the writers of all dialects share: events in, bytes of a stream out; a whole answer to a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.translation.answers.events import Event, WholeAnswer
    from ullage.core.translation.terms import Terms

encode = msgspec.json.Encoder().encode


class Writer(Protocol):
    """One answer for one client. `dialect` modules offer these."""

    def __init__(self, terms: Terms, created_s: int) -> None: ...

    def write(self, event: Event) -> bytes:
        """What the client is sent of a stream for this event."""
        ...

    def body(self, answer: WholeAnswer) -> bytes:
        """A whole answer."""
        ...


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event, named where the dialect names its events."""
    head = b"" if name is None else b"event: " + name.encode() + b"\n"
    return head + b"data: " + encode(data) + b"\n\n"


def openai_figures(usage: Usage) -> tuple[int, int, int, int, int]:
    """Prompt, cached and written tokens in it, output, and the reasoning in it; a part that nobody reported is zero."""
    return (
        usage.prompt or 0,
        usage.cache_read or 0,
        usage.cache_write or 0,
        usage.output or 0,
        usage.reasoning or 0,
    )
