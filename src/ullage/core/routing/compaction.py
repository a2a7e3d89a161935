"""Who writes the summary of a conversation for the least: the session's own model may, whose cache has read it already.

Routing specification, section 22.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from .cache_terms import token_prices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .filtering import Candidate
    from .pricing import Price

SUMMARY_TOKENS = 4_096
"""What a summary is taken to be long (the figure of section 22)."""
RESERVE_TOKENS = 16_384
"""Room for it where the client does not say how long it may be: what Pi keeps."""

_MILLION = 1_000_000


class Summarizer(Struct, frozen=True, kw_only=True):
    """A target that has room for the conversation and its summary, and what that costs there in USD; `None` where no price is
    known. `warm` are the tokens that its cache holds."""

    target: str
    usd: float | None
    warm: int


def summary_usd(price: Price, *, tokens: int, warm: int = 0, output: int = SUMMARY_TOKENS) -> float | None:
    """What a summary of so many tokens costs, `warm` of which the target's cache holds: those are read, the others are input."""
    prices = token_prices(price, tokens)
    if prices is None:
        return None
    held = min(warm, tokens)
    cost = held * prices.cache_read + (tokens - held) * prices.input + output * prices.output
    return cost / _MILLION


def rank_summarizers(
    candidates: Iterable[Candidate], *, tokens: int, reserve: int | None = None, warm: Mapping[str, int]
) -> tuple[Summarizer, ...]:
    """Those with room for the conversation and its summary, the cheapest first; those that no price is known of come last.

    `reserve` is how long the client lets the summary be. `warm` has the tokens that each target's cache holds.
    """
    found = [
        Summarizer(
            target=one.target,
            usd=summary_usd(one.price, tokens=tokens, warm=warm.get(one.target, 0)),
            warm=min(warm.get(one.target, 0), tokens),
        )
        for one in candidates
        if _has_room(one, tokens, RESERVE_TOKENS if reserve is None else reserve)
    ]
    return tuple(sorted(found, key=lambda one: (inf if one.usd is None else one.usd, -one.warm, one.target)))


def tell_summary(ranked: tuple[Summarizer, ...]) -> str:
    """Why the first one writes it."""
    first, *others = ranked
    told = f"summary {_usd(first)}" + (f", {first.warm:,} tokens from its cache" if first.warm else "")
    return f"{told}; {_usd(others[0])} at {others[0].target}" if others else told


def _has_room(candidate: Candidate, tokens: int, reserve: int) -> bool:
    window, most = candidate.model.context_window, candidate.model.max_output_tokens
    return window is None or window > tokens + min(reserve if most is None else most, reserve)


def _usd(one: Summarizer) -> str:
    return "at an unknown price" if one.usd is None else f"${one.usd:.4f}"
