"""Accounting specification, section 24: what holds of the growth estimator whatever calls it sees."""

from __future__ import annotations

import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.calibration import (
    Addition,
    GrowthState,
    Law,
    Replay,
    Trap,
    dropped_reasoning,
    expect,
    find_trap,
    learn,
    start_growth,
)
from ullage.core.calibration.growth import BOUNDS, TUNING
from ullage.core.calibration.least_absolute import fit_law
from ullage.core.profiles import FAMILIES

relaxed = settings(deadline=None, max_examples=60)

traps = st.sampled_from([None, None, None, "short_output", "media", "lossy", "broken_off"])
amounts = st.integers(0, 30_000)


@st.composite
def additions(draw: st.DrawFn, trap: st.SearchStrategy[Trap | None] = traps) -> Addition:
    output = draw(st.integers(0, 5_000))
    reasoning = draw(st.integers(0, output))
    return Addition(
        prompt=draw(st.integers(0, 400_000)),
        output=output,
        new_tokens=draw(amounts),
        items=draw(st.integers(0, 9)),
        reasoning=reasoning,
        turn_reasoning=reasoning + draw(st.integers(0, 5_000)),
        ends_turn=draw(st.booleans()),
        trap=draw(trap),
    )


@st.composite
def samples(draw: st.DrawFn) -> tuple[Addition, int]:
    """An addition and the prompt behind it, which often has to do with it."""
    added = draw(additions())
    grown = draw(st.one_of(st.integers(-5_000, 40_000), st.integers(-30, 300).map(lambda extra: extra + added.output)))
    return added, max(0, added.prompt + grown + draw(st.sampled_from([0, int(added.new_tokens)])))


states = st.builds(
    start_growth,
    st.sampled_from(FAMILIES).map(lambda family: family.growth),
    st.sampled_from(["all", "turn", "none_known"]),
    own_tokens=st.booleans(),
)
histories = st.lists(samples(), max_size=25)


def taught(state: GrowthState, history: list[tuple[Addition, int]]) -> GrowthState:
    for added, prompt in history:
        state = learn(state, added, prompt)
    return state


@given(state=states, history=histories)
@relaxed
def test_a_law_stays_within_its_bounds(state: GrowthState, history: list[tuple[Addition, int]]) -> None:
    law = taught(state, history).law
    for value, (low, high) in zip((law.k, law.b, law.each, law.a), BOUNDS, strict=True):
        assert low <= value <= high


@given(state=states, history=histories, sample=samples())
@relaxed
def test_a_refused_sample_never_moves_the_state(
    state: GrowthState, history: list[tuple[Addition, int]], sample: tuple[Addition, int]
) -> None:
    state = taught(state, history)
    after = learn(state, *sample)
    if find_trap(*sample) is not None:
        assert after is state
    else:
        assert after.seen == state.seen + 1


@given(state=states, history=histories, data=st.data())
@relaxed
def test_the_law_does_not_depend_on_the_order_of_the_samples(
    state: GrowthState, history: list[tuple[Addition, int]], data: st.DataObject
) -> None:
    one, other = taught(state, history), taught(state, data.draw(st.permutations(history)))
    assert (one.law, one.replay) == (other.law, other.replay)


@given(state=states, history=histories)
@relaxed
def test_the_same_samples_make_the_same_state(state: GrowthState, history: list[tuple[Addition, int]]) -> None:
    assert taught(state, history) == taught(state, history)


@given(state=states, history=histories, added=additions())
@relaxed
def test_an_expectation_lies_in_its_interval(
    state: GrowthState, history: list[tuple[Addition, int]], added: Addition
) -> None:
    expected = expect(taught(state, history), added)
    assert 0 <= expected.low <= expected.tokens <= expected.high


@given(state=states, history=histories)
@relaxed
def test_a_state_that_was_written_down_goes_on_as_if_it_had_not(
    state: GrowthState, history: list[tuple[Addition, int]]
) -> None:
    half = taught(state, history[::2])
    read = msgspec.json.decode(msgspec.json.encode(half), type=GrowthState)
    assert read == half
    assert taught(read, history) == taught(half, history)


@given(state=states, history=st.lists(samples(), min_size=1, max_size=3))
@settings(deadline=None, max_examples=5)
def test_a_state_never_outgrows_its_window(state: GrowthState, history: list[tuple[Addition, int]]) -> None:
    assert len(taught(state, history * TUNING.window).pairs) <= TUNING.window


@given(state=states, added=additions(), more=st.integers(1, 5_000))
@relaxed
def test_more_new_text_never_means_a_smaller_prompt(state: GrowthState, added: Addition, more: int) -> None:
    larger = msgspec.structs.replace(added, new_tokens=added.new_tokens + more)
    assert expect(state, larger).tokens >= expect(state, added).tokens


@given(added=additions(), replay=st.sampled_from(["all", "turn", "never"]))
def test_no_more_reasoning_is_dropped_than_there_was(added: Addition, replay: Replay) -> None:
    assert 0 <= dropped_reasoning(added, replay) <= added.turn_reasoning


@given(
    rows=st.lists(st.tuples(st.integers(0, 5_000), st.integers(-9_000, 9_000)), max_size=40),
    prior=st.tuples(st.floats(0.8, 2.0), st.floats(-100, 100)),
)
@relaxed
def test_a_fit_never_misses_more_than_its_prior_did(rows: list[tuple[int, int]], prior: tuple[float, float]) -> None:
    trust = (4_000.0, 2.0)

    def missed(law: tuple[float, ...]) -> float:
        rests = (abs(target - law[0] * size - law[1]) for size, target in rows)
        return math.fsum(rests) + sum(weight * abs(a - b) for weight, a, b in zip(trust, law, prior, strict=True))

    bounds = ((0.5, 2.5), (-200.0, 400.0))
    law = fit_law(
        [(float(size), 1.0) for size, _ in rows], [t for _, t in rows], prior=prior, trust=trust, bounds=bounds
    )
    assert missed(law) <= missed(prior) * (1 + 1e-9) + 1e-6


def test_a_law_that_says_nothing_adds_the_texts() -> None:
    assert Law() == Law(k=1.0, b=1.0, each=0.0, a=0.0)
