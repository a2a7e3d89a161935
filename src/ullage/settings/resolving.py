"""Profiles of models by what the user set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.profiles import resolve_profile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.profiles import Layer, ModelProfile

    from .records import Settings


def growth_estimator(settings: Settings) -> str | None:
    """What plans are counted by under `growth-v1`: the account's own estimator, since the law is learned by it; `None` under
    another method."""
    return settings.accounting.estimator if settings.calibration.method == "growth-v1" else None


def resolve_by(
    settings: Settings, provider: str, model: str, *, dialect: str | None = None, layers: Iterable[Layer] = ()
) -> ModelProfile:
    """The profile of a model by the settings; `layers` are what is published of it."""
    return resolve_profile(
        provider,
        model,
        dialect=dialect,
        layers=layers,
        overrides=settings.models.overrides,
        enabled=settings.models.enabled,
        estimator=settings.calibration.estimator,
        growth_estimator=growth_estimator(settings),
    )
