"""Warm prefixes: what of a request its provider should read from its cache, and why it did not (design.md 6 and 7)."""

from .chains import Chain, Mark, Place, chain_digest, make_chain, shared_length
from .checking import KNOWN_CAUSES, Miss, check, miss_cost_usd, report_cache, report_miss
from .expecting import Cause, Disposition, Expectation, expect, find_change
from .footprints import Footprint, Measured, Stop, is_read, leave
from .requests import chain_of, count_blocks, is_whole

__all__ = [
    "KNOWN_CAUSES",
    "Cause",
    "Chain",
    "Disposition",
    "Expectation",
    "Footprint",
    "Mark",
    "Measured",
    "Miss",
    "Place",
    "Stop",
    "chain_digest",
    "chain_of",
    "check",
    "count_blocks",
    "expect",
    "find_change",
    "is_read",
    "is_whole",
    "leave",
    "make_chain",
    "miss_cost_usd",
    "report_cache",
    "report_miss",
    "shared_length",
]
