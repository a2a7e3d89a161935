"""A candidate of what is known of a model: its limits, abilities and prices as its profile has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from .models import ModelRecord, complete_model
from .pricing import Price, PriceSource
from .route import NO_CONFIG, RouteConfig, prepare_candidates

if TYPE_CHECKING:
    from ullage.core.profiles import ModelProfile

    from .filtering import Candidate

_PARTS = ("input", "output", "cache_read", "cache_write")
_PRICED = ("override", "litellm", "genai-prices", "provider")


def prepare_known(model: ModelRecord, profile: ModelProfile, config: RouteConfig = NO_CONFIG) -> Candidate:
    """What is known of a model. Prices keep the source that the profile has them from, unless the configuration says anything of
    them, and be it a coefficient alone (section 8.1)."""
    record = replace(complete_model(model, profile), prices=profile.prices)
    (found,) = prepare_candidates((record,), config)
    said = config.price_overrides.get(model.target) or config.price_overrides.get(model.id)
    if said is not None and any(getattr(said, part) is not None for part in _PARTS):
        return found
    origin = profile.sources["input_price"]
    source = origin.source if origin.source in _PRICED else "unknown"
    price = Price(
        prices=profile.prices,
        source=cast("PriceSource", "override" if said is not None else source),
        coefficient=found.price.coefficient,
        approximate=not origin.exact,
        sources=profile.sources,
    )
    return replace(found, price=price)
