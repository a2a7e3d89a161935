"""Calls and their results: matched, given ids that hold on both sides, and put where every provider wants them.

Providers refuse a call without its result right behind it, a result without its call, and an id that occurs twice. Clients send
all of that: after an interruption, after pruning, on a resumed session (clients specification, sections 3 and 11).
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.translation.nouns import Call, Message, Result, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.naming import Ids
    from ullage.core.translation.nouns import Media, Part

NO_RESULT = "There is no result: the call was not finished."


class _Exchange:
    """A call that was given its id, and its result once it is found."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.result: Result | None = None


class _Book:
    """All exchanges of a conversation, found by the client's id, else by the tool's name, oldest first: programs of Gemini leave
    the ids out, on both sides or only in results."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._open: dict[str, deque[_Exchange]] = defaultdict(deque)
        self._answered: dict[str, _Exchange] = {}

    def open(self, call: Call) -> _Exchange:
        """A call, with an id that no other has."""
        exchange = _Exchange(replace(call, id=self._ids.settle(call.id)))
        keys = (f"id {call.id}", f"any {call.name}") if call.id else (f"name {call.name}", f"any {call.name}")
        for key in keys:
            self._open[key].append(exchange)
        return exchange

    def answer(self, result: Result) -> _Exchange | None:
        """The exchange that a result completes; `None` for one without a call that waits for it."""
        for key in _keys(result):
            waiting = self._open[key]
            while waiting and waiting[0].result is not None:
                waiting.popleft()
            if waiting:
                exchange = waiting.popleft()
                name, call_id = exchange.call.name, exchange.call.id
                exchange.result = replace(result, id=call_id, name=name, custom=exchange.call.custom)
                self._answered[key] = exchange
                return exchange
        return None

    def repeats(self, result: Result) -> bool:
        """Whether the same result was there before."""
        known = next((found for key in _keys(result) if (found := self._answered.get(key)) is not None), None)
        return known is not None and known.result is not None and known.result.parts == result.parts


def _keys(result: Result) -> tuple[str, ...]:
    """What its call may stand under: its own id, or, without one or where that call has none, the name of its tool."""
    return (f"id {result.id}", f"name {result.name}") if result.id else (f"any {result.name}",)


def settle_exchanges(messages: Sequence[Message], ids: Ids, losses: Losses) -> list[Message]:
    """The messages with each call's result in the message behind it, in the order of the calls.

    A result without a call becomes text of the user, the same result once more is left out, and a call without a result gets one
    that says so.
    """
    book = _Book(ids)
    settled: list[tuple[Message, list[_Exchange]]] = []
    for message in messages:
        opened: list[_Exchange] = []
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Call):
                exchange = book.open(part)
                opened.append(exchange)
                parts.append(exchange.call)
            elif isinstance(part, Result):
                parts += _settle_result(part, book, losses)
            else:
                parts.append(part)
        settled.append((replace(message, parts=tuple(parts)), opened))
    found: list[Message] = []
    for message, opened in settled:
        found.append(message)
        if opened:
            results = tuple(_result_of(exchange, losses) for exchange in opened)
            found.append(Message(role="user", parts=results))
    return found


def _settle_result(result: Result, book: _Book, losses: Losses) -> Sequence[Text | Media]:
    """Nothing where the result completes a call: it is written behind that."""
    if book.answer(result) is not None:
        return ()
    if book.repeats(result):
        losses.add("repeated_result", "messages", "A result that came twice is sent once.")
        return ()
    losses.add("orphan_result", "messages", "A result without its call is sent as text of the user.")
    named = f" {result.name}" if result.name else ""
    return (Text(text=f"Result of an earlier call of a tool{named}:"), *result.parts)


def _result_of(exchange: _Exchange, losses: Losses) -> Result:
    if exchange.result is not None:
        return exchange.result
    losses.add("missing_result", "messages", "A call without a result is sent with one that says so.")
    call = exchange.call
    return Result(id=call.id, name=call.name, parts=(Text(text=NO_RESULT),), is_error=True, custom=call.custom)
