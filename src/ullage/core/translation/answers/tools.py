"""Calls in the client's own terms: the names of its tools, and the free input of those that take some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.translation.arguments import arguments_as_input

from .events import PartDelta, PartEnd, PartStart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.core.translation.terms import Terms

    from .events import Event


class ClientTools:
    """Events in, events out. Free input that comes as arguments of a function is held until it is whole.

    A call without a word of arguments has none: an empty object.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._held: list[str] | None = None
        self._is_silent = False

    def translate(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events as the client knows its tools."""
        for event in events:
            if isinstance(event, PartStart) and event.kind == "call":
                yield self._open(event)
            elif isinstance(event, PartDelta) and self._held is not None:
                self._held.append(event.text)
            else:
                if isinstance(event, PartEnd):
                    yield from self._close()
                self._is_silent = False
                yield event

    def _open(self, start: PartStart) -> PartStart:
        name = self._terms.names.get(start.name, start.name)
        hold = name in self._terms.custom and not start.custom
        self._held = [] if hold else None
        self._is_silent = not hold and not start.custom
        return replace(start, name=name, custom=hold or start.custom)

    def _close(self) -> Iterator[PartDelta]:
        if self._held is not None:
            held, self._held = self._held, None
            yield PartDelta(arguments_as_input("".join(held)))
        elif self._is_silent:
            yield PartDelta("{}")
