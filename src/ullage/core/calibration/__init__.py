"""What is learned from usage: samples accepted or refused, and the law that they draw away from the family's prior."""

from .growth import (
    METHOD,
    TUNING,
    Expectation,
    GrowthState,
    Law,
    Pair,
    Tuning,
    expect,
    find_trap,
    learn,
    pair_of,
    start_growth,
    take_pairs,
)
from .keys import Key
from .samples import Addition, Replay, Trap, addition_after, dropped_reasoning

__all__ = [
    "METHOD",
    "TUNING",
    "Addition",
    "Expectation",
    "GrowthState",
    "Key",
    "Law",
    "Pair",
    "Replay",
    "Trap",
    "Tuning",
    "addition_after",
    "dropped_reasoning",
    "expect",
    "find_trap",
    "learn",
    "pair_of",
    "start_growth",
    "take_pairs",
]
