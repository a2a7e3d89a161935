"""The profile of one target: overrides, then what each source says, field by field (planner specification, section 3).

Exact ids decide. What a source says of a similar model counts only where no exact source says anything, and is marked. What
nobody says stays unknown: no number is ever made up.
"""

from __future__ import annotations

from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .choosing import Found, Provenance, Said, choose, in_order
from .facts import Prices
from .families import find_family
from .pricing import resolve_prices
from .windows import NO_LIMIT, find_input_limit, find_window

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .facts import Layer
    from .overrides import ModelOverride

SAFETY_SHARE = 0.02
"""Safety margin as a share of the window (planner specification, section 3.2)."""

SAFETY_LEAST = 1_024
"""Least safety margin in tokens, and the margin of an unknown window."""

SAFETY_MOST = 8_192
"""Largest safety margin in tokens that is not set by hand."""

DEFAULT_ESTIMATOR = "chars-v1"

_NO_OVERRIDES: Mapping[str, ModelOverride] = MappingProxyType({})
_USUAL_MARGIN = Provenance(source="default", detail=f"2 % of the window, between {SAFETY_LEAST:,} and {SAFETY_MOST:,}")
_LEAST_MARGIN = Found(SAFETY_LEAST, Provenance(source="default", detail="the least, for the window is unknown"))
_SET_ESTIMATOR = Provenance(source="default", detail="calibration.estimator")
_GROWTH_ESTIMATOR = Provenance(source="default", detail="accounting.estimator, as calibration.method is growth-v1")
_FIXED_ESTIMATOR = Found(DEFAULT_ESTIMATOR, Provenance(source="default", detail="models.enabled is off"))
_FAMILY = Provenance(source="default", detail="rows of tokenizer families")


class ModelProfile(Struct, frozen=True, kw_only=True):
    """What is known of one provider and model; `None` is unknown. Limits are in the provider's tokens, prices in USD per million.

    `max_input_tokens` is there only where it is known to be less than the window. `recent_tail_tokens` and its two neighbours
    are what overrides set, else `None`. `override_keys` are the keys that matched; the last one wins. `sources` has a provenance
    by field; of prices by `input_price` and so on, and `price_tiers`.
    """

    key: str
    provider: str
    model: str
    context_window: int | None
    max_input_tokens: int | None = None
    max_output_tokens: int | None
    safety_margin_tokens: int
    reasoning: bool | None
    images: bool | None
    tools: bool | None
    prices: Prices
    cache_minimum_tokens: int | None
    token_estimator: str
    family: str
    recent_tail_tokens: int | None = None
    max_retrieved_history_tokens: int | None = None
    max_project_tokens: int | None = None
    override_keys: tuple[str, ...]
    sources: dict[str, Provenance]


def resolve_profile(
    provider: str,
    model: str,
    *,
    dialect: str | None = None,
    layers: Iterable[Layer] = (),
    overrides: Mapping[str, ModelOverride] = _NO_OVERRIDES,
    enabled: bool = True,
    estimator: str = DEFAULT_ESTIMATOR,
    growth_estimator: str | None = None,
) -> ModelProfile:
    """The profile of `provider/model`.

    `layers` may come in any order. `estimator` is what plans are counted by where no override names another; `growth_estimator`
    is given where limits follow `growth-v1`, and then plans are counted by it, whatever overrides name. `enabled` off ignores the
    overrides and both estimators; what the sources say still holds (planner specification, section 3.2).
    """
    key = f"{provider}/{model}"
    said = Said(key, overrides if enabled else _NO_OVERRIDES)
    ordered = in_order(layers)
    found = _limits(said, ordered)
    for field in ("reasoning", "images", "tools", "cache_minimum_tokens"):
        found[field] = choose(field, said, ordered)
    found["token_estimator"] = _estimator(said, estimator, growth_estimator, enabled=enabled)
    for field in ("recent_tail_tokens", "max_retrieved_history_tokens", "max_project_tokens"):
        budget = said.find(field)
        if budget is not None:
            found[field] = budget
    found["family"] = Found(find_family(provider, dialect, model).id, _FAMILY)
    prices, price_sources = resolve_prices(said, ordered)
    return ModelProfile(
        key=key,
        provider=provider,
        model=model,
        prices=prices,
        override_keys=said.keys,
        sources={field: chosen.origin for field, chosen in found.items()} | price_sources,
        **{field: chosen.value for field, chosen in found.items()},
    )


def narrow_profile(profile: ModelProfile, window: int | None, detail: str) -> ModelProfile:
    """The profile for a client that keeps to a window of its own, as Pi does to that of its list of models: the descriptor of
    planner specification, section 3.2.

    `detail` is for people. A wider window of the client's changes nothing, since what is published is a limit, nor does any where
    an override sets the window.
    """
    known, origin = profile.context_window, profile.sources["context_window"]
    if window is None or window <= 0 or origin.source == "override" or (known is not None and known <= window):
        return profile
    found = {"context_window": Found(window, Provenance(source="client", detail=detail))}
    if profile.max_input_tokens is not None and profile.max_input_tokens >= window:
        found["max_input_tokens"] = NO_LIMIT
    found["max_output_tokens"] = _within(window, Found(profile.max_output_tokens, profile.sources["max_output_tokens"]))
    margin = Found(profile.safety_margin_tokens, profile.sources["safety_margin_tokens"])
    found["safety_margin_tokens"] = _within(window, margin if margin.origin.source == "override" else _margin(window))
    return replace(
        profile,
        sources=profile.sources | {field: one.origin for field, one in found.items()},
        **{field: one.value for field, one in found.items()},
    )


def _limits(said: Said, ordered: list[Layer]) -> dict[str, Found]:
    """Window, input, output and safety margin, each within the window. Who sets a window by hand sets the input too."""
    by_hand = said.find("context_window")
    window = by_hand or find_window(ordered)
    tokens = window.value
    return {
        "context_window": window,
        "max_input_tokens": NO_LIMIT if by_hand else find_input_limit(tokens, ordered),
        "max_output_tokens": _within(tokens, choose("max_output_tokens", said, ordered)),
        "safety_margin_tokens": _within(tokens, said.find("safety_margin_tokens") or _margin(tokens)),
    }


def _within(window: int | None, found: Found) -> Found:
    """The value, cut to the window where it is larger."""
    if window is None or found.value is None or found.value <= window:
        return found
    return Found(window, replace(found.origin, detail=f"{found.origin.detail}, cut to the window"))


def _margin(window: int | None) -> Found:
    if window is None:
        return _LEAST_MARGIN
    return Found(min(SAFETY_MOST, max(SAFETY_LEAST, ceil(SAFETY_SHARE * window))), _USUAL_MARGIN)


def _estimator(said: Said, estimator: str, growth_estimator: str | None, *, enabled: bool) -> Found:
    if not enabled:
        return _FIXED_ESTIMATOR
    if growth_estimator is not None:
        return Found(growth_estimator, _GROWTH_ESTIMATOR)
    return said.find("token_estimator") or Found(estimator, _SET_ESTIMATOR)
