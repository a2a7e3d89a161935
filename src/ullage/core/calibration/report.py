"""What was learned as plain JSON, for manifests and screens: numbers and names, never content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from .rounding import round_ratio

if TYPE_CHECKING:
    from .auto_tune import AutoTune
    from .cache_shares import CacheShares
    from .conversion import Conversion
    from .drift import Drift
    from .ratio import Bounds, Calibration


def report_calibration(calibration: Calibration, bounds: Bounds, *, method: str, estimator: str) -> dict[str, Any]:
    """Samples, bounds and ratio. `hard_bound` is left out when no ratio lay outside the bounds (section 7.2)."""
    plain = {
        "method": method,
        "estimator": estimator,
        "window": bounds.window,
        "minimum_samples": bounds.minimum,
        "lower_bound": bounds.lower,
        "upper_bound": bounds.upper,
        "observed": calibration.observed,
        "accepted": calibration.accepted,
        "rejected": calibration.rejected,
        "outliers": calibration.outliers,
        "hard_bound": calibration.hard_bound,
        "median_ratio": calibration.median_ratio,
        "applied_ratio": calibration.applied_ratio,
        "calibrated": calibration.calibrated,
    }
    if not calibration.hard_bound:
        del plain["hard_bound"]
    return plain


def report_conversion(conversion: Conversion, *, pairs: int) -> dict[str, Any]:
    """What `growth-v1` adds to the report of a calibration: its line, and from how many pairs of calls it was learned."""
    return {"offset": round_ratio(conversion.offset), "slope": round_ratio(conversion.slope), "pairs": pairs}


def report_drift(drift: Drift | None) -> dict[str, Any] | None:
    """Code, severity, samples and ratio; `None` where nothing drifts."""
    return None if drift is None else asdict(drift)


def report_auto_tune(auto_tune: AutoTune) -> dict[str, Any]:
    """The decision with its grounds."""
    return asdict(auto_tune)


def report_cache_shares(shares: CacheShares) -> dict[str, Any]:
    """Sums and shares of the window."""
    return asdict(shares)
