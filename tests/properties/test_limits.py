"""Planner specification, sections 4 to 10: what holds of limits and of what is learned, whatever comes in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ullage.core.calibration import (
    IDENTITY,
    Bounds,
    Conversion,
    Law,
    Sample,
    calibrate,
    convert_growth,
    convert_ratio,
    refuse,
    share_cache,
    tune,
)
from ullage.core.calibration.ratio import is_valid
from ullage.core.content import Usage
from ullage.core.planning import Budget, Limits, Overrides, draw_budget, resolve_categories

relaxed = settings(deadline=None, max_examples=150)

windows = st.one_of(st.integers(1, 300), st.integers(1, 10_000_000), st.sampled_from([40_000, 131_072, 262_144]))
tokens = st.integers(0, 10_000_000)
shares = st.floats(0.001, 1.0)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    """Settings that pass their own rules: target, soft and hard rise, and so do both reserves."""
    target, soft, hard = sorted(draw(st.tuples(shares, shares, shares)))
    least, preferred = sorted(draw(st.tuples(tokens, tokens)))
    return Limits(
        target_fill_ratio=target,
        soft_limit_ratio=soft,
        hard_limit_ratio=hard,
        minimum_output_reserve=least,
        preferred_output_reserve=preferred,
        recent_tail_tokens=draw(tokens),
        max_retrieved_history_tokens=draw(tokens),
        max_project_tokens=draw(tokens),
    )


conversions = st.builds(Conversion, offset=st.floats(0, 1_000_000), slope=st.floats(1.0, 4.0))
inputs = st.fixed_dictionaries(
    {
        "window": windows,
        "max_output": st.one_of(st.none(), st.integers(1, 10_000_000)),
        "max_input": st.one_of(st.none(), st.integers(1, 10_000_000)),
        "safety_margin": tokens,
        "limits": limits(),
        "conversion": conversions,
    }
)
Inputs = dict[str, Any]


def drawn(budget: Budget) -> tuple[int, ...]:
    """Every limit of a budget."""
    return (
        budget.model_input_hard,
        budget.nominal_hard,
        budget.nominal_soft,
        budget.nominal_preferred,
        budget.hard,
        budget.soft,
        budget.preferred,
    )


def never_lower(before: Budget, after: Budget) -> bool:
    return all(one <= other for one, other in zip(drawn(before), drawn(after), strict=True))


@st.composite
def samples(draw: st.DrawFn, max_size: int = 40) -> list[Sample]:
    """Samples of all sorts, some of which are none; every id is there once, as in a store."""
    made = draw(st.lists(st.tuples(st.integers(-1, 9), *[st.integers(-5, 3_000)] * 4), max_size=max_size))
    return [
        Sample(
            id=f"{number:03}", created_ms=at, estimated=estimated, input_fresh=fresh, cache_read=read, cache_write=write
        )
        for number, (at, estimated, fresh, read, write) in enumerate(made)
    ]


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    lower, upper = sorted(draw(st.tuples(st.floats(0.25, 4), st.floats(0.25, 4))))
    window = draw(st.integers(3, 30))
    return Bounds(
        window=window,
        minimum=draw(st.integers(1, window)),
        lower=lower,
        upper=upper,
        half_life_ms=draw(st.sampled_from([0.0, 0.0, 0.01, 2.0, 1e9])),
    )


@given(given_inputs=inputs)
@relaxed
def test_every_limit_is_above_zero_and_within_the_window(given_inputs: Inputs) -> None:
    budget = draw_budget(**given_inputs)
    assert all(1 <= limit <= given_inputs["window"] for limit in drawn(budget))
    assert budget.nominal_preferred <= budget.nominal_hard <= budget.model_input_hard
    assert budget.nominal_soft <= budget.nominal_hard
    assert budget.preferred <= budget.soft <= budget.hard <= budget.nominal_hard
    assert budget.output_reserve >= 0
    assert budget.safety_margin >= 0
    assert budget.output_reserve + budget.safety_margin + budget.model_input_hard <= given_inputs["window"]


@given(given_inputs=inputs, more=st.integers(1, 1_000_000))
@relaxed
def test_a_larger_window_lowers_no_limit(given_inputs: Inputs, more: int) -> None:
    larger = given_inputs | {"window": given_inputs["window"] + more}
    assert never_lower(draw_budget(**given_inputs), draw_budget(**larger))


@given(given_inputs=inputs, more=st.integers(1, 1_000_000), name=st.sampled_from(["max_output", "safety_margin"]))
@relaxed
def test_a_longer_answer_or_a_wider_margin_raises_no_limit(given_inputs: Inputs, more: int, name: str) -> None:
    given_inputs[name] = given_inputs[name] or 1
    assert never_lower(draw_budget(**given_inputs | {name: given_inputs[name] + more}), draw_budget(**given_inputs))


@given(given_inputs=inputs, more=st.integers(1, 1_000_000))
@relaxed
def test_a_longer_prompt_that_the_provider_lets_in_lowers_no_limit(given_inputs: Inputs, more: int) -> None:
    longest = given_inputs["max_input"] or 1
    before, after = (draw_budget(**given_inputs | {"max_input": most}) for most in (longest, longest + more))
    assert never_lower(before, after)
    assert never_lower(after, draw_budget(**given_inputs | {"max_input": None}))


@given(given_inputs=inputs, slope=st.floats(1.0, 4.0), offset=st.floats(0, 1_000_000))
@relaxed
def test_underestimating_more_raises_no_limit(given_inputs: Inputs, slope: float, offset: float) -> None:
    conversion: Conversion = given_inputs["conversion"]
    worse = Conversion(offset=conversion.offset + offset, slope=conversion.slope * slope)
    assert never_lower(draw_budget(**given_inputs | {"conversion": worse}), draw_budget(**given_inputs))


@given(given_inputs=inputs)
@relaxed
def test_what_is_learned_moves_no_provider_limit(given_inputs: Inputs) -> None:
    """It only says how many tokens of ours they are."""
    learned, plain = draw_budget(**given_inputs), draw_budget(**given_inputs | {"conversion": IDENTITY})
    assert drawn(learned)[:4] == drawn(plain)[:4]
    assert never_lower(learned, plain)


@given(conversion=conversions, limit=tokens)
@relaxed
def test_a_converted_limit_is_never_more_than_the_limit(conversion: Conversion, limit: int) -> None:
    local = conversion.to_local(limit)
    assert 0 <= local <= limit
    assert local == 0 or conversion.offset + conversion.slope * local <= limit * (1 + 1e-12)


@given(
    k=st.floats(0.7, 2.5),
    prompt=st.integers(1, 1_000_000),
    anchored=st.integers(0, 1_000_000),
    local=st.integers(0, 1_000_000),
)
@relaxed
def test_growth_converts_by_its_law_through_the_anchor(k: float, prompt: int, anchored: int, local: int) -> None:
    made = convert_growth(Law(k=k), anchor_prompt=prompt, anchor_tokens=anchored)
    assert made.offset + made.slope * local == pytest.approx(prompt + k * (local - anchored), abs=1e-3)


CATEGORIES = ("recent_tail", "history", "project")
CAPS = ("recent_tail_tokens", "max_retrieved_history_tokens", "max_project_tokens")
overrides = st.builds(Overrides, **dict.fromkeys(CAPS, st.one_of(st.none(), tokens)))
category_inputs = st.fixed_dictionaries(
    {
        "window": windows,
        "limits": limits(),
        "overrides": overrides,
        "ratio": st.floats(0.25, 4.0),
        "factor": st.sampled_from([1.0, 1.125]),
        "room": st.integers(1, 10_000_000),
        "enabled": st.booleans(),
    }
)


def categories(**fields: Any) -> tuple[int, ...]:
    adaptive = resolve_categories(**fields)
    return tuple(getattr(adaptive, name).resolved for name in CATEGORIES)


@given(given_inputs=category_inputs)
@relaxed
def test_a_category_is_within_its_cap_or_its_override_and_within_the_plan(given_inputs: Inputs) -> None:
    for resolved, cap in zip(categories(**given_inputs), CAPS, strict=True):
        explicit = getattr(given_inputs["overrides"], cap)
        assert 0 <= resolved <= given_inputs["room"]
        assert resolved <= max(getattr(given_inputs["limits"], cap), explicit or 0)
        assert explicit != 0 or resolved == 0


@given(given_inputs=category_inputs, cap=st.sampled_from(CAPS), more=st.integers(1, 1_000_000))
@relaxed
def test_a_higher_cap_lowers_no_category(given_inputs: Inputs, cap: str, more: int) -> None:
    raised = replace(given_inputs["limits"], **{cap: getattr(given_inputs["limits"], cap) + more})
    before, after = categories(**given_inputs), categories(**given_inputs | {"limits": raised})
    assert all(one <= other for one, other in zip(before, after, strict=True))


@given(given_inputs=category_inputs, more=st.integers(1, 1_000_000), name=st.sampled_from(["window", "room"]))
@relaxed
def test_a_larger_window_or_plan_lowers_no_category(given_inputs: Inputs, more: int, name: str) -> None:
    before, after = categories(**given_inputs), categories(**given_inputs | {name: given_inputs[name] + more})
    assert all(one <= other for one, other in zip(before, after, strict=True))


@given(given_inputs=category_inputs)
@relaxed
def test_tuning_lowers_no_category_and_moves_no_explicit_one(given_inputs: Inputs) -> None:
    plain, tuned = (resolve_categories(**given_inputs | {"factor": factor}) for factor in (1.0, 1.125))
    for name in CATEGORIES:
        before, after = getattr(plain, name), getattr(tuned, name)
        assert before.nominal == after.nominal
        assert before.resolved == after.resolved if before.explicit else before.resolved <= after.resolved


@given(seen=samples(), within=bounds(), now_ms=st.one_of(st.none(), st.integers(0, 100)))
@relaxed
def test_a_ratio_stays_within_its_bounds(seen: list[Sample], within: Bounds, now_ms: int | None) -> None:
    found = calibrate(seen, within, now_ms=now_ms)
    assert found.observed == min(len(seen), within.window) == found.accepted + found.rejected
    assert found.outliers + found.hard_bound <= found.rejected
    if found.calibrated:
        assert within.lower <= found.applied_ratio <= within.upper
    else:
        assert found.applied_ratio == 1.0
    assert convert_ratio(found).slope == max(1.0, found.applied_ratio)


@given(seen=samples(), within=bounds(), data=st.data())
@relaxed
def test_the_order_in_which_samples_arrive_does_not_matter(
    seen: list[Sample], within: Bounds, data: st.DataObject
) -> None:
    late = data.draw(st.permutations(seen))
    assert calibrate(late, within) == calibrate(seen, within)
    assert share_cache(late, within) == share_cache(seen, within)


@given(seen=samples(max_size=20), refused=samples(max_size=5))
@relaxed
def test_a_sample_that_is_no_sample_never_moves_the_ratio(seen: list[Sample], refused: list[Sample]) -> None:
    """While the window has room for it; such a sample is refused before it comes to one."""
    roomy = Bounds(window=200)
    broken = [replace(sample, id=f"b{sample.id}", estimated=0) for sample in refused]
    beyond = [
        replace(sample, id=f"c{sample.id}", created_ms=5, estimated=10, input_fresh=90, cache_read=0, cache_write=0)
        for sample in refused
    ]
    before, after = calibrate(seen, roomy), calibrate([*broken, *seen, *beyond], roomy)
    assert (after.applied_ratio, after.median_ratio) == (before.applied_ratio, before.median_ratio)
    assert after.accepted == before.accepted


figures = st.one_of(st.none(), st.integers(-2, 5), st.integers(0, 2**54))


@given(
    outcome=st.sampled_from(["ok", "ok", "ok", "error", "cut", "left", "answered", "unparsed"]),
    stop_reason=st.sampled_from([None, "end", "tool_calls", "error"]),
    usage=st.one_of(st.none(), st.builds(Usage, input_fresh=figures, cache_read=figures, cache_write=figures)),
    estimated=figures,
    helper=st.booleans(),
    counted=st.booleans(),
)
@relaxed
def test_what_is_not_refused_is_a_valid_sample(
    outcome: str, stop_reason: str | None, usage: Usage | None, estimated: int | None, helper: bool, counted: bool
) -> None:
    reason = refuse(
        outcome=outcome, stop_reason=stop_reason, usage=usage, estimated=estimated, helper=helper, counted=counted
    )
    valid = is_valid(
        Sample(
            id="call",
            created_ms=0,
            estimated=estimated or 0,
            input_fresh=(usage and usage.input_fresh) or 0,
            cache_read=(usage and usage.cache_read) or 0,
            cache_write=(usage and usage.cache_write) or 0,
        )
    )
    went_well = outcome == "ok" and stop_reason != "error" and not helper and not counted
    assert (reason is None) == (went_well and valid)


@given(
    usual=st.lists(st.integers(1, 2_000), max_size=12),
    odd=st.lists(st.integers(1, 2_000), max_size=3),
    target=st.integers(0, 4_000),
)
@relaxed
def test_budgets_grow_only_where_every_valid_prompt_left_ample_room(
    usual: list[int], odd: list[int], target: int
) -> None:
    """Those whose ratio is not believed count too."""
    figures = [*[(prompt, prompt) for prompt in usual], *[(9 * prompt, prompt) for prompt in odd]]
    seen = [
        Sample(id=str(number), created_ms=number, estimated=estimated, input_fresh=prompt)
        for number, (estimated, prompt) in enumerate(figures)
    ]
    decided = tune(calibrate(seen, Bounds()), enabled=True, target=target)
    assert (decided.status == "expanded") == (decided.factor > 1)
    assert (decided.status == "expanded") == (
        len(usual) >= 8 and target > 0 and all(10 * prompt <= 6 * target for prompt in [*usual, *odd])
    )
