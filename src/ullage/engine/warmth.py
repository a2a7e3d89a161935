"""What providers hold warm: expected of each request before it is answered, checked against what was then reported.

A line is a run of requests each of which goes on from the one before it. A session has one line on each target, and more where a
client talks of several things under one id. Every line keeps its newest request only: the hashes of its slices, and the places at
which its provider has told how many tokens stand before them.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.accounting.insights import marks_on
from ullage.core.caching import (
    Chain,
    Expectation,
    Footprint,
    Measured,
    Stop,
    chain_digest,
    chain_of,
    check,
    count_blocks,
    expect,
    is_whole,
    leave,
    miss_cost_usd,
    report_cache,
    report_miss,
    shared_length,
)
from ullage.core.profiles.cache_rules import CacheRule, find_cache_rule
from ullage.core.profiles.pricing import prices_at
from ullage.core.wire import canonical_hash
from ullage.stores import PrefixRecord

from .facts import TwoGenerations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.core.accounting import Meter
    from ullage.core.caching import Miss
    from ullage.core.content import Usage
    from ullage.core.profiles.facts import Prices
    from ullage.core.wire import Conversation, Slice

    from .measuring import Measures, Weights

_LINES = 1_000
# About 50 bytes a slice, and 44 for the hash where nobody else keeps it: some 20 MB when full.
_SLICES = 200_000
# A client may ask for a title or a summary in between, or go back to an earlier branch.
_LINES_OF_A_SESSION = 4
# Lines of other sessions that are looked at, the newest first: they share the harness, and the newest is as good as any.
_CANDIDATES = 8
_HEAD_SLICES = 2_000
# About 100 bytes each: some 4 MB when both generations are full.
_MARKED_SLICES = 20_000

_Target = tuple[str, str]


class Forecast(Struct, frozen=True, kw_only=True):
    """What is known of a request's warm prefix before it is answered. `own` is the number of the line that it goes on from.
    `chain` is `None` for a request that does not hold its whole prompt."""

    provider: str
    model: str
    session: str
    sent_ms: int
    rule: CacheRule
    expectation: Expectation
    chain: Chain | None = None
    own: int | None = None

    @property
    def target(self) -> _Target:
        """Provider and model."""
        return self.provider, self.model


class Settled(NamedTuple):
    """What came of a call: `cache` for its record, the `miss` if there was one, and the `prefix` that is warm now."""

    cache: dict[str, Any]
    miss: Miss | None
    prefix: PrefixRecord | None


class Warmth:
    """Remembers what is warm by target and session. Used by one thread only; its memory is bounded."""

    def __init__(self, *, lines: int = _LINES, slices: int = _SLICES) -> None:
        self._lines = _Lines(lines, slices)
        self._recalled: dict[tuple[_Target, str], PrefixRecord] = {}
        self._head_hashes: TwoGenerations[int, int] = TwoGenerations(_HEAD_SLICES)
        self._marks: TwoGenerations[int, tuple[str | None, ...]] = TwoGenerations(_MARKED_SLICES)

    def recall(self, records: Iterable[PrefixRecord]) -> None:
        """Takes up what was warm before a restart, newest first. A line is known again by one hash of its slices."""
        for record in islice(records, _LINES):
            self._recalled.setdefault(((record.provider, record.model), record.session), record)

    def look_ahead(
        self,
        session: str,
        meter: Meter,
        conversation: Conversation,
        *,
        hashes: tuple[int, ...],
        measures: Measures,
        weights: Weights,
        now_ms: int,
        minimum_tokens: int | None = None,
        translated: bool = False,
    ) -> Forecast:
        """What the provider should read from its cache of a request that is sent now.

        `hashes` are the canonical ones of the messages, `weights` the tokens of all slices by the meter. `minimum_tokens` is the
        shortest prefix that is cached, where the model's profile says. `translated`: the provider gets it in another protocol.
        """
        forecast = Forecast(
            provider=meter.provider or "",
            model=meter.model or "",
            session=session,
            sent_ms=now_ms,
            rule=find_cache_rule(meter.provider, meter.model),
            expectation=Expectation(disposition="unknown", tokens=None),
        )
        if not is_whole(conversation):
            return forecast
        head = tuple(self._hash(conversation))
        chain = chain_of(
            conversation,
            forecast.rule,
            hashes=(*head, *hashes),
            weights=(*weights.tools, *weights.system, *weights.messages),
            turn=_turn(measures, len(head)),
            marks_of=self._marks_on,
            translated=translated,
        )
        own = self._lines.find_own(forecast.target, session, chain)
        recalled = self._recalled.pop((forecast.target, session), None)
        if own is None and recalled is not None:
            footprint = _recalled_footprint(recalled, chain)
            if footprint is None:  # it was here before the restart, but what it sent then cannot be told any more
                return replace(forecast, chain=chain)
            own = self._lines.add(forecast.target, session, footprint)
        expectation = expect(
            forecast.rule,
            chain,
            now_ms=now_ms,
            own=self._lines.footprint(own),
            others=self._lines.others(forecast.target, chain, own),
            left=self._lines.left(forecast.target, session),
            minimum_tokens=minimum_tokens,
            drops_reasoning=meter.retention == "turn",
            blocks_of=lambda index: _blocks(conversation, index),
        )
        return replace(forecast, chain=chain, own=own, expectation=expectation)

    def find_warm(
        self, session: str, conversation: Conversation, hashes: tuple[int, ...], now_ms: int
    ) -> dict[str, int]:
        """Tokens of a prompt that each target's cache holds of this session, by `provider/model`: 0 for one that held some of an
        earlier request. `hashes` are the canonical ones of its messages."""
        whole = (*self._hash(conversation), *hashes)
        return {
            f"{target[0]}/{target[1]}": max(_warm_tokens(footprint, whole, now_ms) for footprint in footprints)
            for target, footprints in self._lines.of_session(session).items()
        }

    def settle(self, forecast: Forecast, usage: Usage | None, *, ended_ms: int) -> Settled:
        """Checks a call whose answer has ended, and remembers what is warm now.

        To be called as well for an answer that was cut after it had begun, without usage: its prompt has been read all the same.
        Not to be called where the provider refused the request.
        """
        read = usage.cache_read if usage is not None else None
        miss = check(forecast.expectation, usage) if usage is not None else None
        cache = report_cache(forecast.rule, forecast.expectation, read, miss)
        if forecast.chain is None or not forecast.chain.depth or not forecast.session:
            return Settled(cache, miss, None)
        footprint = leave(
            forecast.rule,
            forecast.chain,
            usage,
            sent_ms=forecast.sent_ms,
            ended_ms=ended_ms,
            before=self._lines.footprint(forecast.own),
            found=forecast.expectation.position if forecast.expectation.own else 0,
        )
        self._lines.put(forecast.target, forecast.session, footprint)
        return Settled(cache, miss, _prefix_record(forecast, footprint, usage))

    def _hash(self, conversation: Conversation) -> Iterator[int]:
        """The canonical hashes of what stands before the messages."""
        for piece in (*conversation.tools, *conversation.system):
            known = self._head_hashes.find(piece.hash)
            if known is None:
                known = canonical_hash(piece, conversation.dialect)
                self._head_hashes.keep(piece.hash, known)
            yield known

    def _marks_on(self, piece: Slice) -> tuple[str | None, ...]:
        known = self._marks.find(piece.hash)
        if known is None:
            known = marks_on(piece)
            self._marks.keep(piece.hash, known)
        return known


def miss_details(forecast: Forecast, miss: Miss, prices: Prices | None, *, prompt_tokens: int) -> dict[str, Any]:
    """What the event `cache_miss` tells of an unexpected miss of a prompt of so many tokens; `cost_usd` is what it cost above a
    hit, `None` if unknown."""
    chain = forecast.chain
    paid = prices_at(prices, prompt_tokens) if prices is not None else None
    long = chain is not None and any(mark.long for mark in chain.marks)
    told = {key: value for key, value in report_miss(miss).items() if key != "unexpected"}
    return {
        **told,
        "target": f"{forecast.provider}/{forecast.model}",
        "age_ms": forecast.expectation.age_ms,
        "cost_usd": miss_cost_usd(miss, forecast.rule, paid, long=long),
    }


class _Line(NamedTuple):
    target: _Target
    session: str
    footprint: Footprint


class _Lines:
    """Lines by number, the last used at the end; found by their session, and by their first slice."""

    def __init__(self, limit: int, slices: int) -> None:
        self._limit = limit
        self._slices_limit = slices
        self._lines: dict[int, _Line] = {}
        self._next = 0
        self._slices = 0
        self._by_session: defaultdict[tuple[_Target, str], dict[int, None]] = defaultdict(dict)
        self._targets: defaultdict[str, dict[_Target, None]] = defaultdict(dict)
        # Who could share anything at all: lines of the same target that begin with the same slice.
        self._by_first: defaultdict[tuple[_Target, int], dict[int, None]] = defaultdict(dict)
        self._newest: dict[str, int] = {}  # session -> its last line on any target

    def footprint(self, number: int | None) -> Footprint | None:
        """The footprint of a line, if it is still remembered."""
        line = self._lines.get(number) if number is not None else None
        return line.footprint if line is not None else None

    def find_own(self, target: _Target, session: str, chain: Chain) -> int | None:
        """The line of the session that the request goes on from: of those that share its beginning or its first message, the one
        with the most in common, the newest of equals."""
        best: tuple[int, int, int] | None = None
        for number in self._by_session.get((target, session), ()) if session else ():
            footprint = self._lines[number].footprint
            shared = shared_length(footprint.chain.hashes, chain.hashes)
            if shared or _first_message(footprint.chain) == _first_message(chain) is not None:
                best = max(best or (0, 0, 0), (shared, footprint.sent_ms, number))
        return best[2] if best is not None else None

    def others(self, target: _Target, chain: Chain, own: int | None) -> list[Footprint]:
        """The newest other lines of the target that begin with the same slice."""
        numbers = self._by_first.get((target, chain.hashes[0]), {}) if chain.depth else {}
        newest = islice((number for number in reversed(numbers) if number != own), _CANDIDATES)
        return [self._lines[number].footprint for number in newest]

    def left(self, target: _Target, session: str) -> Footprint | None:
        """What the session sent last, if that went to another target."""
        line = self._lines.get(self._newest.get(session, -1)) if session else None
        return line.footprint if line is not None and line.target != target else None

    def of_session(self, session: str) -> dict[_Target, list[Footprint]]:
        """The lines of a session on each target."""
        found: dict[_Target, list[Footprint]] = {}
        for target in self._targets.get(session, ()) if session else ():
            numbers = self._by_session.get((target, session), ())
            found[target] = [self._lines[number].footprint for number in numbers]
        return found

    def put(self, target: _Target, session: str, footprint: Footprint) -> None:
        """Remembers the newest request of a line, in place of those whose warm part it covers. It is not kept itself if a later
        request has overtaken it."""
        for number in tuple(self._by_session.get((target, session), ())):
            other = self._lines[number].footprint
            shared = shared_length(other.chain.hashes, footprint.chain.hashes)
            if other.sent_ms > footprint.sent_ms and shared == footprint.chain.depth:
                return
            if other.sent_ms <= footprint.sent_ms and shared >= (other.last.position if other.last is not None else 1):
                self._drop(number)
        self.add(target, session, footprint)

    def add(self, target: _Target, session: str, footprint: Footprint) -> int:
        """Remembers a line; the number it is known by."""
        number = self._next
        self._next += 1
        self._lines[number] = _Line(target, session, footprint)
        self._slices += footprint.chain.depth
        mine = self._by_session[target, session]
        self._targets[session][target] = None
        mine[number] = None
        self._by_first[target, footprint.chain.hashes[0]][number] = None
        newest = self._lines.get(self._newest.get(session, -1))
        if newest is None or newest.footprint.sent_ms <= footprint.sent_ms:
            self._newest[session] = number
        if len(mine) > _LINES_OF_A_SESSION:
            self._drop(next(iter(mine)))
        while len(self._lines) > 1 and (len(self._lines) > self._limit or self._slices > self._slices_limit):
            self._drop(next(iter(self._lines)))
        return number

    def _drop(self, number: int) -> None:
        line = self._lines.pop(number)
        self._slices -= line.footprint.chain.depth
        _discard(self._by_session, (line.target, line.session), number)
        if (line.target, line.session) not in self._by_session:
            _discard(self._targets, line.session, line.target)
        _discard(self._by_first, (line.target, line.footprint.chain.hashes[0]), number)
        if self._newest.get(line.session) == number:
            del self._newest[line.session]


def _discard(index: defaultdict[Any, dict[Any, None]], key: Any, member: Any) -> None:
    found = index[key]
    found.pop(member, None)
    if not found:
        del index[key]


def _warm_tokens(footprint: Footprint, hashes: tuple[int, ...], now_ms: int) -> int:
    """The tokens up to the deepest stop that is warm and still stands in the prompt."""
    shared = shared_length(footprint.chain.hashes, hashes)
    warm = (stop.position for stop in footprint.stops if stop.position <= shared and stop.is_warm(now_ms))
    return footprint.tokens_at(max(warm, default=0))


def _first_message(chain: Chain) -> int | None:
    return chain.hashes[chain.harness] if chain.depth > chain.harness else None


def _turn(measures: Measures, head: int) -> int:
    """The position behind the message that opened the current turn; 0 if none did."""
    messages = measures.messages
    opened = next((index for index in range(len(messages) - 1, -1, -1) if messages[index].opens_turn), None)
    return head + opened + 1 if opened is not None else 0


def _blocks(conversation: Conversation, index: int) -> int:
    """The content blocks of a slice by its place in provider order."""
    head = len(conversation.tools) + len(conversation.system)
    return count_blocks(conversation.messages[index - head]) if index >= head else 1


def _recalled_footprint(record: PrefixRecord, chain: Chain) -> Footprint | None:
    """What was warm before the restart, if the request begins with the very slices."""
    depth = record.depth
    if not 0 < depth <= chain.depth or chain_digest(chain.hashes[:depth]) != record.chain:
        return None
    return Footprint(
        chain=Chain(
            hashes=chain.hashes[:depth],
            ends=chain.ends[:depth],
            tools=min(chain.tools, depth),
            system=max(0, min(chain.system, depth - chain.tools)),
            options=chain.options,
        ),
        sent_ms=record.used_ms,
        stops=(Stop(depth, record.used_ms, record.ttl_ms),),
        measured=(Measured(depth, record.tokens),),
        confirmed=bool(record.read or record.written),
    )


def _prefix_record(forecast: Forecast, footprint: Footprint, usage: Usage | None) -> PrefixRecord | None:
    last = footprint.last
    if last is None:
        return None
    return PrefixRecord(
        provider=forecast.provider,
        model=forecast.model,
        session=forecast.session,
        used_ms=last.used_ms,
        ttl_ms=last.ttl_ms,
        depth=last.position,
        chain=chain_digest(footprint.chain.hashes[: last.position]),
        tokens=footprint.tokens_at(last.position),
        read=usage.cache_read if usage is not None else None,
        written=usage.cache_write if usage is not None else None,
    )
