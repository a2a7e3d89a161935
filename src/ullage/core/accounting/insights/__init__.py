"""What a person can act on beyond sections: growth, repeated and outdated content, the cache, compactions."""

from .growth import KEEP_CALLS, GrowthCall, GrowthTurn, Piece, find_growth, sum_turns
from .timeline import CallAccount, Prelude, Timeline, TimelineCall, account_calls

__all__ = [
    "KEEP_CALLS",
    "CallAccount",
    "GrowthCall",
    "GrowthTurn",
    "Piece",
    "Prelude",
    "Timeline",
    "TimelineCall",
    "account_calls",
    "find_growth",
    "sum_turns",
]
