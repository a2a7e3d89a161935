"""Money: what calls cost, and what those ahead will cost, in USD."""

from .horizon import DEFAULT_CALLS, Horizon, first_usd, later_usd, total_usd
from .prices import CAREFUL_READ_RATIO, CallPrices, call_prices

__all__ = [
    "CAREFUL_READ_RATIO",
    "DEFAULT_CALLS",
    "CallPrices",
    "Horizon",
    "call_prices",
    "first_usd",
    "later_usd",
    "total_usd",
]
