"""What is learned from usage: samples accepted or refused, the ratio and the law that they yield, and what follows from them."""

from .auto_tune import AutoTune, TuneStatus, tune
from .cache_shares import CacheShares, share_cache
from .conversion import IDENTITY, Conversion, convert_growth, convert_ratio
from .course import Course, Refused, Step, Verdict, draw_course, follow_ratio, report_course
from .drift import Drift, DriftCode, Severity, find_drift
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
from .ratio import RATIO_METHOD, Bounds, Calibration, Sample, calibrate, newest
from .refusals import Refusal, refuse
from .report import (
    report_auto_tune,
    report_cache_shares,
    report_calibration,
    report_conversion,
    report_drift,
)
from .rounding import round_ratio
from .samples import Addition, Replay, Trap, addition_after, dropped_reasoning

__all__ = [
    "IDENTITY",
    "METHOD",
    "RATIO_METHOD",
    "TUNING",
    "Addition",
    "AutoTune",
    "Bounds",
    "CacheShares",
    "Calibration",
    "Conversion",
    "Course",
    "Drift",
    "DriftCode",
    "Expectation",
    "GrowthState",
    "Key",
    "Law",
    "Pair",
    "Refusal",
    "Refused",
    "Replay",
    "Sample",
    "Severity",
    "Step",
    "Trap",
    "TuneStatus",
    "Tuning",
    "Verdict",
    "addition_after",
    "calibrate",
    "convert_growth",
    "convert_ratio",
    "draw_course",
    "dropped_reasoning",
    "expect",
    "find_drift",
    "find_trap",
    "follow_ratio",
    "learn",
    "newest",
    "pair_of",
    "refuse",
    "report_auto_tune",
    "report_cache_shares",
    "report_calibration",
    "report_conversion",
    "report_course",
    "report_drift",
    "round_ratio",
    "share_cache",
    "start_growth",
    "take_pairs",
    "tune",
]
