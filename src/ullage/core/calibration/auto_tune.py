"""Whether automatic category budgets may grow by an eighth (planner specification, section 9). Off unless asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .rounding import round_ratio

if TYPE_CHECKING:
    from .ratio import Calibration

TuneStatus = Literal["disabled", "insufficient-samples", "expanded", "no-headroom"]

_FACTOR = 1.125
_LEAST_ACCEPTED = 8
_HEADROOM_SHARE = 0.6


class AutoTune(Struct, frozen=True, kw_only=True):
    """What was decided and on which grounds, in provider tokens.

    `factor` is what automatic budgets are multiplied by before the ratio divides them. `accepted` is how many samples were
    accepted, `high_watermark` the largest prompt of all valid ones, `target` what a plan would like to fill, and
    `watermark_share` how much of it that prompt took. While `disabled`, no sample is looked at: these are 0.
    """

    status: TuneStatus
    factor: float = 1.0
    accepted: int = 0
    high_watermark: int = 0
    watermark_share: float = 0.0
    target: int


def tune(calibration: Calibration, *, enabled: bool, target: int) -> AutoTune:
    """Grows budgets while no valid prompt of the window took more than 60 % of the target.

    `target` is the preferred input limit within the hard one, without calibration: `Budget.nominal_preferred`. `enabled` says
    that both model awareness and tuning are on.
    """
    if not enabled:
        return AutoTune(status="disabled", target=target)
    share = calibration.high_watermark / target if target > 0 else 0.0
    status = _judge(calibration, share, target)
    return AutoTune(
        status=status,
        factor=_FACTOR if status == "expanded" else 1.0,
        accepted=calibration.accepted,
        high_watermark=calibration.high_watermark,
        watermark_share=round_ratio(share),
        target=target,
    )


def _judge(calibration: Calibration, share: float, target: int) -> TuneStatus:
    if not calibration.calibrated or calibration.accepted < _LEAST_ACCEPTED:
        return "insufficient-samples"
    return "expanded" if target > 0 and share <= _HEADROOM_SHARE else "no-headroom"
