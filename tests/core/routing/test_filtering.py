"""Who may be chosen at all (routing specification, sections 2.3, 3.2, 6 and 32)."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles import Prices
from ullage.core.routing.capability import tier_rank
from ullage.core.routing.exclusions import STAGES, StopCode
from ullage.core.routing.filtering import (
    Candidate,
    Constraints,
    Eligible,
    Limits,
    Needs,
    Pin,
    find_eligible,
    make_candidate,
    set_aside,
)
from ullage.core.routing.identity import find_match
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.pools import Pool

FRONTIER = "anthropic/claude-opus-5"
STRONG = "anthropic/claude-sonnet"
LIGHT = "anthropic/claude-haiku"
UNKNOWN = "local/llama"


def candidate(target: str, **facts: Any) -> Candidate:
    provider, _, name = target.partition("/")
    known = {"inputs": ("text", "image"), "context_window": 200_000, "max_output_tokens": 8_192}
    return make_candidate(ModelRecord(provider=provider, id=name, **(known | facts)))


def find(*candidates: Candidate, **limits: Any) -> Eligible:
    return find_eligible(candidates, Limits(**limits))


def eligible(found: Eligible) -> list[str]:
    return [one.target for one in found.candidates]


def codes(found: Eligible) -> dict[str, str]:
    return {one.target: one.code for one in found.excluded}


class TestFit:
    @pytest.mark.parametrize(("context", "fits"), [(109_523, True), (109_524, False)])
    def test_the_window_holds_the_prompt_with_its_margin_and_the_answer(self, context: int, fits: bool) -> None:
        needs = Needs(context_tokens=context, output_tokens=2_048)
        found = find(candidate(FRONTIER, context_window=128_000), needs=needs)
        assert bool(found.candidates) is fits

    @pytest.mark.parametrize(
        ("context", "output", "needed"),
        [(109_523, 2_048, 128_000), (101_024, 2_048, 118_226), (100, 0, 115), (0, 2_048, 2_048), (1, 0, 2)],
    )
    def test_what_is_needed_is_counted_exactly(self, context: int, output: int, needed: int) -> None:
        """1.15 times 100 is 114.99999999999999 as a float."""
        assert Needs(context_tokens=context, output_tokens=output).window_tokens == needed

    def test_a_window_that_is_too_small_is_told_with_both_numbers(self) -> None:
        needs = Needs(context_tokens=101_024, output_tokens=2_048)
        found = find(candidate(FRONTIER, context_window=100_000), candidate(LIGHT, context_window=60_000), needs=needs)
        assert set(codes(found).values()) == {"window-too-small"}
        assert found.excluded[0].reason == "its context window is 60,000 tokens, 118,226 are needed"
        assert found.stop is not None
        assert (found.stop.code, found.stop.stage) == ("incompatible", "fit")
        assert found.stop.message == (
            "no model fits the request: a context window of 118,226 tokens is needed, the largest is 100,000 "
            "(anthropic/claude-opus-5)"
        )

    def test_the_answer_has_to_fit_too(self) -> None:
        found = find(candidate(FRONTIER, max_output_tokens=2_047), needs=Needs(output_tokens=2_048))
        assert codes(found) == {FRONTIER: "output-too-small"}
        assert found.stop is not None
        assert "an answer of 2,048 tokens is needed, the longest is 2,047" in found.stop.message

    def test_pictures_need_a_model_that_reads_them(self) -> None:
        found = find(candidate(FRONTIER, inputs=("text",)), candidate(STRONG), needs=Needs(images=True))
        assert eligible(found) == [STRONG]
        assert codes(found) == {FRONTIER: "no-vision"}
        alone = find(candidate(FRONTIER, inputs=("text",)), needs=Needs(images=True))
        assert alone.stop is not None
        assert alone.stop.message == "no model fits the request: pictures are to be read, 1 of the models cannot"

    def test_a_request_that_has_no_form_in_a_targets_protocol_goes_to_another(self) -> None:
        reason = "candidateCount: several answers to one request have no place in the target's protocol."
        found = find(candidate(FRONTIER), candidate(STRONG), untranslatable={FRONTIER: reason})
        assert eligible(found) == [STRONG]
        assert codes(found) == {FRONTIER: "dialect"}
        alone = find(candidate(FRONTIER), untranslatable={FRONTIER: reason})
        assert alone.stop is not None
        assert alone.stop.code == "incompatible"
        assert f"the request has no form in its protocol: {reason} ({FRONTIER})" in alone.stop.message

    def test_the_least_tier_is_a_matter_of_rank(self) -> None:
        found = find(candidate(FRONTIER), candidate(STRONG), candidate(LIGHT), needs=Needs(minimum_tier="strong"))
        assert eligible(found) == [FRONTIER, STRONG]
        assert codes(found) == {LIGHT: "tier-too-low"}
        alone = find(candidate(LIGHT), needs=Needs(minimum_tier="frontier"))
        assert alone.stop is not None
        assert alone.stop.code == "incompatible"
        assert "the tier frontier is needed, the highest is light" in alone.stop.message

    def test_a_long_context_never_reaches_a_small_window(self) -> None:
        """Complaint C2: 92,208 tokens were sent to a window of 65,536."""
        small, large = candidate(FRONTIER, context_window=65_536), candidate(LIGHT)
        assert eligible(find(small, large, needs=Needs(context_tokens=92_208))) == [LIGHT]

    def test_a_request_must_fit_before_any_tier_counts(self) -> None:
        """Complaint C11: "ok continue" in a long session went to a model of 16k."""
        needs = Needs(context_tokens=60_000, output_tokens=2_048)
        found = find(candidate(LIGHT, context_window=16_384), candidate(FRONTIER), needs=needs)
        assert eligible(found) == [FRONTIER]


class TestDoubts:
    @pytest.mark.parametrize(
        ("facts", "code"),
        [
            ({"context_window": None}, "window-unknown"),
            ({"max_output_tokens": None}, "output-unknown"),
            ({"inputs": None}, "vision-unknown"),
        ],
    )
    def test_what_is_not_known_to_fit_stands_in_only_for_want_of_another(
        self, facts: dict[str, Any], code: str
    ) -> None:
        needs = Needs(images=True, context_tokens=1_024, output_tokens=2_048)
        doubtful = candidate(FRONTIER, **facts)
        found = find(doubtful, candidate(LIGHT), needs=needs)
        assert eligible(found) == [LIGHT]
        assert codes(found) == {FRONTIER: code}
        alone = find(doubtful, needs=needs)
        assert eligible(alone) == [FRONTIER]
        assert alone.warnings[0].startswith(f"{FRONTIER} stands in for want of a better known one: ")

    def test_many_that_stand_in_for_one_doubt_are_told_in_a_sentence(self) -> None:
        doubtful = [candidate(f"p/m{number}", max_output_tokens=None) for number in range(5)]
        (warning,) = find(*doubtful, needs=Needs(output_tokens=2_048)).warnings
        assert warning.startswith("p/m0, p/m1, p/m2 and 2 more stand in for want of a better known one: ")

    @pytest.mark.parametrize("tier", ["light", "mid"])
    def test_low_and_medium_keep_unknown_models_as_a_last_resort(self, tier: str) -> None:
        found = find(candidate(UNKNOWN), candidate(STRONG), needs=Needs(pinned_tier=tier))
        assert eligible(found) == [STRONG]
        assert codes(found) == {UNKNOWN: "tier-unknown"}
        alone = find(candidate(UNKNOWN), needs=Needs(pinned_tier=tier))
        assert eligible(alone) == [UNKNOWN]
        assert alone.warnings

    @pytest.mark.parametrize("tier", ["strong", "frontier"])
    def test_high_and_ultra_never_take_an_unknown_model(self, tier: str) -> None:
        found = find(candidate(UNKNOWN), needs=Needs(pinned_tier=tier))
        assert found.stop is not None
        assert (found.stop.code, found.stop.stage) == ("unmatched-pin", "pin")
        assert found.stop.message == f"the prompt pins the tier {tier}, the highest there is unknown"

    def test_the_least_tier_of_a_task_is_never_waived(self) -> None:
        found = find(candidate(UNKNOWN), needs=Needs(minimum_tier="light"))
        assert codes(found) == {UNKNOWN: "tier-unknown"}
        assert found.stop is not None
        assert "the tier light is needed, the highest is unknown (local/llama)" in found.stop.message

    def test_who_is_barred_is_not_told_as_a_doubt(self) -> None:
        found = find(candidate(FRONTIER, context_window=None, max_output_tokens=5), needs=Needs(output_tokens=10))
        assert codes(found) == {FRONTIER: "output-too-small"}


class TestConstraints:
    @pytest.mark.parametrize(
        ("constraints", "left"),
        [
            (Constraints(), [LIGHT, FRONTIER, STRONG, UNKNOWN]),
            (Constraints(provider_allow=("anthropic",)), [LIGHT, FRONTIER, STRONG]),
            (Constraints(provider_deny=("ANTHROPIC",)), [UNKNOWN]),
            (Constraints(provider_allow=("*",), provider_deny=("anthropic",)), [UNKNOWN]),
            (Constraints(model_include=("*claude*",)), [LIGHT, FRONTIER, STRONG]),
            (Constraints(model_exclude=("*/claude-*",)), [UNKNOWN]),
            (Constraints(model_include=("*claude*",), model_exclude=("*opus*", "*sonnet")), [LIGHT]),
            (Constraints(auto_exclude=("anthropic/*",)), [UNKNOWN]),
        ],
    )
    def test_deny_and_exclude_win_over_allow_and_include(self, constraints: Constraints, left: list[str]) -> None:
        """Complaint C20: an allow-list was ignored."""
        found = find(*map(candidate, (FRONTIER, STRONG, LIGHT, UNKNOWN)), constraints=constraints)
        assert eligible(found) == left

    def test_each_exclusion_has_its_code(self) -> None:
        found = find(
            candidate("ullage/auto"),
            candidate("a/x"),
            candidate("b/x", authenticated=False),
            candidate("c/x"),
            candidate("d/x"),
            candidate("e/x"),
            candidate("f/x"),
            candidate("g/x"),
            scope=("ullage/*", "b/*", "c/*", "d/*", "e/*", "f/*", "g/*"),
            constraints=Constraints(
                provider_allow=("c", "e", "f", "g"),
                provider_deny=("c",),
                model_exclude=("e/*",),
                model_include=("f/*",),
                auto_exclude=("f/*",),
            ),
        )
        assert codes(found) == {
            "ullage/auto": "virtual-entry",
            "a/x": "out-of-scope",
            "b/x": "no-credential",
            "c/x": "provider-denied",
            "d/x": "provider-not-allowed",
            "e/x": "model-excluded",
            "f/x": "auto-excluded",
            "g/x": "model-not-included",
        }
        assert {one.stage for one in found.excluded} == {"constraints"}

    @pytest.mark.parametrize("target", ["pi-auto-model/auto", "corp/ullage/auto"])
    def test_an_entry_of_the_router_itself_is_no_candidate_at_any_provider(self, target: str) -> None:
        found = find(candidate(target))
        assert found.stop is not None
        assert found.stop.code == "scope-empty"

    def test_no_models_are_an_empty_scope(self) -> None:
        assert (stop := find().stop) is not None
        assert (stop.code, stop.message) == ("scope-empty", "there are no models")
        assert (stop := find(candidate(FRONTIER), scope=("openai/*",)).stop) is not None
        assert (stop.code, stop.message) == ("scope-empty", "no model is in the scope")

    def test_without_any_credential_that_is_what_is_missing(self) -> None:
        stop = find(candidate(FRONTIER, authenticated=False), candidate("ullage/auto")).stop
        assert stop is not None
        assert (stop.code, stop.targets) == ("auth-unavailable", (FRONTIER,))

    def test_constraints_that_leave_nobody_name_whom_they_took(self) -> None:
        stop = find(
            candidate(FRONTIER),
            candidate(UNKNOWN, authenticated=False),
            constraints=Constraints(model_exclude=("*opus*",)),
        ).stop
        assert stop is not None
        assert (stop.code, stop.targets) == ("filtered-by-constraints", (FRONTIER,))
        assert stop.message == f"the constraints leave no model: {FRONTIER} (it is excluded by '*opus*')"

    def test_a_message_of_many_models_names_a_few(self) -> None:
        stop = find(*(candidate(f"p/{name}") for name in "abcde"), constraints=Constraints(provider_deny=("p",))).stop
        assert stop is not None
        why = "its provider is denied by 'p'"
        assert stop.message == f"the constraints leave no model: p/a ({why}), p/b ({why}), p/c ({why}), and 2 more"


STOPS: list[tuple[StopCode, list[Candidate], dict[str, Any]]] = [
    ("scope-empty", [], {}),
    ("scope-empty", [candidate(FRONTIER)], {"scope": ("openai/*",)}),
    ("auth-unavailable", [candidate(FRONTIER, authenticated=False)], {}),
    ("filtered-by-constraints", [candidate(FRONTIER)], {"constraints": Constraints(provider_deny=("*",))}),
    ("unmatched-pin", [candidate(FRONTIER)], {"pin": Pin(target="x/y", kind="manual")}),
    ("unmatched-pin", [candidate(LIGHT)], {"needs": Needs(pinned_tier="frontier")}),
    ("incompatible", [candidate(LIGHT)], {"needs": Needs(minimum_tier="frontier")}),
    ("incompatible", [candidate(UNKNOWN)], {"needs": Needs(minimum_tier="frontier")}),
    ("incompatible", [candidate(LIGHT)], {"untranslatable": {LIGHT: "it has no form."}}),
    ("incompatible", [candidate(LIGHT, inputs=("text",))], {"needs": Needs(images=True)}),
    ("incompatible", [candidate(LIGHT, context_window=1)], {"needs": Needs(context_tokens=1_000)}),
    ("incompatible", [candidate(LIGHT, max_output_tokens=1)], {"needs": Needs(output_tokens=1_000)}),
    ("circuits-open", [candidate(LIGHT)], {"open_circuits": {LIGHT: 5}}),
    ("pool-empty", [candidate(LIGHT)], {"pool": Pool(targets={"x/y": 1})}),
]


@pytest.mark.parametrize(("code", "candidates", "limits"), STOPS)
def test_every_stop_has_a_next_step(code: StopCode, candidates: list[Candidate], limits: dict[str, Any]) -> None:
    stop = find(*candidates, **limits).stop
    assert stop is not None
    assert stop.code == code
    assert stop.hint.endswith(".")


def test_no_stop_is_left_out_there() -> None:
    assert {code for code, _, _ in STOPS} == set(get_args(StopCode))


class TestPins:
    def test_an_exact_pin_leaves_its_target_only(self) -> None:
        found = find(candidate(FRONTIER), candidate(LIGHT), pin=Pin(target=LIGHT, kind="prompt"))
        assert eligible(found) == [LIGHT]
        assert codes(found) == {FRONTIER: "not-pinned"}

    def test_an_absent_pin_stops_and_nothing_is_taken_in_its_place(self) -> None:
        stop = find(candidate(FRONTIER), pin=Pin(target="x/y", kind="prompt")).stop
        assert stop is not None
        assert (stop.code, stop.targets) == ("unmatched-pin", ("x/y",))
        assert stop.message == "the pinned x/y cannot be used: there is no such candidate"

    @pytest.mark.parametrize("kind", ["manual", "prompt"])
    def test_a_pin_obeys_constraints_fit_and_circuits(self, kind: Any) -> None:
        pin = Pin(target=FRONTIER, kind=kind)
        both = (candidate(FRONTIER, context_window=1_000), candidate(LIGHT))
        stops = [
            find(*both, pin=pin, constraints=Constraints(model_exclude=("*opus*",))).stop,
            find(*both, pin=pin, needs=Needs(context_tokens=1_000)).stop,
            find(*both, pin=pin, open_circuits={FRONTIER: 5}).stop,
        ]
        assert [stop and stop.code for stop in stops] == ["unmatched-pin", "incompatible", "circuits-open"]
        assert stops[0] is not None
        assert stops[0].message == f"the pinned {FRONTIER} cannot be used: it is excluded by '*opus*'"

    def test_a_manual_pin_beats_the_pool(self) -> None:
        """Contradiction 2: theirs is searched within the pool."""
        pool = Pool(targets={FRONTIER: 1})
        both = (candidate(FRONTIER), candidate(LIGHT))
        assert eligible(find(*both, pool=pool)) == [FRONTIER]
        assert eligible(find(*both, pool=pool, pin=Pin(target=LIGHT, kind="manual"))) == [LIGHT]
        stop = find(*both, pool=pool, pin=Pin(target=LIGHT, kind="prompt")).stop
        assert stop is not None
        assert stop.code == "pool-empty"

    def test_what_may_not_be_chosen_may_be_named(self) -> None:
        """Complaint C21: usable by name, not by auto."""
        rules = Constraints(auto_exclude=("*opus*",))
        assert eligible(find(candidate(FRONTIER), candidate(LIGHT), constraints=rules)) == [LIGHT]
        named = find(candidate(FRONTIER), constraints=rules, pin=Pin(target=FRONTIER, kind="prompt"))
        assert eligible(named) == [FRONTIER]

    def test_a_pinned_tier_is_a_stage_before_the_fit(self) -> None:
        found = find(candidate(FRONTIER), candidate(LIGHT), needs=Needs(pinned_tier="strong", context_tokens=190_000))
        assert {one.target: one.stage for one in found.excluded} == {FRONTIER: "fit", LIGHT: "pin"}
        assert found.stop is not None
        assert found.stop.stage == "fit"


class TestCircuitsAndPools:
    def test_an_open_circuit_is_never_tried(self) -> None:
        """Complaint C14: a tier was picked whatever the health of its models."""
        found = find(candidate(FRONTIER), candidate(LIGHT), open_circuits={FRONTIER: 9})
        assert eligible(found) == [LIGHT]
        assert codes(found) == {FRONTIER: "circuit-open"}

    def test_if_all_are_open_the_earliest_reopening_is_told(self) -> None:
        stop = find(candidate(FRONTIER), candidate(LIGHT), open_circuits={FRONTIER: 900, LIGHT: 700}).stop
        assert stop is not None
        assert (stop.code, stop.reopens_ms) == ("circuits-open", 700)
        stop = find(candidate(FRONTIER), open_circuits={FRONTIER: None}).stop
        assert stop is not None
        assert stop.reopens_ms is None

    def test_a_pool_admits_its_members_only(self) -> None:
        found = find(candidate(FRONTIER), candidate(LIGHT), pool=Pool(providers={"openai": 1}))
        assert found.stop is not None
        assert (found.stop.code, found.stop.targets) == ("pool-empty", (LIGHT, FRONTIER))

    def test_a_pool_that_falls_back_admits_others_when_no_member_is_left(self) -> None:
        pool = Pool(targets={FRONTIER: 1}, fallback="any")
        both = (candidate(FRONTIER), candidate(LIGHT))
        assert eligible(find(*both, pool=pool)) == [FRONTIER]
        found = find(*both, pool=pool, open_circuits={FRONTIER: 5})
        assert eligible(found) == [LIGHT]
        assert found.warnings == ("no member of the pool is available, so others are admitted",)

    def test_a_pool_bypasses_no_other_filter(self) -> None:
        found = find(
            candidate(FRONTIER, context_window=10), pool=Pool(targets={FRONTIER: 1}), needs=Needs(context_tokens=99)
        )
        assert codes(found) == {FRONTIER: "window-too-small"}


class TestOrder:
    """The examples of section 2.3: what is hard comes first, what is soft never empties the set."""

    def test_a_provider_without_quota_is_kept_where_the_other_does_not_fit(self) -> None:
        """Contradiction 1: theirs drops the one that fits, and then has none."""
        a, b = candidate("p/a"), candidate("q/b", context_window=1_000)
        found = find(a, b, needs=Needs(context_tokens=10_000))
        kept, dropped = set_aside(found.candidates, "quota", {"p/a": "quota blocked"})
        assert [one.target for one in kept] == ["p/a"]
        assert dropped == ()

    def test_a_cheaper_one_outside_the_pool_does_not_count(self) -> None:
        a = candidate("p/a", prices=Prices(input=10.0, output=10.0))
        b = candidate("q/b", prices=Prices(input=1.0, output=1.0))
        assert eligible(find(a, b, pool=Pool(targets={"p/a": 1}))) == ["p/a"]

    def test_what_is_set_aside_has_stage_code_and_reason(self) -> None:
        kept, dropped = set_aside((candidate("p/a"), candidate("q/b")), "quota", {"q/b": "q is in cooldown"})
        assert [one.target for one in kept] == ["p/a"]
        assert [(one.target, one.stage, one.code, one.reason) for one in dropped] == [
            ("q/b", "quota", "quota-blocked", "q is in cooldown")
        ]

    def test_stages_are_numbered_as_in_the_specification(self) -> None:
        assert list(STAGES.values()) == [3, 4, 5, 6, 7, 8, 9, 10]


TARGETS = (FRONTIER, STRONG, LIGHT, UNKNOWN, "google/gemini-flash-latest", "gateway/openai/gpt-5", "ullage/auto")
TIERS = ("light", "mid", "strong", "frontier")
patterns = st.lists(
    st.sampled_from(["*", "anthropic", "anthropic/*", "*claude*", "local*", "*gpt-5", "x"]), max_size=2
).map(tuple)
sizes = st.none() | st.sampled_from([1_000, 50_000, 200_000])
some_candidates = st.lists(
    st.builds(
        candidate,
        st.sampled_from(TARGETS),
        context_window=sizes,
        max_output_tokens=sizes,
        inputs=st.sampled_from([None, ("text",), ("text", "image")]),
        authenticated=st.booleans() | st.just(True),
    ),
    unique_by=lambda one: one.target,
)
some_limits = st.builds(
    Limits,
    needs=st.builds(
        Needs,
        context_tokens=st.sampled_from([0, 800, 40_000, 150_000]),
        output_tokens=st.sampled_from([0, 2_048, 60_000]),
        images=st.booleans(),
        minimum_tier=st.none() | st.sampled_from(TIERS),
        pinned_tier=st.none() | st.sampled_from(TIERS),
    ),
    constraints=st.builds(
        Constraints,
        provider_allow=patterns,
        provider_deny=patterns,
        model_include=patterns,
        model_exclude=patterns,
        auto_exclude=patterns,
    )
    | st.just(Constraints()),
    scope=patterns,
    pin=st.none() | st.builds(Pin, target=st.sampled_from(TARGETS), kind=st.sampled_from(["manual", "prompt"])),
    open_circuits=st.dictionaries(st.sampled_from(TARGETS), st.none() | st.integers(0, 9), max_size=3),
    pool=st.none()
    | st.builds(
        Pool,
        targets=st.dictionaries(st.sampled_from(TARGETS), st.just(1.0), max_size=3),
        fallback=st.sampled_from(["none", "any"]),
    ),
)


class TestInvariants:
    @given(some_candidates, some_limits)
    def test_a_hard_constraint_is_never_broken(self, candidates: list[Candidate], limits: Limits) -> None:
        """What is known of who passed keeps every limit; by any pin and any pool."""
        for one in find_eligible(candidates, limits).candidates:
            rules, needs, model, target = limits.constraints, limits.needs, one.model, one.target
            assert model.authenticated
            assert target != "ullage/auto"
            assert not limits.scope or find_match(limits.scope, target)
            assert not find_match(rules.provider_deny, model.provider)
            assert not find_match(rules.model_exclude, target)
            assert not rules.provider_allow or find_match(rules.provider_allow, model.provider)
            assert not rules.model_include or find_match(rules.model_include, target)
            pinned = limits.pin is not None and limits.pin.target == target
            assert limits.pin is None or pinned
            assert pinned or not find_match(rules.auto_exclude, target)
            assert target not in limits.open_circuits
            assert model.context_window is None or needs.window_tokens <= model.context_window
            assert model.max_output_tokens is None or needs.output_tokens <= model.max_output_tokens
            assert not needs.images or model.inputs is None or "image" in model.inputs
            tier = one.capability.overall
            for least in (needs.minimum_tier, None if pinned else needs.pinned_tier):
                stands_in = tier == "unknown" and least in ("light", "mid") and needs.minimum_tier is None
                assert least is None or stands_in or tier_rank(tier) >= tier_rank(least)

    @given(some_candidates, some_limits)
    def test_everybody_passes_or_has_a_reason(self, candidates: list[Candidate], limits: Limits) -> None:
        found = find_eligible(candidates, limits)
        targets = eligible(found) + [one.target for one in found.excluded]
        assert sorted(targets) == sorted(one.target for one in candidates)
        assert (found.stop is None) is bool(found.candidates)
        assert all(one.reason for one in found.excluded)

    @given(some_candidates, some_limits, st.randoms(use_true_random=False))
    def test_the_order_of_the_candidates_is_irrelevant(
        self, candidates: list[Candidate], limits: Limits, chance: Any
    ) -> None:
        shuffled = list(candidates)
        chance.shuffle(shuffled)
        assert find_eligible(shuffled, limits) == find_eligible(candidates, limits)

    @given(some_candidates, some_limits)
    def test_one_more_that_is_out_changes_nothing(self, candidates: list[Candidate], limits: Limits) -> None:
        found = find_eligible(candidates, limits)
        for out in found.excluded if found.candidates else ():
            without = find_eligible([one for one in candidates if one.target != out.target], limits)
            assert (without.candidates, without.warnings) == (found.candidates, found.warnings)
            assert without.excluded == tuple(one for one in found.excluded if one != out)
