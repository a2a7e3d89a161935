"""Measures a conversation slice by slice; a slice that was seen before costs one look-up."""

from __future__ import annotations

from functools import partial
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.accounting import Measure, Meter, measure_message, measure_system, measure_tool
from ullage.core.planning import SliceFacts, facts_of
from ullage.core.planning.prompts import find_words, instructs
from ullage.core.routing.turn import may_step
from ullage.core.wire import canonical_hash, read_message, read_system, read_tool
from ullage.core.wire.binding import bare_hash, holds_thinking
from ullage.core.wire.foreign import without_thinking

from .facts import TwoGenerations
from .prefixes import Prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.wire import Conversation, Dialect, Slice

# About 150 bytes a hash and 600 bytes a measure: some 20 MB when both are full.
_SLICES = 20_000
# Messages that hold instruction files: mostly one a session.
_MESSAGES_WITH_RULES = 1_000
_HASH = attrgetter("hash")


class Measures(NamedTuple):
    """The measures of a conversation's slices, in order."""

    system: Sequence[Measure]
    tools: Sequence[Measure]
    messages: Sequence[Measure]


class Weights(NamedTuple):
    """Tokens of a conversation's slices by one estimator, frames included, in order."""

    system: tuple[int, ...]
    tools: tuple[int, ...]
    messages: tuple[int, ...]

    @property
    def total(self) -> int:
        """The raw estimate of the whole request."""
        return sum(self.system) + sum(self.tools) + sum(self.messages)


class Measuring:
    """Remembers canonical hashes and measures by the content hash of a slice. Used by one thread only."""

    def __init__(self) -> None:
        self._hash_lists: Prefixes[int] = Prefixes()
        self._bare_lists: Prefixes[int] = Prefixes()
        self._fact_lists: Prefixes[SliceFacts] = Prefixes()
        self._measure_lists: Prefixes[Measure] = Prefixes()
        self._weight_lists: Prefixes[int] = Prefixes()
        self._instruction_lists: Prefixes[bool] = Prefixes()
        self._step_lists: Prefixes[bool] = Prefixes()
        self._thinking_lists: Prefixes[bool] = Prefixes()
        self._last: tuple[Slice, ...] = ()
        self._last_keys: tuple[int, ...] = ()
        self._facts: TwoGenerations[int, SliceFacts] = TwoGenerations(_SLICES)
        self._weights: TwoGenerations[tuple[int, str], int] = TwoGenerations(_SLICES)
        self._canonical: TwoGenerations[int, int] = TwoGenerations(_SLICES)
        self._bare: TwoGenerations[int, int] = TwoGenerations(_SLICES)
        self._thinking: TwoGenerations[int, bool] = TwoGenerations(_SLICES)
        self._words: TwoGenerations[tuple[int, str], tuple[int, ...]] = TwoGenerations(_MESSAGES_WITH_RULES)
        self._measures: TwoGenerations[tuple[int, str], Measure] = TwoGenerations(_SLICES)

    def canonical_hashes(self, conversation: Conversation) -> tuple[int, ...]:
        """The canonical hash of each message."""
        dialect = conversation.dialect
        return self._hash_lists.map(
            dialect, conversation.messages, self._keys(conversation), lambda piece: self._canonical_hash(piece, dialect)
        )

    def bare_hashes(self, conversation: Conversation) -> tuple[int, ...]:
        """The canonical hash of each message of a request to Anthropic without its thinking; 0 for thinking alone."""
        return self._bare_lists.map("bare", conversation.messages, self._keys(conversation), self._bare_hash)

    def system_hash(self, conversation: Conversation) -> int:
        """The canonical hash of the first system block outside the messages; 0 without one."""
        return self._canonical_hash(conversation.system[0], conversation.dialect) if conversation.system else 0

    def facts(self, conversation: Conversation) -> tuple[SliceFacts, ...]:
        """What a plan needs to know of each message."""
        dialect = conversation.dialect
        return self._fact_lists.map(
            dialect, conversation.messages, self._keys(conversation), lambda piece: self._facts_of(piece, dialect)
        )

    def _facts_of(self, piece: Slice, dialect: Dialect) -> SliceFacts:
        known = self._facts.find(piece.hash)
        if known is None:
            known = facts_of(read_message(piece, dialect), dialect)
            self._facts.keep(piece.hash, known)
        return known

    def measure(self, conversation: Conversation, meter: Meter, weigh_by: Meter | None = None) -> Measures:
        """The measure of every slice; only new ones are read and counted. Those are weighed by another meter at once, if one is
        named, while they are read."""
        dialect = conversation.dialect

        def measure(piece: Slice) -> Measure:
            return self._measure(piece, dialect, meter, weigh_by)

        return Measures(
            system=tuple(map(measure, conversation.system)),
            tools=tuple(map(measure, conversation.tools)),
            messages=self._measure_lists.map(meter.key, conversation.messages, self._keys(conversation), measure),
        )

    def instructing(self, conversation: Conversation, meter: Meter) -> tuple[int, ...]:
        """The numbers of the messages in which the client sends instruction files or its index of skills."""
        dialect = conversation.dialect

        def is_rule(piece: Slice) -> bool:
            return instructs(self._measure(piece, dialect, meter, None))

        found = self._instruction_lists.map(meter.key, conversation.messages, self._keys(conversation), is_rule)
        return tuple(index for index, is_one in enumerate(found) if is_one)

    def steps(self, conversation: Conversation) -> tuple[int, ...]:
        """The numbers of the messages that may ask the router for a step up or down."""
        found = self._step_lists.map("steps", conversation.messages, self._keys(conversation), may_step)
        return tuple(compress(range(len(found)), found))

    def thinking(self, conversation: Conversation, facts: Sequence[SliceFacts]) -> tuple[int, ...]:
        """The numbers of the messages of models that lose something where another model is not to see their thinking."""
        dialect = conversation.dialect

        def loses(piece: Slice) -> bool:
            if facts[piece.index].role != "assistant":
                return False
            known = self._thinking.find(piece.hash)
            if known is None:
                known = without_thinking(piece, dialect) != piece.raw
                self._thinking.keep(piece.hash, known)
            return known

        found = self._thinking_lists.map(dialect, conversation.messages, self._keys(conversation), loses)
        return tuple(compress(range(len(found)), found))

    def words(self, piece: Slice, dialect: Dialect, meter: Meter) -> tuple[int, ...]:
        """The blocks in which the user speaks beside instructions (`core.planning.prompts`)."""
        known = self._words.find((piece.hash, meter.key))
        if known is None:
            known = find_words(piece, dialect, meter)
            self._words.keep((piece.hash, meter.key), known)
        return known

    def weigh(self, conversation: Conversation, meter: Meter) -> Weights:
        """The tokens of every slice as one number each, for limits and plans; only new ones are read and counted."""
        dialect = conversation.dialect

        def weigh(piece: Slice) -> int:
            return self._weight(piece, dialect, meter)

        return Weights(
            system=tuple(map(weigh, conversation.system)),
            tools=tuple(map(weigh, conversation.tools)),
            messages=self._weight_lists.map(meter.key, conversation.messages, self._keys(conversation), weigh),
        )

    def _keys(self, conversation: Conversation) -> tuple[int, ...]:
        """The content hashes of the messages; asked for several times for one request after the other."""
        if conversation.messages is not self._last:
            self._last = conversation.messages
            self._last_keys = tuple(map(_HASH, conversation.messages))
        return self._last_keys

    def _weight(self, piece: Slice, dialect: Dialect, meter: Meter) -> int:
        key = (piece.hash, meter.key)
        known = self._weights.find(key)
        if known is None:
            known = (self._measures.find(key) or _read(piece, dialect)(meter)).weight
            self._weights.keep(key, known)
        return known

    def _canonical_hash(self, piece: Slice, dialect: Dialect) -> int:
        known = self._canonical.find(piece.hash)
        if known is None:
            known = canonical_hash(piece, dialect)
            self._canonical.keep(piece.hash, known)
        return known

    def _bare_hash(self, piece: Slice) -> int:
        if not holds_thinking(piece):
            return self._canonical_hash(piece, "anthropic")
        known = self._bare.find(piece.hash)
        if known is None:
            known = bare_hash(piece)
            self._bare.keep(piece.hash, known)
        return known

    def _measure(self, piece: Slice, dialect: Dialect, meter: Meter, weigh_by: Meter | None) -> Measure:
        key = (piece.hash, meter.key)
        known = self._measures.find(key)
        if known is None:
            measured = _read(piece, dialect)
            known = measured(meter)
            self._measures.keep(key, known)
            if weigh_by is not None and weigh_by.key != meter.key:
                self._weights.keep((piece.hash, weigh_by.key), measured(weigh_by).weight)
        return known


def _read(piece: Slice, dialect: Dialect) -> Callable[[Meter], Measure]:
    """Reads a slice once, to be measured by any meter."""
    if piece.kind == "system":
        return partial(measure_system, read_system(piece, dialect))
    if piece.kind == "tool":
        return partial(measure_tool, read_tool(piece, dialect))
    return partial(measure_message, read_message(piece, dialect))
