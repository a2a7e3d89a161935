"""A ratio that stays off: the estimator does not fit this model (planner specification, section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from .ratio import Bounds, Calibration

DriftCode = Literal["persistent-underestimate", "persistent-overestimate", "calibration-outliers"]
Severity = Literal["warning", "critical"]

_UNDER, _FAR_UNDER = 1.25, 1.6
_OVER, _FAR_OVER = 0.80, 0.625


class Drift(Struct, frozen=True, kw_only=True):
    """A warning without content: `samples` are those that speak for it, `ratio` is the median of the accepted, if any were."""

    code: DriftCode
    severity: Severity
    samples: int
    ratio: float | None


def find_drift(calibration: Calibration, bounds: Bounds, *, enabled: bool = True) -> Drift | None:
    """The warning that a calibration calls for; none without model awareness (`enabled`)."""
    if not enabled:
        return None
    ratio = calibration.median_ratio
    if calibration.calibrated and ratio is not None:
        if ratio >= _UNDER:
            return _persistent("persistent-underestimate", calibration, ratio, critical=ratio >= _FAR_UNDER)
        if ratio <= _OVER:
            return _persistent("persistent-overestimate", calibration, ratio, critical=ratio <= _FAR_OVER)
    unbelieved = calibration.outliers + calibration.hard_bound
    if unbelieved < bounds.minimum:
        return None
    return Drift(code="calibration-outliers", severity="warning", samples=unbelieved, ratio=ratio)


def _persistent(code: DriftCode, calibration: Calibration, ratio: float, *, critical: bool) -> Drift:
    severity: Severity = "critical" if critical else "warning"
    return Drift(code=code, severity=severity, samples=calibration.accepted, ratio=ratio)
