"""What a prompt cache makes of staying and leaving (routing specification, section 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.profiles.pricing import prices_at
from ullage.core.spend.horizon import DEFAULT_CALLS, Horizon, total_usd
from ullage.core.spend.prices import CallPrices

if TYPE_CHECKING:
    from .pricing import Price
    from .task import TaskProfile

CacheModel = Literal["horizon", "v1"]
"""`horizon` prices all calls that a task has left (12.4); `v1` prices one request and adds a bonus or a tax (12.1)."""

SHORT_CALLS = 4
"""Calls of a task that only explains or reviews (section 12.4)."""
_SHORT_KINDS = frozenset({"explain", "review"})
_MIXED = "mixed"
_MOST = 0.08
_PER_USD = 10
_MILLION = 1_000_000


class Habits(Struct, frozen=True, kw_only=True):
    """What the calls of a task are like, in tokens: an answer, the growth per call (the figures of section 12.4). `calls` is the
    median of past tasks of the same kinds, `None` where none is known, `made` those that were made already."""

    output: int = 800
    growth: int = 1_500
    calls: int | None = None
    made: int = 0


def calls_left(task: TaskProfile, habits: Habits) -> int:
    """The calls that a task has left, the next one among them: at least 1."""
    kinds = {kind for kind in task.kinds if kind != _MIXED}
    usual = SHORT_CALLS if kinds and kinds <= _SHORT_KINDS else DEFAULT_CALLS
    return max(1, (habits.calls or usual) - habits.made)


def token_prices(price: Price, prompt_tokens: int) -> CallPrices | None:
    """The four prices by which targets are compared, with a coefficient; `None` where input or output have none.

    A cache that has no price is billed as input: nobody says that it is cheaper (section 12.1).
    """
    listed = prices_at(price.prices, prompt_tokens)
    if listed.input is None or listed.output is None:
        return None
    scale = price.coefficient
    return CallPrices(
        input=scale * listed.input,
        output=scale * listed.output,
        cache_read=scale * (listed.input if listed.cache_read is None else listed.cache_read),
        cache_write=scale * (listed.input if listed.cache_write is None else listed.cache_write),
    )


def horizon_usd(prices: CallPrices, *, context: int, warm: int, fresh: int, calls: int, habits: Habits) -> float:
    """All that the rest of a task costs at a target that holds `warm` tokens of the context."""
    return total_usd(
        Horizon(
            context=context,
            warm=min(warm, context),
            fresh=fresh,
            output=habits.output,
            growth=habits.growth,
            calls=calls,
        ),
        prices,
    )


def stay_bonus(current: CallPrices, cheapest_input: float, context: int) -> float:
    """`v1`: what is added to the current target's utility for the context that it need not read anew."""
    saved = max(0.0, cheapest_input - current.cache_read) * context / _MILLION
    return min(_MOST, _PER_USD * saved)


def switch_tax(other: CallPrices, context: int) -> float:
    """`v1`: what is taken from the utility of a target of no higher tier than the current one, for writing its cache."""
    tax = max(0.0, other.cache_write - other.input) * context / _MILLION
    return min(_MOST, _PER_USD * tax)
