"""The models that calls went to, and those that the settings name: whom `ullage route` weighs without a file of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.routing.knowing import prepare_known
from ullage.core.routing.models import ModelRecord
from ullage.settings import load_settings

from .model_knowledge import open_knowledge
from .records import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig

    from .model_knowledge import Target


def find_candidates(config: RouteConfig) -> tuple[Candidate, ...]:
    """Every model that was called lately or has settings of its own, as the catalogues and the settings know it."""
    known = open_knowledge(None, now_ms=now_ms())
    targets = dict.fromkeys((*known.seen(), *_named()))
    return tuple(
        prepare_known(ModelRecord(provider=target[0], id=target[1]), known.learned(*target).awareness.profile, config)
        for target in targets
    )


def _named() -> Iterator[Target]:
    """The targets that overrides name exactly."""
    for key in load_settings().settings.models.overrides:
        provider, _, model = key.partition("/")
        if model and "*" not in key:
            yield provider, model
