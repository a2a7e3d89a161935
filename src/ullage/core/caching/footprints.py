"""What one request left in the cache of its provider."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ullage.core.accounting.measured import CACHE_SLACK_TOKENS

from .chains import Chain, shared_length

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.profiles.cache_rules import CacheRule

STOPS_KEPT = 64
"""Stops of one footprint: those of earlier marks live on, but no conversation needs more of them."""


class Stop(Struct, frozen=True, gc=False):
    """A place up to which the provider holds the prompt, last used at `used_ms` and held for `ttl_ms` from then."""

    position: int
    used_ms: int
    ttl_ms: int

    def is_warm(self, now_ms: int) -> bool:
        """Whether it is still held: idle for exactly its time is warm, a moment longer is cold (routing specification, 12.3)."""
        return now_ms - self.used_ms <= self.ttl_ms


class Measured(NamedTuple):
    """A place where the provider has told how many tokens the prompt has up to it."""

    position: int
    tokens: int


class Footprint(Struct, frozen=True, kw_only=True, gc=False):
    """The newest request of one line of a session, and what of it is warm.

    `stops` and `measured` go upward by position. `confirmed` says that the provider has reported cached tokens of this line.
    """

    chain: Chain
    sent_ms: int
    stops: tuple[Stop, ...]
    measured: tuple[Measured, ...] = ()
    confirmed: bool = False

    @property
    def last(self) -> Stop | None:
        """The deepest stop."""
        return self.stops[-1] if self.stops else None

    def tokens_at(self, position: int) -> int:
        """The provider's tokens of the prefix at `position`: between two places that it has told, our own tokens share out the
        difference; behind the last of them they are taken as they are."""
        before, after = self._around(position)
        own = self.chain.tokens_to(position) - self.chain.tokens_to(before.position)
        if after is None:
            return before.tokens + own
        span = self.chain.tokens_to(after.position) - self.chain.tokens_to(before.position)
        return before.tokens + ((after.tokens - before.tokens) * own // span if span else 0)

    def distance(self, position: int) -> int:
        """Tokens between the prefix at `position` and the nearest place that the provider has told; 0 at such a place."""
        before, after = self._around(position)
        tokens = self.tokens_at(position)
        behind = tokens - before.tokens
        return behind if after is None else min(behind, after.tokens - tokens)

    def _around(self, position: int) -> tuple[Measured, Measured | None]:
        index = bisect_left(self.measured, position, key=lambda place: place.position)
        after = self.measured[index] if index < len(self.measured) else None
        if after is not None and after.position == position:
            return after, after
        return (self.measured[index - 1] if index else Measured(0, 0)), after


def is_read(tokens: int, read: int) -> bool:
    """Whether a prefix of so many tokens was read, if the provider reported `read`.

    A hit may lie a little below: providers read whole blocks and leave out the last one. Of 1,494 recorded steps from one call to
    the next, every hit lay at most 1.2 % or 1,254 tokens below what was held, every miss at least 13 % and 5,900 tokens
    (docs/how-to/prompt-cache.md). So by 2,048 tokens or 2 %, and of a short prefix by a half.
    """
    return tokens - read <= min(max(CACHE_SLACK_TOKENS, tokens // 50), tokens // 2)


def leave(
    rule: CacheRule,
    chain: Chain,
    usage: Usage | None,
    *,
    sent_ms: int,
    ended_ms: int,
    before: Footprint | None = None,
    found: int = 0,
) -> Footprint:
    """What a request leaves behind once its answer has ended, or has at least begun (`usage` is `None` then).

    `before` is the footprint of the line that it goes on from: what of it still stands in the new prompt lives on. `found` is the
    position that was expected to be read: a hit makes it young again, and what was expected but not read was cold.
    """
    shared = shared_length(before.chain.hashes, chain.hashes) if before is not None else 0
    read = usage.cache_read if usage is not None else None
    kept = _kept_stops(before, shared, found, read, ended_ms) if before is not None else []
    new = _new_stops(rule, chain, usage, ended_ms)
    by_position = {stop.position: stop for stop in (*kept, *new) if stop.is_warm(ended_ms)}
    stops = sorted(by_position.values(), key=lambda stop: stop.position)
    if rule.kind == "automatic" and rule.reach == "anywhere":
        stops = stops[-1:]
    return Footprint(
        chain=chain,
        sent_ms=sent_ms,
        stops=tuple(stops[-STOPS_KEPT:]),
        measured=_measured(rule, chain, usage, before, shared),
        confirmed=bool(read or (usage is not None and usage.cache_write)) or (before is not None and before.confirmed),
    )


def _kept_stops(before: Footprint, shared: int, found: int, read: int | None, ended_ms: int) -> list[Stop]:
    kept = [stop for stop in before.stops if stop.position <= shared]
    if read is not None:
        kept = [stop for stop in kept if stop.position > found or is_read(before.tokens_at(stop.position), read)]
    return [Stop(found, ended_ms, stop.ttl_ms) if read and stop.position == found else stop for stop in kept]


def _new_stops(rule: CacheRule, chain: Chain, usage: Usage | None, ended_ms: int) -> list[Stop]:
    if rule.kind == "automatic":
        return [Stop(chain.depth, ended_ms, rule.lifetime_ms(long=chain.long))]
    if usage is not None and usage.cache_read == 0 and usage.cache_write == 0:
        return []  # the provider holds nothing: the prompt was too short, or it heeds no marks
    return [Stop(mark.position, ended_ms, rule.lifetime_ms(long=mark.long)) for mark in chain.marks]


def _measured(
    rule: CacheRule, chain: Chain, usage: Usage | None, before: Footprint | None, shared: int
) -> tuple[Measured, ...]:
    """The places told so far that still stand in the prompt, and those that this usage tells."""
    told = _told(rule, chain, usage)
    first = told[0] if told else Measured(chain.depth + 1, 1 << 62)
    kept = before.measured if before is not None else ()
    known = [
        place for place in kept if place.position <= min(shared, first.position - 1) and place.tokens < first.tokens
    ]
    return (*known, *told)


def _told(rule: CacheRule, chain: Chain, usage: Usage | None) -> list[Measured]:
    prompt = usage.prompt if usage is not None else None
    if usage is None or not prompt:
        return []
    places = [Measured(chain.depth, prompt)]
    held = (usage.cache_read or 0) + (usage.cache_write or 0)
    # What is read and written together ends at the last mark; where that is the end of the prompt, the rest is framing.
    if rule.kind == "marks" and chain.marks and 0 < held < prompt:
        last = chain.marks[-1].position
        places = [Measured(last, held), *(places if last < chain.depth else [])]
    return places
