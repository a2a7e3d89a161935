"""Planner specification, section 3: which source decides a field, and what stays unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles import Layer, ModelFacts, ModelOverride, Prices, PriceTier, narrow_profile, resolve_profile

WORKED = {
    "*": ModelOverride(safety_margin_tokens=2_048),
    "ollama/*": ModelOverride(recent_tail_tokens=16_000),
    "openrouter/vendor/model": ModelOverride(context_window=200_000, max_retrieved_history_tokens=12_000),
}
"""The overrides of section 3.2."""


def layer(source: Any = "litellm", *, exact: bool = True, matched: str = "m", **facts: Any) -> Layer:
    return Layer(source=source, facts=ModelFacts(**facts), exact=exact, matched=matched)


DESCRIBED = (layer(context_window=128_000, max_output_tokens=16_384),)


class TestOverrides:
    def test_a_model_with_slashes_in_its_id_is_matched_whole(self) -> None:
        profile = resolve_profile("openrouter", "vendor/model", layers=DESCRIBED, overrides=WORKED)
        assert profile.key == "openrouter/vendor/model"
        assert (profile.context_window, profile.safety_margin_tokens) == (200_000, 2_048)
        assert profile.max_retrieved_history_tokens == 12_000
        assert profile.override_keys == ("*", "openrouter/vendor/model")

    def test_a_provider_is_matched_for_all_its_models(self) -> None:
        profile = resolve_profile("ollama", "qwen", layers=DESCRIBED, overrides=WORKED)
        assert (profile.safety_margin_tokens, profile.recent_tail_tokens) == (2_048, 16_000)
        assert profile.override_keys == ("*", "ollama/*")

    def test_any_other_model_gets_what_is_said_of_all(self) -> None:
        profile = resolve_profile("openai", "gpt-4o", layers=DESCRIBED, overrides=WORKED)
        assert profile.safety_margin_tokens == 2_048
        assert (profile.recent_tail_tokens, profile.max_retrieved_history_tokens) == (None, None)
        assert profile.override_keys == ("*",)

    def test_the_most_particular_key_wins_field_by_field(self) -> None:
        overrides = {
            "openai/gpt-4o": ModelOverride(max_output_tokens=1_000),
            "*": ModelOverride(context_window=8_000, max_output_tokens=3_000, reasoning=True),
            "openai/*": ModelOverride(max_output_tokens=2_000, images=True),
        }
        profile = resolve_profile("openai", "gpt-4o", overrides=overrides)
        assert profile.override_keys == ("*", "openai/*", "openai/gpt-4o")
        assert (profile.context_window, profile.max_output_tokens) == (8_000, 1_000)
        assert (profile.reasoning, profile.images) == (True, True)
        assert profile.sources["max_output_tokens"].detail == "openai/gpt-4o"
        assert profile.sources["images"].detail == "openai/*"

    def test_the_provider_ends_at_the_first_slash(self) -> None:
        overrides = {"openrouter/vendor/*": ModelOverride(context_window=1), "openrouter/*": ModelOverride(images=True)}
        profile = resolve_profile("openrouter", "vendor/model", overrides=overrides)
        assert profile.override_keys == ("openrouter/*",)

    def test_switched_off_they_are_ignored_and_characters_are_counted(self) -> None:
        overrides = WORKED | {"openai/gpt-4o": ModelOverride(token_estimator="o200k-base-v1")}
        profile = resolve_profile(
            "openai", "gpt-4o", layers=DESCRIBED, overrides=overrides, enabled=False, estimator="o200k-base-v1"
        )
        assert (profile.override_keys, profile.token_estimator) == ((), "chars-v1")
        assert (profile.context_window, profile.safety_margin_tokens) == (128_000, 2_560)

    def test_an_estimator_is_the_model_s_own_or_the_one_of_the_settings(self) -> None:
        overrides = {"openai/gpt-4o": ModelOverride(token_estimator="o200k-base-v1")}
        assert resolve_profile("openai", "gpt-4o", overrides=overrides).token_estimator == "o200k-base-v1"
        assert resolve_profile("openai", "o3", overrides=overrides).token_estimator == "chars-v1"
        assert resolve_profile("openai", "o3", estimator="o200k-base-v1").token_estimator == "o200k-base-v1"


class TestLimits:
    @pytest.mark.parametrize(
        ("window", "margin"),
        [
            (200_000, 4_000),
            (128_000, 2_560),
            (131_072, 2_622),
            (32_000, 1_024),
            (1_050_000, 8_192),
            (1_024, 1_024),
            (500, 500),
        ],
    )
    def test_the_safety_margin_is_two_per_cent_of_the_window_within_bounds(self, window: int, margin: int) -> None:
        assert resolve_profile("p", "m", layers=[layer(context_window=window)]).safety_margin_tokens == margin

    def test_a_margin_that_is_set_fits_into_the_window(self) -> None:
        profile = resolve_profile(
            "p", "m", overrides={"*": ModelOverride(context_window=1_000, safety_margin_tokens=5_000)}
        )
        assert profile.safety_margin_tokens == 1_000

    def test_an_answer_longer_than_the_window_is_cut_to_it(self) -> None:
        overrides = {"*": ModelOverride(context_window=8_000), "p/m": ModelOverride(max_output_tokens=16_000)}
        profile = resolve_profile("p", "m", overrides=overrides)
        assert profile.max_output_tokens == 8_000
        assert profile.sources["max_output_tokens"].detail == "p/m, cut to the window"

    def test_what_nobody_says_is_unknown(self) -> None:
        profile = resolve_profile("10.0.0.7:8000", "llama")
        assert (profile.context_window, profile.max_input_tokens, profile.max_output_tokens) == (None, None, None)
        assert (profile.reasoning, profile.images, profile.tools) == (None, None, None)
        assert (profile.prices, profile.cache_minimum_tokens) == (Prices(), None)
        assert profile.safety_margin_tokens == 1_024
        unknown = {field for field, origin in profile.sources.items() if origin.source == "unknown"}
        assert unknown >= {"context_window", "max_output_tokens", "input_price", "images"}

    def test_an_answer_is_known_without_a_window(self) -> None:
        profile = resolve_profile("p", "m", layers=[layer("provider", max_output_tokens=4_096)])
        assert (profile.context_window, profile.max_output_tokens) == (None, 4_096)

    def test_a_family_goes_by_model_and_dialect(self) -> None:
        assert resolve_profile("anthropic", "claude-sonnet-4-5", dialect="anthropic").family.startswith("claude")
        assert resolve_profile("p", "my-own-model").family == "unknown"


class TestWindows:
    def test_the_largest_input_is_the_window_where_no_source_says_more(self) -> None:
        profile = resolve_profile(
            "anthropic", "claude-sonnet-4-5", layers=[layer(max_input_tokens=200_000, max_output_tokens=64_000)]
        )
        assert (profile.context_window, profile.max_input_tokens) == (200_000, None)
        assert profile.sources["context_window"].detail == "m: the largest input, taken for the window"

    def test_output_comes_on_top_where_a_second_source_adds_it_up(self) -> None:
        layers = [
            layer(max_input_tokens=272_000, max_output_tokens=128_000, matched="gpt-5"),
            layer("genai-prices", context_window=400_000),
        ]
        profile = resolve_profile("openai", "gpt-5", layers=layers)
        assert (profile.context_window, profile.max_input_tokens) == (400_000, 272_000)
        origin = profile.sources["context_window"]
        assert origin.source == "litellm"
        assert origin.exact
        assert origin.detail == "gpt-5: 272,000 in and 128,000 out, as genai-prices adds up"

    def test_another_window_of_a_later_source_changes_nothing(self) -> None:
        layers = [
            layer(max_input_tokens=128_000, max_output_tokens=16_384),
            layer("genai-prices", context_window=400_000),
        ]
        assert resolve_profile("openai", "gpt-5-chat", layers=layers).context_window == 128_000

    def test_an_answer_as_long_as_the_input_shares_the_window_with_it(self) -> None:
        layers = [
            layer(max_input_tokens=128_000, max_output_tokens=128_000),
            layer("genai-prices", context_window=256_000),
        ]
        assert resolve_profile("mistral", "codestral-2508", layers=layers).context_window == 128_000

    def test_a_sum_that_only_a_similar_model_confirms_is_marked(self) -> None:
        layers = [
            layer(max_input_tokens=922_000, max_output_tokens=128_000),
            layer("genai-prices", context_window=1_050_000, exact=False),
        ]
        profile = resolve_profile("azure", "gpt-5.6-sol", layers=layers)
        assert profile.context_window == 1_050_000
        assert not profile.sources["context_window"].exact

    def test_a_similar_model_s_input_limit_counts_only_where_it_adds_up(self) -> None:
        adds_up = [
            layer("genai-prices", context_window=400_000),
            layer(max_input_tokens=272_000, max_output_tokens=128_000, exact=False),
        ]
        profile = resolve_profile("openrouter", "openai/gpt-5", layers=adds_up)
        assert (profile.context_window, profile.max_input_tokens, profile.max_output_tokens) == (
            400_000,
            272_000,
            128_000,
        )
        assert not profile.sources["max_input_tokens"].exact
        does_not = [
            layer("genai-prices", context_window=1_000_000),
            layer(max_input_tokens=200_000, max_output_tokens=64_000, exact=False),
        ]
        profile = resolve_profile("openrouter", "anthropic/claude-sonnet-4.5", layers=does_not)
        assert (profile.context_window, profile.max_input_tokens) == (1_000_000, None)

    def test_who_sets_the_window_sets_the_input(self) -> None:
        layers = [layer(max_input_tokens=272_000, max_output_tokens=128_000)]
        profile = resolve_profile(
            "openai", "gpt-5", layers=layers, overrides={"openai/gpt-5": ModelOverride(context_window=400_000)}
        )
        assert (profile.context_window, profile.max_input_tokens) == (400_000, None)


class TestSources:
    @pytest.mark.parametrize(
        ("said", "window", "source"),
        [
            ({"override", "litellm", "genai-prices", "provider"}, 1, "override"),
            ({"litellm", "genai-prices", "provider"}, 2, "litellm"),
            ({"genai-prices", "provider"}, 3, "genai-prices"),
            ({"provider"}, 4, "provider"),
            (set(), None, "unknown"),
        ],
    )
    def test_overrides_go_before_litellm_genai_prices_and_the_provider(
        self, said: set[str], window: int | None, source: str
    ) -> None:
        numbers = {"litellm": 2, "genai-prices": 3, "provider": 4}
        layers = [layer(name, context_window=number) for name, number in numbers.items() if name in said]
        overrides = {"p/m": ModelOverride(context_window=1)} if "override" in said else {}
        profile = resolve_profile("p", "m", layers=layers, overrides=overrides)
        assert (profile.context_window, profile.sources["context_window"].source) == (window, source)

    def test_each_field_comes_from_the_first_source_that_has_it(self) -> None:
        layers = [
            layer(max_output_tokens=2),
            layer("genai-prices", context_window=30, max_output_tokens=3),
            layer("provider", context_window=40, images=True, cache_minimum_tokens=1_024),
        ]
        profile = resolve_profile("p", "m", layers=layers)
        assert (profile.context_window, profile.max_output_tokens, profile.images) == (30, 2, True)
        assert profile.cache_minimum_tokens == 1_024

    def test_an_exact_id_of_the_last_source_goes_before_a_similar_one_of_the_first(self) -> None:
        layers = [layer(context_window=200_000, exact=False), layer("provider", context_window=8_192)]
        profile = resolve_profile("p", "m", layers=layers)
        assert (profile.context_window, profile.sources["context_window"].exact) == (8_192, True)

    def test_a_similar_model_is_used_where_nothing_exact_is_said_and_marked(self) -> None:
        """Complaint C31: a name of another provider was taken for the same, and nobody was told."""
        layers = [layer(context_window=200_000, exact=False, matched="m-20250929"), layer("provider", images=True)]
        profile = resolve_profile("p", "m", layers=layers)
        origin = profile.sources["context_window"]
        assert (profile.context_window, origin.exact, origin.detail) == (200_000, False, "m-20250929")

    def test_a_source_says_how_old_it_is(self) -> None:
        dated = Layer(
            source="genai-prices", facts=ModelFacts(context_window=1), exact=True, matched="gpt-5", as_of="0.2.3"
        )
        assert resolve_profile("p", "m", layers=[dated]).sources["context_window"].detail == "gpt-5 (0.2.3)"


class TestPrices:
    def test_each_price_comes_from_the_first_source_that_has_it(self) -> None:
        layers = [
            layer(prices=Prices(input=1.25, output=10.0)),
            layer("provider", prices=Prices(input=1.0, output=1.0, cache_read=0.1)),
        ]
        profile = resolve_profile("p", "m", layers=layers, overrides={"p/*": ModelOverride(output_price=2.0)})
        assert profile.prices == Prices(input=1.25, output=2.0, cache_read=0.1)
        assert [
            profile.sources[f"{part}_price"].source for part in ("input", "output", "cache_read", "cache_write")
        ] == [
            "litellm",
            "override",
            "provider",
            "unknown",
        ]

    def test_a_known_zero_is_free_and_no_gap_to_fill(self) -> None:
        layers = [layer(prices=Prices(input=0.0)), layer("provider", prices=Prices(input=3.0))]
        assert resolve_profile("p", "m", layers=layers).prices.input == 0.0

    def test_a_similar_model_s_prices_fill_no_gap_in_an_exact_price_list(self) -> None:
        layers = [
            layer(prices=Prices(input=3.0, cache_write=3.75), exact=False),
            layer("provider", prices=Prices(input=0.0)),
        ]
        assert resolve_profile("p", "m", layers=layers).prices == Prices(input=0.0)

    def test_a_similar_model_s_prices_are_better_than_none_and_marked(self) -> None:
        profile = resolve_profile("p", "m", layers=[layer(prices=Prices(input=3.0), exact=False)])
        assert (profile.prices.input, profile.sources["input_price"].exact) == (3.0, False)

    def test_tiers_stay_with_the_input_price_that_they_are_steps_of(self) -> None:
        tier = PriceTier(above=200_000, input=6.0, output=22.5)
        layers = [
            layer(prices=Prices(input=3.0, output=15.0)),
            layer("genai-prices", prices=Prices(input=3.0, output=15.0, tiers=(tier,))),
        ]
        assert resolve_profile("anthropic", "claude-sonnet-4-5", layers=layers).prices.tiers == ()
        assert resolve_profile("anthropic", "claude-sonnet-4-5", layers=layers[1:]).prices.tiers == (tier,)

    def test_a_price_that_is_set_holds_for_any_length(self) -> None:
        tiers = (PriceTier(above=200_000, input=6.0, output=22.5), PriceTier(above=400_000, input=12.0))
        layers = [layer(prices=Prices(input=3.0, output=15.0, tiers=tiers))]
        profile = resolve_profile("p", "m", layers=layers, overrides={"*": ModelOverride(input_price=1.0)})
        assert profile.prices == Prices(input=1.0, output=15.0, tiers=(PriceTier(above=200_000, output=22.5),))


tokens = st.none() | st.integers(1, 10_000_000)
prices = st.none() | st.floats(0, 1_000)
layers = st.builds(
    Layer,
    source=st.sampled_from(["litellm", "genai-prices", "provider"]),
    facts=st.builds(
        ModelFacts,
        context_window=tokens,
        max_input_tokens=tokens,
        max_output_tokens=tokens,
        images=st.none() | st.booleans(),
        prices=st.none() | st.builds(Prices, input=prices, cache_read=prices),
    ),
    exact=st.booleans(),
    matched=st.just("m"),
)
overrides = st.dictionaries(
    st.sampled_from(["*", "p/*", "p/m", "q/*"]),
    st.builds(ModelOverride, context_window=tokens, max_output_tokens=tokens, safety_margin_tokens=tokens),
)


@given(st.lists(layers, max_size=5), overrides)
def test_a_profile_never_exceeds_its_window_and_makes_up_nothing(
    given_layers: list[Layer], given_overrides: dict[str, ModelOverride]
) -> None:
    profile = resolve_profile("p", "m", layers=given_layers, overrides=given_overrides)
    window = profile.context_window
    if window is not None:
        assert (profile.max_output_tokens or 0) <= window
        assert profile.safety_margin_tokens <= window
        assert profile.max_input_tokens is None or profile.max_input_tokens < window
    facts = [one.facts for one in given_layers]
    said = {entry.context_window for entry in given_overrides.values()}
    said |= {number for one in facts for number in (one.context_window, one.max_input_tokens)}
    assert window in said | {None}
    assert profile.prices.input in {None} | {one.prices.input for one in facts if one.prices}


@given(
    st.permutations(
        [layer(name, context_window=index) for index, name in enumerate(("litellm", "genai-prices", "provider"), 1)]
    )
)
def test_layers_may_come_in_any_order(given_layers: list[Layer]) -> None:
    assert resolve_profile("p", "m", layers=given_layers).context_window == 1


class TestNarrowing:
    """What a client keeps to itself: the descriptor of section 3.2."""

    def test_a_smaller_window_of_the_client_holds_with_what_depends_on_it(self) -> None:
        published = resolve_profile("a", "m", layers=(layer(context_window=1_000_000, max_output_tokens=64_000),))
        narrowed = narrow_profile(published, 32_000, "Pi")
        assert (narrowed.context_window, narrowed.max_output_tokens) == (32_000, 32_000)
        assert (published.safety_margin_tokens, narrowed.safety_margin_tokens) == (8_192, 1_024)
        assert (narrowed.sources["context_window"].source, narrowed.sources["context_window"].detail) == (
            "client",
            "Pi",
        )
        assert narrowed.prices == published.prices

    def test_an_unknown_window_is_the_client_s(self) -> None:
        narrowed = narrow_profile(resolve_profile("a", "m"), 32_000, "Pi")
        assert (narrowed.context_window, narrowed.max_output_tokens) == (32_000, None)

    @pytest.mark.parametrize("window", [None, 0, 200_000, 1_000_000])
    def test_a_window_that_is_no_smaller_changes_nothing(self, window: int | None) -> None:
        published = resolve_profile("a", "m", layers=(layer(context_window=200_000),))
        assert narrow_profile(published, window, "Pi") is published

    def test_a_window_that_is_set_by_hand_stays(self) -> None:
        by_hand = resolve_profile("a", "m", overrides={"a/m": ModelOverride(context_window=300_000)})
        assert narrow_profile(by_hand, 200_000, "Pi") is by_hand

    def test_a_margin_that_is_set_by_hand_stays_within_the_window(self) -> None:
        overrides = {"a/m": ModelOverride(safety_margin_tokens=5_000)}
        published = resolve_profile("a", "m", layers=(layer(context_window=200_000),), overrides=overrides)
        assert narrow_profile(published, 100_000, "Pi").safety_margin_tokens == 5_000
        assert narrow_profile(published, 4_000, "Pi").safety_margin_tokens == 4_000
