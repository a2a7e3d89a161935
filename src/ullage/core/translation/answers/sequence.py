"""Parts put one after the other, also where a provider sends several at once.

Every dialect but Chat Completions ends a part before the next begins. Chat tells calls apart by number and never ends one, so a
call may still grow after the next began: the first that is open goes straight through, what others get waits for it.

A part is said once: what a provider tells of one again after its end is not heard. A client would run a repeated call twice.
A call with the id of one that ended is that one again if it asks for the same, else another one, with an id of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.translation.arguments import find_object

from .events import PartDelta, PartEnd

if TYPE_CHECKING:
    from ullage.core.translation.nouns import Seal

    from .events import Event, PartStart


class _Waiting:
    """A part that has begun at the provider."""

    def __init__(self, start: PartStart) -> None:
        self.start = start
        self.texts: list[str] = []
        self.closed = False
        self.is_twin = False
        self.seal: Seal | None = None


_PLACEHOLDER = "{}"


class Sequence:
    """The parts of one answer by whatever key the dialect tells them apart. `events` are those that are due."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.calls = 0
        self.parts = 0
        self._open: dict[Any, _Waiting] = {}
        self._closed: set[Any] = set()
        self._ids: set[str] = set()
        self._asked: dict[str, list[tuple[str, str]]] = {}
        self._live: Any = None
        # All of the live part's text so far, since a call is known to be whole by its JSON only.
        self._said: list[str] = []

    def __contains__(self, key: Any) -> bool:
        return key in self._open

    def open(self, key: Any, start: PartStart) -> None:
        """Begins a part, or adds the name and id of a call that came without. One that has ended does not begin again."""
        if key in self._closed:
            return
        part = self._open.get(key)
        if part is None:
            self._open[key] = part = _Waiting(start)
            part.is_twin = start.kind == "call" and start.id in self._ids
            self._ids.add(start.id)
            if self._live is not None:
                self._close_if_whole(self._live)
        elif key != self._live:
            id_, name = part.start.id or start.id, part.start.name or start.name
            part.start = replace(part.start, id=id_, name=name)
        self._go_on()

    def add(self, key: Any, text: str) -> None:
        """More of a part; nothing for one that is not open.

        Some hosts begin a call with empty arguments and send the real ones later, others repeat whole arguments at the end.
        """
        part = self._open.get(key)
        if part is None or part.closed or not text:
            return
        said = self._said if key == self._live else part.texts
        if part.start.kind == "call" and not part.start.custom and _is_idle(said, text):
            return
        if key == self._live:
            self.events.append(PartDelta(text))
            self._said.append(text)
        else:
            part.texts.append(text)

    def close(self, key: Any, seal: Seal | None = None) -> None:
        """Ends a part."""
        part = self._open.get(key)
        if part is None:
            return
        part.closed, part.seal = True, seal
        self._go_on()

    def close_all(self) -> None:
        """Ends all parts, in the order in which they began. A call that never got a name is none."""
        for key, part in list(self._open.items()):
            if part.start.kind == "call" and not part.start.name:
                del self._open[key]
            else:
                part.closed = True
        self._go_on()

    def take(self) -> list[Event]:
        """The events that are due."""
        events, self.events = self.events, []
        return events

    def _close_if_whole(self, key: Any) -> None:
        """A call whose arguments are a whole object gets no more of them."""
        part = self._open[key]
        if part.start.kind == "call" and self._said and find_object("".join(self._said)) is not None:
            part.closed = True

    def _go_on(self) -> None:
        """Ends the live part if it is closed, and lets the next one speak."""
        while self._open:
            key, part = next(iter(self._open.items()))
            if self._live is None:
                if part.start.kind == "call" and not part.start.name:
                    return
                if part.is_twin and not part.closed:
                    return
                if part.is_twin and self._is_told(part):
                    self._drop(key)
                    continue
                self._begin(key, part)
            if not part.closed:
                return
            self.events.append(PartEnd(seal=part.seal))
            if part.start.kind == "call":
                self._asked.setdefault(part.start.id, []).append((part.start.name, "".join(self._said)))
            self._drop(key)

    def _drop(self, key: Any) -> None:
        del self._open[key]
        self._closed.add(key)
        self._live = None

    def _is_told(self, part: _Waiting) -> bool:
        """Whether the call was told before; else it gets an id that was not."""
        text, told = "".join(part.texts), self._asked.get(part.start.id, [])
        if any(name == part.start.name and (not text or _is_same(text, before)) for name, before in told):
            return True
        told.append((part.start.name, text))
        part.start = replace(part.start, id=f"{part.start.id}_{len(told)}")
        return False

    def _begin(self, key: Any, part: _Waiting) -> None:
        self._live = key
        self.parts += 1
        self.calls += part.start.kind == "call"
        self.events.append(part.start)
        self._said, part.texts = part.texts, []
        self.events += map(PartDelta, self._said)


def _is_idle(said: list[str], text: str) -> bool:
    """Whether the text adds nothing to the arguments said so far: an empty object before all, or an object after a whole one."""
    if not said:
        return text.strip() == _PLACEHOLDER
    begins_again = text.lstrip().startswith("{") and said[-1].rstrip().endswith("}")
    return begins_again and find_object("".join(said)) is not None


def _is_same(one: str, other: str) -> bool:
    return one == other or ((found := find_object(one)) is not None and found == find_object(other))
