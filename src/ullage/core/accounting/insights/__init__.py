"""What a person can act on beyond sections: growth, repeated and outdated content, the cache, compactions."""

from .blocks import Block
from .caching import CachedCall, CacheLoss, CacheMark, CacheRow, Caching, Harness, find_caching, measured_harness_rows
from .compaction import Clearing, Compacted, Dropped, Moment, Sent, find_clearings, find_compactions
from .growth import KEEP_CALLS, GrowthCall, GrowthTurn, Piece, find_growth, sum_turns
from .insights import (
    Insights,
    find_insight_notices,
    largest_growth,
    next_call,
    report_insights,
    sections_by_kind,
)
from .marks import find_marks, marks_on
from .panel import render_insights
from .repeats import Duplicate, Outdated, Repeats, find_repeats
from .reported import (
    ReportedCall,
    find_reported_caching,
    find_reported_compactions,
    find_reported_growth,
)
from .timeline import SECTIONS, CallAccount, Prelude, Timeline, TimelineCall, account_calls

__all__ = [
    "KEEP_CALLS",
    "SECTIONS",
    "Block",
    "CacheLoss",
    "CacheMark",
    "CacheRow",
    "CachedCall",
    "Caching",
    "CallAccount",
    "Clearing",
    "Compacted",
    "Dropped",
    "Duplicate",
    "GrowthCall",
    "GrowthTurn",
    "Harness",
    "Insights",
    "Moment",
    "Outdated",
    "Piece",
    "Prelude",
    "Repeats",
    "ReportedCall",
    "Sent",
    "Timeline",
    "TimelineCall",
    "account_calls",
    "find_caching",
    "find_clearings",
    "find_compactions",
    "find_growth",
    "find_insight_notices",
    "find_marks",
    "find_repeats",
    "find_reported_caching",
    "find_reported_compactions",
    "find_reported_growth",
    "largest_growth",
    "marks_on",
    "measured_harness_rows",
    "next_call",
    "render_insights",
    "report_insights",
    "sections_by_kind",
    "sum_turns",
]
