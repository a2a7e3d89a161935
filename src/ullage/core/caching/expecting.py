"""What of a request its provider should read from its cache, before the answer tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct

from .chains import Place, shared_length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.profiles.cache_rules import CacheRule

    from .chains import Chain
    from .footprints import Footprint

Disposition = Literal["eligible", "cold_first", "cold_model_switch", "cold_expired", "unknown"]
"""`eligible`: something is warm, or was a moment ago. `cold_…`: nothing is, and why. `unknown`: it cannot be told."""

Cause = Literal[
    "system_changed",
    "tools_changed",
    "tools_reordered",
    "message_changed",
    "history_replaced",
    "options_changed",
    "mark_missing",
    "look_back",
    "below_minimum",
    "expired",
    "model_switch",
    "reasoning_dropped",
    "evicted",
    "not_shared",
    "not_reported",
]
"""Why less was read than the line's last request had left: docs/how-to/prompt-cache.md explains each."""

ESTIMATE_ERROR = 0.2
"""Share of the tokens between a place and the nearest one that the provider has told, by which an expectation may be off: twice
the relative error of the widest family whose vocabulary is known (core.profiles.families)."""


class Expectation(Struct, frozen=True, kw_only=True, gc=False):
    """What should be read, in the provider's tokens.

    `tokens` is `None` where it cannot be told; `error_tokens` is how far it may be off. `position` is the prefix that should be
    read, `own` whether it is this line's own and not another session's. `held_tokens` is what the line's last request left in the
    cache, warm or not; `cause` says why less than that is expected, `place` which slice changed first. `turn_tokens` is what is
    read if the model drops the reasoning of the turn before, now that another one has opened. `age_ms` is the idle time of what
    is looked at, `ttl_ms` how long it is held.
    """

    disposition: Disposition
    tokens: int | None = 0
    error_tokens: int = 0
    position: int = 0
    own: bool = False
    held_tokens: int = 0
    cause: Cause | None = None
    place: Place | None = None
    turn_tokens: int | None = None
    age_ms: int | None = None
    ttl_ms: int | None = None


class _Find(NamedTuple):
    """The deepest warm prefix of one footprint; `raw` are its tokens before steps and minimum."""

    tokens: int = 0
    raw: int = 0
    error: int = 0
    position: int = 0


_NOTHING = _Find()


def expect(
    rule: CacheRule,
    chain: Chain,
    *,
    now_ms: int,
    own: Footprint | None = None,
    others: Sequence[Footprint] = (),
    left: Footprint | None = None,
    minimum_tokens: int | None = None,
    drops_reasoning: bool = False,
    blocks_of: Callable[[int], int] = lambda _: 1,
) -> Expectation:
    """What should be read of a request that is sent now.

    `own` is the footprint of the line that the request goes on from, `others` are those of other lines and sessions of the same
    target, `left` is the newest one of the session on another target, if that was its last. `minimum_tokens` goes before the
    rule's. `drops_reasoning` says that the model drops the reasoning of earlier turns, so that what followed it is lost.
    `blocks_of` tells how many content blocks a slice has, by its index; it is asked for few slices, from marks backwards.
    """
    ask = _Ask(rule, chain, now_ms, rule.minimum_tokens if minimum_tokens is None else minimum_tokens, blocks_of)
    found = [(ask.find(footprint), footprint) for footprint in ((own, *others) if own is not None else others)]
    best, source = max(found, key=lambda pair: pair[0].tokens, default=(_NOTHING, None))
    if not rule.sure and source is not None and not any(footprint.confirmed for _, footprint in found):
        return Expectation(disposition="unknown", tokens=None)
    if own is None:
        return _without_line(best, source, ask, left)
    last = own.last
    cause, place = _cause(ask, own, best)
    looked_at = (source.last if source is not None and best.tokens else None) or last
    return Expectation(
        disposition=_disposition(own, best, now_ms),
        tokens=best.tokens,
        error_tokens=best.error,
        position=best.position,
        own=source is own,
        held_tokens=own.tokens_at(last.position) if last is not None else 0,
        cause=cause,
        place=place,
        turn_tokens=own.tokens_at(own.chain.turn) if drops_reasoning and chain.turn > own.chain.turn > 0 else None,
        age_ms=now_ms - looked_at.used_ms if looked_at is not None else None,
        ttl_ms=looked_at.ttl_ms if looked_at is not None else None,
    )


def _without_line(best: _Find, source: Footprint | None, ask: _Ask, left: Footprint | None) -> Expectation:
    last = source.last if source is not None and best.tokens else None
    switched = left is not None
    cold: Disposition = "cold_model_switch" if switched else "cold_first"
    return Expectation(
        disposition="eligible" if best.tokens else cold,
        tokens=best.tokens,
        error_tokens=best.error,
        position=best.position,
        held_tokens=ask.chain.tokens_to(shared_length(left.chain.hashes, ask.chain.hashes)) if left is not None else 0,
        cause="model_switch" if switched else None,
        age_ms=ask.now_ms - last.used_ms if last is not None else None,
        ttl_ms=last.ttl_ms if last is not None else None,
    )


def _disposition(own: Footprint, best: _Find, now_ms: int) -> Disposition:
    if best.tokens or own.last is None or own.last.is_warm(now_ms):
        return "eligible"
    return "cold_expired"


class _Ask(NamedTuple):
    rule: CacheRule
    chain: Chain
    now_ms: int
    minimum: int
    blocks_of: Callable[[int], int]

    def find(self, footprint: Footprint) -> _Find:
        """The deepest prefix that this footprint keeps warm and the request can reach."""
        shared = self.usable(footprint)
        if self.rule.kind == "automatic" and self.rule.reach == "anywhere":
            last = footprint.last
            position = shared if last is not None and last.is_warm(self.now_ms) else 0
        else:
            stops = [stop.position for stop in footprint.stops if stop.position <= shared and stop.is_warm(self.now_ms)]
            position = max(filter(self.reaches, stops), default=0)
        raw = footprint.tokens_at(position) if position else 0
        whole = raw // self.rule.block_tokens * self.rule.block_tokens
        if whole < self.minimum or not whole:
            return _Find(raw=raw, position=position)
        return _Find(whole, raw, int(ESTIMATE_ERROR * footprint.distance(position)), position)

    def usable(self, footprint: Footprint) -> int:
        """How many leading slices both have, as far as the provider can use them."""
        chain, old = self.chain, footprint.chain
        shared = shared_length(old.hashes, chain.hashes)
        if chain.options != old.options:
            shared = min(shared, chain.harness)
        if not self.rule.tools_first and shared < max(chain.harness, old.harness):
            return 0
        return shared

    def reaches(self, position: int) -> bool:
        """Whether a mark of the request finds what is held at `position`."""
        if self.rule.kind == "automatic":
            return True
        return any(self.looks_back(mark.position, position) for mark in self.chain.marks)

    def looks_back(self, mark: int, position: int) -> bool:
        """Whether the mark stands at `position`, or fewer content blocks behind it than it looks back over."""
        if mark < position:
            return False
        between = 0
        for index in range(mark - 1, position - 1, -1):
            between += self.blocks_of(index)
            if between >= self.rule.look_back_blocks:
                return False
        return True


def _cause(ask: _Ask, own: Footprint, best: _Find) -> tuple[Cause | None, Place | None]:
    """Why the request should read less than the line's last one left; `None` if it should read all."""
    last = own.last
    if last is None:
        return None, None
    if not last.is_warm(ask.now_ms):
        return "expired", None
    if ask.usable(own) < last.position:
        return find_change(own.chain, ask.chain)
    if best.position < last.position:
        behind = any(mark.position >= last.position for mark in ask.chain.marks)
        return ("look_back" if behind else "mark_missing"), None
    return ("below_minimum" if not best.tokens else None), None


def find_change(old: Chain, new: Chain) -> tuple[Cause, Place | None]:
    """What changed first between two requests of a line, and where.

    A message counts as changed if something that came behind it still does: then the client rewrote the middle. Otherwise the
    history was replaced from there on: a summary, another branch, or another conversation.
    """
    first = shared_length(old.hashes, new.hashes)
    tools = max(old.tools, new.tools)
    if first < tools:
        same = sorted(old.hashes[: old.tools]) == sorted(new.hashes[: new.tools])
        return ("tools_reordered" if same else "tools_changed"), Place("tool", first)
    if first < max(old.harness, new.harness):
        return "system_changed", Place("system", first - tools)
    place = Place("message", first - new.harness)
    if old.options != new.options:
        return "options_changed", None
    stands_again = not set(old.hashes[first:]).isdisjoint(new.hashes[first:])
    if stands_again and 2 * new.tokens >= old.tokens:
        return "message_changed", place
    return "history_replaced", place
