"""Where a prompt goes that a plan makes fit (routing specification, section 33, number 12)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.routing.routes import DEBUG, HAIKU, MODELS, OPUS, SONNET, model
from ullage.core.profiles import Prices
from ullage.core.routing.pools import Pool
from ullage.core.routing.route import RouteConfig, RouteSession, prepare_candidates, resolve_route
from ullage.engine.route_fitting import fit_route
from ullage.engine.route_planning import Planned
from ullage.settings.routing import CostSettings

SMALL = (MODELS[0], MODELS[1], replace(MODELS[2], context_window=60_000))


def fit(
    tokens: int, policy: str = "cost", models: Any = SMALL, share: float = 0.5, **more: Any
) -> tuple[Planned, list[int]]:
    """The route, and for how many tokens each one was made."""
    candidates = prepare_candidates(models)
    asked: list[int] = []

    def plan(tokens: int) -> Planned:
        asked.append(tokens)
        return Planned(route=resolve_route(candidates, DEBUG, context_tokens=tokens, policy=policy, **more))

    return fit_route(plan, candidates, tokens, share), asked


def test_what_everybody_holds_is_weighed_once() -> None:
    planned, asked = fit(20_000)
    assert (planned.route.target, asked, planned.notes) == (HAIKU, [20_000], ())


def test_under_cost_a_cheaper_target_with_room_for_the_part_that_was_set_is_taken() -> None:
    planned, asked = fit(80_000)
    assert planned.route.target == HAIKU
    assert asked[0] == 80_000 and 40_000 <= asked[1] <= 60_000
    told, saved = planned.notes
    assert told == f"{HAIKU} gets what fits of 80,000 tokens, about {asked[1]:,}"
    usd = planned.route.ranked[0].cost_usd or 0
    assert saved.startswith(f"reduced for the price: ${usd:.4f} in place of $")
    assert saved.endswith(f" for all of it at {SONNET}")


def test_by_default_nothing_is_left_out_for_the_price() -> None:
    assert CostSettings().least_share == 1.0
    planned, asked = fit(80_000, share=1.0)
    assert (planned.route.target, asked, planned.notes) == (SONNET, [80_000], ())


def test_a_context_is_not_cut_to_less_than_that_part_for_the_price() -> None:
    planned, asked = fit(100_000)
    assert (planned.route.target, asked) == (SONNET, [100_000])


@pytest.mark.parametrize("policy", ["balanced", "best", "fast"])
def test_other_policies_do_not_cut_for_the_price(policy: str) -> None:
    planned, asked = fit(80_000, policy)
    assert planned.route.target in (SONNET, OPUS)
    assert asked == [80_000]


def test_a_dearer_target_or_an_unknown_price_is_no_reason_to_cut() -> None:
    dear = replace(SMALL[2], prices=Prices(input=50, output=200))
    assert fit(80_000, models=(*SMALL[:2], dear))[0].route.target == SONNET
    unpriced = tuple(replace(one, prices=Prices()) for one in SMALL[:2])
    assert fit(80_000, models=(*unpriced, SMALL[2]))[1] == [80_000]


def test_a_warm_cache_is_weighed_against_what_is_cut() -> None:
    session = RouteSession(first_turn=False, current=SONNET, warm={SONNET: 80_000})
    cheap = replace(SMALL[2], prices=Prices(input=2.9, output=14, cache_read=0.29, cache_write=3.6))
    assert fit(80_000, models=(SMALL[1], cheap), session=session)[0].route.target == SONNET
    assert fit(80_000, models=(SMALL[1], cheap))[0].route.target == HAIKU


@pytest.mark.parametrize("tokens", [80_000, 500_000])
def test_what_is_pinned_or_pooled_is_never_too_small(tokens: int) -> None:
    for more in (
        {"session": RouteSession(pin=HAIKU)},
        {"config": RouteConfig(pools={"own": Pool(targets={HAIKU: 1})}, pool="own")},
    ):
        planned, _ = fit(tokens, "balanced", **more)
        assert planned.route.target == HAIKU
        assert planned.notes


def test_what_fits_nobody_goes_to_the_widest_window() -> None:
    wide = model("anthropic/claude-opus-5", 15, 75, context_window=100_000)
    planned, _ = fit(500_000, "cost", (wide, *(replace(one, context_window=30_000) for one in MODELS[1:])))
    assert planned.route.target == wide.target


def test_where_no_window_is_in_the_way_the_stop_stays() -> None:
    planned, asked = fit(80_000, session=RouteSession(pin="anthropic/nobody"))
    assert planned.route.stop is not None and planned.route.stop.code == "unmatched-pin"
    assert asked == [80_000]
    tiny = tuple(replace(one, context_window=500) for one in MODELS)
    assert fit(80_000, models=tiny)[0].route.stop is not None
