"""Money: what calls cost, what those ahead will cost, and what may be spent."""

from .horizon import DEFAULT_CALLS, Horizon, first_usd, later_usd, total_usd
from .ledger import NO_LIMITS, ProviderLimits, Spend, SpendAttempt, SpendLimits, SpendTotal, Verdict
from .prices import CAREFUL_READ_RATIO, CallPrices, call_prices

__all__ = [
    "CAREFUL_READ_RATIO",
    "DEFAULT_CALLS",
    "NO_LIMITS",
    "CallPrices",
    "Horizon",
    "ProviderLimits",
    "Spend",
    "SpendAttempt",
    "SpendLimits",
    "SpendTotal",
    "Verdict",
    "call_prices",
    "first_usd",
    "later_usd",
    "total_usd",
]
