"""What is known of a target at one moment: its profile, what usage taught, and the limits drawn from both.

One pure function for everybody: the engine calls it for a request, `ullage model` for a person who asks. The report is the
`modelAwareness` part of a manifest (planner specification, section 25.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, structs

from ullage.core.calibration import (
    AutoTune,
    Bounds,
    CacheShares,
    Calibration,
    Conversion,
    Drift,
    calibrate,
    convert_ratio,
    find_drift,
    report_auto_tune,
    report_cache_shares,
    report_calibration,
    report_conversion,
    report_drift,
    share_cache,
    tune,
)
from ullage.core.profiles import ModelProfile

from .budget import Budget, Limits, draw_budget
from .categories import Adaptive, Overrides, resolve_categories
from .report import report_adaptive, report_budget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage.core.calibration import Sample

Method = Literal["ratio-v1", "growth-v1"]

_SET_BUDGETS = ("recent_tail_tokens", "max_retrieved_history_tokens", "max_project_tokens")
"""Fields of a profile that overrides alone fill; `adaptive` reports them."""


class Policy(Struct, frozen=True, kw_only=True):
    """What the settings say of learning and limits. `enabled` off: no overrides, nothing learned, raw caps for history and
    project (planner specification, section 3.2)."""

    limits: Limits = Limits()
    bounds: Bounds = Bounds()
    enabled: bool = True
    method: Method = "growth-v1"
    auto_tune: bool = False


class Anchored(Struct, frozen=True, kw_only=True):
    """What `growth-v1` makes of a local estimate: learned from so many `pairs` of calls, and anchored on the last usage."""

    conversion: Conversion
    pairs: int


class Awareness(Struct, frozen=True, kw_only=True):
    """All that limits are drawn from, and the limits. Without a known window there is no `budget` and nothing `adaptive`.

    `estimator` is the one that local tokens are counted by, here and in the samples. `conversion` is the one that was applied;
    `anchored` is where that is from under `growth-v1`, `None` where it is the ratio's.
    """

    profile: ModelProfile
    policy: Policy
    estimator: str
    calibration: Calibration
    conversion: Conversion
    anchored: Anchored | None
    budget: Budget | None
    adaptive: Adaptive | None
    drift: Drift | None
    auto_tune: AutoTune
    cache_shares: CacheShares


def become_aware(
    profile: ModelProfile,
    samples: Sequence[Sample],
    policy: Policy,
    *,
    estimator: str | None = None,
    now_ms: int | None = None,
    anchored: Anchored | None = None,
    requested_output: int | None = None,
) -> Awareness:
    """Draws the limits of a target.

    `samples` are those of the profile's provider and model by `estimator`, which is the profile's own if not given, in any order;
    `profile` was resolved with the same `enabled`. `anchored` counts under `growth-v1` alone; a request without an anchor goes by
    the ratio of the samples, as under `ratio-v1`. `requested_output` are the tokens that a request lets its answer have;
    the target of `tune` is the model's own, without them.
    """
    enabled, bounds = policy.enabled, policy.bounds
    calibration = calibrate(samples, bounds, enabled=enabled, now_ms=now_ms)
    if policy.method != "growth-v1" or not enabled:
        anchored = None
    if anchored is not None:
        conversion, ratio = anchored.conversion, anchored.conversion.slope
    else:
        conversion, ratio = convert_ratio(calibration), calibration.applied_ratio
    budget = _budget(profile, policy, conversion, requested_output)
    own = budget if requested_output is None else _budget(profile, policy, conversion, None)
    auto_tune = tune(
        calibration,
        enabled=enabled and policy.auto_tune,
        target=own.nominal_preferred if own is not None else 0,
    )
    return Awareness(
        profile=profile,
        policy=policy,
        estimator=estimator or profile.token_estimator,
        calibration=calibration,
        conversion=conversion,
        anchored=anchored,
        budget=budget,
        adaptive=_adaptive(profile, policy, budget, ratio=ratio, factor=auto_tune.factor),
        drift=find_drift(calibration, bounds, enabled=enabled),
        auto_tune=auto_tune,
        cache_shares=share_cache(samples, bounds),
    )


def heed_output(awareness: Awareness, requested_output: int | None) -> Awareness:
    """The limits of the same target for a request that lets its answer have so many tokens, `None` if it does not say."""
    if requested_output is None:
        return awareness
    profile, policy = awareness.profile, awareness.policy
    anchored, calibration = awareness.anchored, awareness.calibration
    ratio = anchored.conversion.slope if anchored is not None else calibration.applied_ratio
    budget = _budget(profile, policy, awareness.conversion, requested_output)
    adaptive = _adaptive(profile, policy, budget, ratio=ratio, factor=awareness.auto_tune.factor)
    return structs.replace(awareness, budget=budget, adaptive=adaptive)


def report_awareness(awareness: Awareness, switch: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The awareness as plain JSON for records and screens: numbers and names, never content. `switch` is passed through."""
    calibration = report_calibration(
        awareness.calibration,
        awareness.policy.bounds,
        method=awareness.policy.method,
        estimator=awareness.estimator,
    )
    if awareness.anchored is not None:
        calibration |= report_conversion(awareness.anchored.conversion, pairs=awareness.anchored.pairs)
    return {
        "profile": report_profile(awareness.profile),
        "calibration": calibration,
        "budget": report_budget(awareness.budget) if awareness.budget is not None else None,
        "adaptive": report_adaptive(awareness.adaptive) if awareness.adaptive is not None else None,
        "drift": report_drift(awareness.drift),
        "auto_tune": report_auto_tune(awareness.auto_tune),
        "cache_shares": report_cache_shares(awareness.cache_shares),
        "switch": dict(switch) if switch is not None else None,
    }


def report_profile(profile: ModelProfile) -> dict[str, Any]:
    """The profile with where each field comes from; budgets that were set by hand are reported with the others, resolved."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(profile))
    return {name: value for name, value in plain.items() if name not in _SET_BUDGETS}


def _budget(
    profile: ModelProfile, policy: Policy, conversion: Conversion, requested_output: int | None
) -> Budget | None:
    if profile.context_window is None:
        return None
    return draw_budget(
        window=profile.context_window,
        max_input=profile.max_input_tokens,
        max_output=profile.max_output_tokens,
        safety_margin=profile.safety_margin_tokens,
        limits=policy.limits,
        conversion=conversion,
        requested_output=requested_output,
    )


def _adaptive(
    profile: ModelProfile, policy: Policy, budget: Budget | None, *, ratio: float, factor: float
) -> Adaptive | None:
    if budget is None:
        return None
    return resolve_categories(
        window=budget.context_window,
        limits=policy.limits,
        overrides=Overrides(
            recent_tail_tokens=profile.recent_tail_tokens,
            max_retrieved_history_tokens=profile.max_retrieved_history_tokens,
            max_project_tokens=profile.max_project_tokens,
        ),
        ratio=ratio,
        factor=factor,
        room=budget.active,
        enabled=policy.enabled,
    )
