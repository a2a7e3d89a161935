"""The models that calls went to, and those that the settings name: whom `ullage route` weighs without a file of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ullage.core.routing.models import Input, ModelRecord
from ullage.core.routing.pricing import Price, PriceSource
from ullage.core.routing.route import prepare_candidates
from ullage.settings import load_settings

from .model_knowledge import open_knowledge
from .records import now_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.profiles import ModelProfile
    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig

    from .model_knowledge import Target

_PRICED = ("override", "litellm", "genai-prices", "provider")


def find_candidates(config: RouteConfig) -> tuple[Candidate, ...]:
    """Every model that was called lately or has settings of its own, as the catalogues and the settings know it."""
    known = open_knowledge(None, now_ms=now_ms())
    targets = dict.fromkeys((*known.seen(), *_named()))
    return tuple(_candidate(known.learned(*target).awareness.profile, config) for target in targets)


def _named() -> Iterator[Target]:
    """The targets that overrides name exactly."""
    for key in load_settings().settings.models.overrides:
        provider, _, model = key.partition("/")
        if model and "*" not in key:
            yield provider, model


def _candidate(profile: ModelProfile, config: RouteConfig) -> Candidate:
    """Prices keep their source, unless the settings of routing say others."""
    inputs: tuple[Input, ...] | None = None
    if profile.images is not None:
        inputs = ("text", "image") if profile.images else ("text",)
    record = ModelRecord(
        provider=profile.provider,
        id=profile.model,
        reasoning=profile.reasoning,
        inputs=inputs,
        context_window=profile.context_window,
        max_output_tokens=profile.max_output_tokens,
        prices=profile.prices,
    )
    (found,) = prepare_candidates((record,), config)
    if found.price.source == "override":
        return found
    origin = profile.sources["input_price"]
    price = Price(
        prices=profile.prices,
        source=cast("PriceSource", origin.source if origin.source in _PRICED else "unknown"),
        coefficient=found.price.coefficient,
        approximate=not origin.exact,
        sources=profile.sources,
    )
    return replace(found, price=price)
