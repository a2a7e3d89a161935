"""What is left of a provider's allowance: counters of ours, its own headers, and refusals that hold for all of it."""

from .headers import Reading, read_headers
from .refusals import Refusal, read_refusal
from .view import (
    NO_RULES,
    Observed,
    QuotaLimits,
    QuotaRules,
    QuotaView,
    Tally,
    count_call,
    start_window,
    view_quota,
)

__all__ = [
    "NO_RULES",
    "Observed",
    "QuotaLimits",
    "QuotaRules",
    "QuotaView",
    "Reading",
    "Refusal",
    "Tally",
    "count_call",
    "read_headers",
    "read_refusal",
    "start_window",
    "view_quota",
]
