"""The anchored growth estimator (accounting specification, section 24)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec.structs import replace

from ullage.core.calibration import (
    Addition,
    GrowthState,
    Key,
    Law,
    Trap,
    expect,
    find_trap,
    learn,
    pair_of,
    start_growth,
    take_pairs,
)
from ullage.core.calibration.growth import BOUNDS, TUNING, Tuning
from ullage.core.profiles import Growth, find_family

if TYPE_CHECKING:
    from collections.abc import Iterable

CLAUDE = Growth(k=1.6, b=1.0, a=4.0, error=0.05)
Sample = tuple[Addition, int]


def addition(new: float = 500, output: int = 80, **fields: object) -> Addition:
    return Addition(prompt=20_000, output=output, new_tokens=new, **fields)  # type: ignore[arg-type]


def samples(law: Law, *, count: int = 30, **fields: object) -> list[Sample]:
    """Pairs of calls of various sizes that obey a law."""
    made = []
    for number in range(count):
        added = addition(new=(number * 137) % 900, output=20 + (number * 61) % 400, **fields)
        grown = law.a + law.b * added.output + law.k * added.new_tokens + law.each * (added.items - 1)
        made.append((added, added.prompt + round(grown)))
    return made


def taught(pairs: Iterable[Sample], state: GrowthState | None = None) -> GrowthState:
    state = state or start_growth(Growth(), "all", own_tokens=False)
    for added, prompt in pairs:
        state = learn(state, added, prompt)
    return state


def test_nothing_known_means_one_token_a_token() -> None:
    """Design, section 11: before anything is learned k = 1, b = 1, a = 0."""
    assert expect(start_growth(Growth(), "none_known", own_tokens=True), addition()).tokens == 20_000 + 80 + 500


@pytest.mark.parametrize(
    ("provider", "model", "grown"),
    [
        ("openai", "gpt-5.6-sol", 12 + 80 + 1.00 * 500),
        ("anthropic", "claude-opus-4-5", 11.5 + 80 + 1.245 * 500),
        ("anthropic", "claude-opus-4-8", 4 + 80 + 1.60 * 500),
        (None, "glm-5.2", 12 + 80 + 1.015 * 500),
    ],
)
def test_a_family_is_the_prior(provider: str | None, model: str, grown: float) -> None:
    """Section 24, first table; an answer comes back whole."""
    growth = find_family(provider, None, model).growth
    expected = expect(start_growth(growth, "all", own_tokens=False), addition())
    assert expected.tokens == pytest.approx(20_000 + grown, abs=0.5)


def test_tokens_of_the_familys_own_need_no_factor() -> None:
    expected = expect(start_growth(CLAUDE, "all", own_tokens=True), addition())
    assert expected.tokens == 20_000 + 4 + 80 + 500


def test_pairs_draw_the_law_from_the_prior_to_what_the_user_has() -> None:
    law = Law(k=1.6, b=1.0, a=11.0)
    errors = []
    state = start_growth(Growth(), "all", own_tokens=False)
    for added, prompt in samples(law):
        errors.append(abs(expect(state, added).tokens - prompt))
        state = learn(state, added, prompt)
    assert errors[1] > 50
    assert max(errors[-10:]) <= 2
    assert (state.law.k, state.law.b) == pytest.approx((1.6, 1.0), abs=0.005)
    assert state.law.a == pytest.approx(11.0, abs=0.5)


def test_one_pair_against_the_prior_does_not_carry_it_away() -> None:
    added, prompt = addition(new=500), 20_000 + 80 + 1_000
    assert taught([(added, prompt)]).law.k == 1.0


def test_further_items_have_a_cost_of_their_own() -> None:
    """Codex: 2 tokens, and 9 around each result."""
    state = taught(samples(Law(a=11.0, each=9.0), items=1) + samples(Law(a=11.0, each=9.0), items=4))
    assert (state.law.a, state.law.each) == pytest.approx((11.0, 9.0), abs=0.5)


def test_a_few_wild_pairs_do_not_move_the_law() -> None:
    good = samples(Law(k=1.25, a=12.0))
    wild = [(added, prompt + 350) for added, prompt in good[::4]]
    assert taught(wild + good).law.k == pytest.approx(1.25, abs=0.02)


@pytest.mark.parametrize("trap", ["short_output", "media", "lossy", "broken_off", "switched"])
def test_what_is_known_to_prove_nothing_is_refused(trap: Trap) -> None:
    state = taught(samples(Law(a=7.0)))
    added = addition(trap=trap)
    assert find_trap(added, 20_587) == trap
    assert learn(state, added, 20_587) is state


@pytest.mark.parametrize(
    ("prompt", "trap"),
    [
        (19_000, "shrunk"),
        (20_200, "cut"),
        (20_092 + 500, None),
        (20_092 + 1_500, None),
        (20_092 + 3_000, "unrecorded"),
    ],
)
def test_what_no_law_explains_is_refused(prompt: int, trap: Trap | None) -> None:
    """500 new tokens and an output of 80: no tokenizer makes 20 or 3,000 tokens of that text."""
    state = taught(samples(Law(a=7.0)))
    assert find_trap(addition(), prompt) == trap
    assert (learn(state, addition(), prompt) is state) == (trap is not None)


def test_outputs_that_were_cut_for_the_model_are_left_out() -> None:
    """Section 24: 20,000 to 47,000 tokens in the file added only half of that."""
    assert find_trap(addition(new=22_000), 20_000 + 80 + 11_000) == "cut"


def test_a_turns_reasoning_goes_when_the_user_speaks_again() -> None:
    """Section 10, before GPT-5.6: 600 tokens of reasoning in the turn."""
    added = addition(reasoning=100, turn_reasoning=600, ends_turn=True)
    kept, dropped = (start_growth(Growth(), rule, own_tokens=True) for rule in ("all", "turn"))
    assert expect(kept, added).tokens - expect(dropped, added).tokens == 600


def test_a_prompt_that_fell_by_the_turns_reasoning_is_a_sample() -> None:
    added = addition(new=20, reasoning=40, turn_reasoning=1_300, ends_turn=True)
    assert find_trap(added, 20_000 + 80 + 20 - 1_300) is None
    assert find_trap(added, 20_000 + 80 + 20 - 2_300) == "shrunk"


def reasoned(law: Law, *, kept: bool) -> list[Sample]:
    """Pairs with reasoning of various sizes, up to 400 tokens."""
    made = []
    for number, (added, prompt) in enumerate(samples(law, count=12)):
        reasoning = (number * 97) % 400
        thought = replace(added, reasoning=reasoning, turn_reasoning=reasoning, output=added.output + reasoning)
        made.append((thought, prompt + (reasoning if kept else 0)))
    return made


def test_reasoning_that_never_comes_back_is_noticed() -> None:
    state = taught(reasoned(Law(), kept=False))
    assert (state.prior_replay, state.replay) == ("all", "never")
    assert expect(state, addition(reasoning=60)).tokens == pytest.approx(20_000 + 80 + 500 - 60, abs=2)


def test_the_familys_rule_stays_while_it_explains_what_is_seen() -> None:
    state = taught(reasoned(Law(a=3.0), kept=True))
    assert state.replay == "all"


def test_a_rule_that_was_wrong_for_a_while_comes_back() -> None:
    state = taught(reasoned(Law(), kept=False))
    assert taught(reasoned(Law(), kept=True) * 3, state).replay == "all"


def test_only_the_newest_pairs_are_kept() -> None:
    window = TUNING.window
    old, new = samples(Law(k=1.6), count=window), samples(Law(k=1.0), count=window)
    state = taught(old + new)
    assert (len(state.pairs), state.seen) == (window, 2 * window)
    assert state.law.k == pytest.approx(1.0, abs=0.01)


def test_the_interval_narrows_as_pairs_come_in_right() -> None:
    first = expect(start_growth(CLAUDE, "all", own_tokens=True), addition())
    later = expect(taught(samples(Law(k=1.0, a=4.0)), start_growth(CLAUDE, "all", own_tokens=True)), addition())
    assert first.low <= first.tokens <= first.high
    assert later.high - later.low <= (first.high - first.low) / 2


def test_nine_of_ten_misses_stay_inside() -> None:
    """Errors of up to 300 tokens, spread evenly."""
    noisy = [(added, prompt + (number * 83) % 300) for number, (added, prompt) in enumerate(samples(Law(), count=120))]
    state = taught(noisy[:60])
    inside = 0
    for added, prompt in noisy[60:]:
        expected = expect(state, added)
        inside += expected.low <= prompt <= expected.high
        state = learn(state, added, prompt)
    assert inside >= 54


def test_a_counted_output_widens_the_interval() -> None:
    state = taught(samples(Law(a=7.0)))
    sure, short = expect(state, addition(output=400)), expect(state, addition(output=400, trap="short_output"))
    assert sure.tokens == short.tokens
    assert (short.high - short.low) - (sure.high - sure.low) == pytest.approx(400, abs=2)


def test_an_expectation_is_never_below_zero() -> None:
    state = start_growth(Growth(), "turn", own_tokens=True)
    added = Addition(prompt=10, output=0, new_tokens=0, turn_reasoning=500, ends_turn=True)
    expected = expect(state, added)
    assert (expected.tokens, expected.low) == (0, 0)


def test_a_state_survives_being_written_down() -> None:
    state = taught(reasoned(Law(a=5.0), kept=False))
    assert msgspec.json.decode(msgspec.json.encode(state), type=GrowthState) == state
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=GrowthState) == state


def test_a_key_is_exact_and_orders() -> None:
    key = Key(method="growth-v1", provider="anthropic", model="claude-opus-4-8", estimator="wire-v1", client="pi")
    other = replace(key, client="claude-code")
    assert key != other
    assert sorted([key, other]) == [other, key]


def test_the_bounds_hold_every_family() -> None:
    """Section 24: k from 1.00 to 1.60, b from 0.87, a from -4 to 136."""
    (k_low, k_high), (b_low, b_high), _, (a_low, a_high) = BOUNDS
    assert (k_low < 1.0, k_high > 1.6, b_low < 0.87, b_high >= 1.0, a_low < -4, a_high > 136) == (True,) * 6


def test_pairs_stand_in_the_order_of_their_calls_however_late_their_usage_came() -> None:
    start = start_growth(Growth(k=1.2, a=10.0), "all", own_tokens=False)
    prompts = (5_000, 5_900, 7_300, 7_400)
    additions = [Addition(prompt=before, output=50, new_tokens=500.0) for before in prompts[:-1]]
    found = [
        pair_of(start, addition, prompt, expected=prompt, at_ms=number)
        for number, (addition, prompt) in enumerate(zip(additions, prompts[1:], strict=True))
    ]
    pairs = [pair for pair in found if pair is not None]
    assert pairs
    one_by_one = start
    for pair in pairs:
        one_by_one = take_pairs(one_by_one, (pair,))
    assert take_pairs(start, pairs) == one_by_one
    for order in itertools.permutations(pairs):
        assert take_pairs(start, order) == one_by_one
    small = Tuning(window=2)
    assert take_pairs(start, pairs[::-1], small).pairs == tuple(pairs[-2:])
