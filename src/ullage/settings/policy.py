"""From the settings' sections to what the core learns and draws limits by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import convert

from ullage.core.calibration import Bounds
from ullage.core.planning import Limits, Policy
from ullage.core.planning.request import Caps

if TYPE_CHECKING:
    from .records import Settings

_DAY_MS = 86_400_000


def make_policy(settings: Settings) -> Policy:
    """What the user set about models, calibration and planning, in the core's own record."""
    calibration = settings.calibration
    return Policy(
        limits=convert(settings.planning, Limits, from_attributes=True),
        bounds=Bounds(
            window=calibration.window,
            minimum=calibration.minimum_samples,
            lower=calibration.lower_bound,
            upper=calibration.upper_bound,
            half_life_ms=calibration.half_life_days * _DAY_MS,
        ),
        enabled=settings.models.enabled,
        method=calibration.method,
        auto_tune=calibration.auto_tune,
    )


def make_caps(settings: Settings) -> Caps:
    """The most that each category of a plan may take, whatever the model's window."""
    planning = settings.planning
    return Caps(
        recent_tail=planning.recent_tail_tokens,
        pinned=planning.max_pinned_tokens,
        memory=planning.max_memory_tokens,
        history=planning.max_retrieved_history_tokens,
        project=planning.max_project_tokens,
        summary=planning.max_summary_tokens,
    )
