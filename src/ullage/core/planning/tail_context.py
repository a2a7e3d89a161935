"""What a choice of the tail goes by beside the request: what its target asks for tokens, and for how long it holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.profiles import Prices
from ullage.core.profiles.cache_rules import find_cache_rule
from ullage.core.spend import call_prices

from .tail_records import TailContext, TailPolicy

if TYPE_CHECKING:
    from ullage.core.wire import Conversation

    from .awareness import Awareness

# How a request asks for the longer time to live, where its provider has one.
_LONG = b'"1h"'


class TailTerms(Struct, frozen=True, kw_only=True):
    """How a tail is to be chosen, and for whom. `cache_share` is the part of all prompts of the target that was read from its
    cache, over so many `samples`."""

    policy: TailPolicy
    provider: str | None
    model: str | None
    prices: Prices | None = None
    cache_share: float | None = None
    samples: int = 0


def draw_terms(awareness: Awareness, policy: TailPolicy) -> TailTerms:
    """The terms of a target by what is known of it."""
    profile, shares = awareness.profile, awareness.cache_shares
    return TailTerms(
        policy=policy,
        provider=profile.provider,
        model=profile.model,
        prices=profile.prices,
        cache_share=shares.read_share if shares.total else None,
        samples=awareness.calibration.observed,
    )


def make_context(
    conversation: Conversation, terms: TailTerms, hashes: tuple[int, ...], *, now_ms: int = 0
) -> TailContext:
    """The context of a choice at `now_ms` (epoch). `hashes` are the canonical ones of the messages."""
    rule = find_cache_rule(terms.provider, terms.model)
    long = _asks_long(conversation)
    return TailContext(
        hashes=hashes,
        prices=call_prices(terms.prices, rule, long=long),
        target=f"{terms.provider}/{terms.model}",
        now_ms=now_ms,
        ttl_ms=rule.lifetime_ms(long=long),
        cache_share=terms.cache_share,
        samples=terms.samples,
    )


def _asks_long(conversation: Conversation) -> bool:
    """Whether the request has its prefix held for the longer time: clients mark prompt, tools and their newest messages."""
    pieces = (*conversation.system, *conversation.tools[-1:], *conversation.messages[-3:])
    return any(_LONG in piece.raw for piece in pieces)
