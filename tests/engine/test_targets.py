"""Where a routed request may go: candidates, addresses, keys (routing specification, section 6; design, section 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import convert

from ullage.core.profiles import Layer, ModelFacts, Prices
from ullage.core.routing.filtering import Limits, find_eligible
from ullage.engine.targets import ConfiguredTargets
from ullage.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ullage.core.routing.filtering import Candidate
    from ullage.core.wire import Dialect

KNOWN = ModelFacts(context_window=200_000, max_output_tokens=32_000, images=True, prices=Prices(input=3, output=15))
PUBLISHED = {
    "anthropic": {
        "claude-opus-5": KNOWN,
        "claude-sonnet-4-5": KNOWN,
        "claude-sonnet-4-5-20250929": KNOWN,
        "nobody-knows-how-able": KNOWN,
        "claude-haiku": ModelFacts(prices=Prices(input=1, output=5)),
        "claude-opus-4-8": ModelFacts(context_window=200_000),
    },
    "openai": {"gpt-5": KNOWN},
}


class Published:
    """What catalogues and providers say, by provider and model."""

    def __init__(self, models: Mapping[str, Mapping[str, ModelFacts]] = PUBLISHED) -> None:
        self.edition: object = object()
        self.said = models

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        facts = self.said.get(provider, {}).get(model)
        return () if facts is None else (Layer(source="litellm", facts=facts, exact=True, matched=model, as_of=None),)

    def models(self, provider: str) -> Sequence[str]:
        return tuple(self.said.get(provider, ()))


def targets(
    environ: Mapping[str, str] | None = None, offers: Published | None = None, **settings: Any
) -> ConfiguredTargets:
    return ConfiguredTargets(convert(settings, Settings), environ or {}, offers or Published())


def names(found: Sequence[Candidate]) -> list[str]:
    return [one.target for one in found]


def test_without_a_scope_models_are_candidates_that_enough_is_known_of() -> None:
    found = targets().candidates("anthropic", client_key=True)
    assert names(found) == ["anthropic/claude-opus-5", "anthropic/claude-sonnet-4-5"]
    assert all(one.model.authenticated for one in found)
    assert found[0].model.context_window == 200_000
    assert (found[0].price.source, found[0].price.prices.output, found[0].model.inputs) == (
        "litellm",
        15,
        ("text", "image"),
    )
    assert found[0].capability.overall == "frontier"


def test_the_same_candidates_are_the_same_object_until_something_new_is_known() -> None:
    offers = Published()
    there = targets(offers=offers)
    first = there.candidates("anthropic", client_key=True)
    assert there.candidates("anthropic", client_key=True) is first
    offers.edition = object()
    offers.said = {"anthropic": {"claude-opus-5": KNOWN}}
    assert names(there.candidates("anthropic", client_key=True)) == ["anthropic/claude-opus-5"]


def test_a_client_without_a_key_needs_one_of_ours() -> None:
    (found, *_) = targets().candidates("anthropic", client_key=False)
    assert not found.model.authenticated
    (found, *_) = targets({"ANTHROPIC_API_KEY": "k"}).candidates("anthropic", client_key=False)
    assert found.model.authenticated


def test_without_translation_only_providers_that_speak_the_clients_dialect_are_candidates() -> None:
    there = targets({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, routing={"translate": False})
    assert names(there.candidates("openai-responses", client_key=False)) == ["openai/gpt-5"]
    assert there.destination("anthropic/claude-opus-5", "openai-chat", client_key=True) is None


def test_a_provider_of_another_dialect_is_spoken_to_in_the_first_of_its_own_with_our_key() -> None:
    there = targets({"OPENAI_API_KEY": "ours", "ANTHROPIC_API_KEY": "k"})
    found = {one.target: one.model.api for one in there.candidates("anthropic", client_key=True)}
    assert found == {
        "anthropic/claude-opus-5": "anthropic",
        "anthropic/claude-sonnet-4-5": "anthropic",
        "openai/gpt-5": "openai-responses",
    }
    away = there.destination("openai/gpt-5", "anthropic", client_key=True)
    assert away is not None and away.credential is not None
    assert (away.dialect, away.client_key, away.credential.reveal()) == ("openai-responses", False, "ours")


def test_a_provider_of_another_dialect_without_a_key_is_a_candidate_only_if_it_is_named() -> None:
    assert "openai/gpt-5" not in names(targets().candidates("anthropic", client_key=True))
    named = targets(routing={"models": ["openai/*"]})
    (found,) = named.candidates("anthropic", client_key=True)
    assert (found.target, found.model.authenticated) == ("openai/gpt-5", False)
    assert named.destination("openai/gpt-5", "anthropic", client_key=True) is None


def test_the_clients_key_goes_to_the_default_upstream_of_its_protocol_alone() -> None:
    """Design, section 10."""
    there = targets(
        {"OPENROUTER_API_KEY": "router", "OPENAI_API_KEY": "ours"},
        Published({"openai": {"gpt-5": KNOWN}, "openrouter": {"openai/gpt-5": KNOWN}}),
    )
    own = there.destination("openai/gpt-5", "openai-chat", client_key=True)
    other = there.destination("openrouter/openai/gpt-5", "openai-chat", client_key=True)
    without = there.destination("openai/gpt-5", "openai-chat", client_key=False)
    assert own is not None and other is not None and without is not None
    assert (own.client_key, own.credential, own.root) == (True, None, "https://api.openai.com")
    assert (other.client_key, other.root, other.model) == (False, "https://openrouter.ai/api", "openai/gpt-5")
    assert other.credential is not None and other.credential.reveal() == "router"
    assert not without.client_key
    assert without.credential is not None and without.credential.reveal() == "ours"


def test_a_key_of_one_provider_is_never_sent_to_another() -> None:
    there = targets(
        {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
        providers={
            "odd": {
                "url": "https://api.deepseek.com",
                "dialects": ["openai-chat"],
                "key": "env:OPENAI_API_KEY",
                "models": ["m"],
            },
            "clear": {
                "url": "http://llm.example",
                "dialects": ["openai-chat"],
                "key": "env:ANTHROPIC_API_KEY",
                "models": ["m"],
            },
        },
    )
    for target in ("odd/m", "clear/m"):
        assert there.destination(target, "openai-chat", client_key=True) is None
    assert not any(
        one.model.authenticated for one in there.candidates("openai-chat", client_key=False) if one.model.id == "m"
    )
    told = {one.name: one.problem for one in there.providers}
    assert told["odd"].startswith("api.deepseek.com is deepseek, and a key of openai is not sent there.")
    assert told["clear"].startswith("A key of anthropic is not sent to llm.example in clear text.")


def test_a_provider_of_this_machine_gets_no_key_at_all() -> None:
    there = targets(providers={"ollama": {"models": ["qwen3:8b"]}})
    found = there.destination("ollama/qwen3:8b", "openai-chat", client_key=True)
    assert found is not None
    assert (found.credential, found.client_key, found.root) == (None, False, "http://127.0.0.1:11434")
    assert "ollama/qwen3:8b" in names(there.candidates("openai-chat", client_key=False))


def test_a_dialect_that_goes_elsewhere_leaves_its_usual_provider() -> None:
    """Whoever puts a proxy in the provider's place does not want it passed by."""
    there = targets(
        {"ANTHROPIC_API_KEY": "k"},
        Published({"127.0.0.1:9000": {"claude-opus-5": KNOWN}, **PUBLISHED}),
        upstreams={"anthropic": "http://127.0.0.1:9000"},
    )
    assert [one.model.provider for one in there.candidates("anthropic", client_key=False)] == []
    assert there.destination("anthropic/claude-opus-5", "anthropic", client_key=False) is None
    named = targets(
        {"ANTHROPIC_API_KEY": "k"}, upstreams={"anthropic": "http://127.0.0.1:9000"}, providers={"anthropic": {}}
    )
    assert named.destination("anthropic/claude-opus-5", "anthropic", client_key=False) is not None


def test_what_a_provider_speaks_is_what_the_settings_say() -> None:
    there = targets({"OPENAI_API_KEY": "k"}, providers={"openai": {"dialects": ["openai-chat"]}})
    assert there.destination("openai/gpt-5", "openai-chat", client_key=True) is not None
    away = there.destination("openai/gpt-5", "openai-responses", client_key=True)
    assert away is not None
    assert away.dialect == "openai-chat"


def test_a_provider_at_the_address_of_an_upstream_gets_the_clients_key() -> None:
    there = targets(
        upstreams={"anthropic": "http://127.0.0.1:9000"},
        providers={
            "fake": {"url": "http://127.0.0.1:9000/v1", "dialects": ["anthropic", "openai-chat"], "models": ["m"]}
        },
    )
    own = there.destination("fake/m", "anthropic", client_key=True)
    other = there.destination("fake/m", "openai-chat", client_key=True)
    assert own is not None and other is not None
    assert (own.client_key, other.client_key) == (True, False)


def test_a_scope_names_who_may_be_chosen_whatever_is_known_of_them() -> None:
    there = targets(routing={"models": ["anthropic/*-opus-*", "anthropic/made-up"]})
    assert names(there.candidates("anthropic", client_key=True)) == [
        "anthropic/claude-opus-5",
        "anthropic/claude-opus-4-8",
        "anthropic/made-up",
    ]


def chosen_among(there: ConfiguredTargets, *scope: str) -> list[str]:
    found = there.candidates("anthropic", client_key=True)
    return [one.target for one in find_eligible(found, Limits(scope=scope)).candidates]


def test_models_of_an_alias_are_candidates_under_that_alias_and_change_nothing_without_it() -> None:
    there = targets(
        routing={"aliases": {"x": {"models": ["anthropic/nobody-*", "anthropic/claude-sonnet-4-5-20250929"]}}}
    )
    assert chosen_among(there) == chosen_among(targets()) == ["anthropic/claude-opus-5", "anthropic/claude-sonnet-4-5"]
    assert chosen_among(there, "anthropic/nobody-*") == ["anthropic/nobody-knows-how-able"]
    assert "anthropic/claude-sonnet-4-5-20250929" in chosen_among(there, "anthropic/claude-sonnet-4-5-20250929")
    told = find_eligible(there.candidates("anthropic", client_key=True), Limits()).excluded
    assert {one.target: one.code for one in told} == {
        "anthropic/nobody-knows-how-able": "out-of-scope",
        "anthropic/claude-sonnet-4-5-20250929": "out-of-scope",
    }


def test_models_of_an_alias_are_no_candidates_where_a_scope_says_among_whom() -> None:
    there = targets(
        routing={"models": ["anthropic/claude-opus-5"], "aliases": {"x": {"models": ["anthropic/nobody-*"]}}}
    )
    assert chosen_among(there, "anthropic/claude-opus-5") == ["anthropic/claude-opus-5"]


def test_who_is_asked_as_classifier_is_a_candidate_for_that_alone() -> None:
    there = targets(routing={"classifier": {"enabled": True, "target": "anthropic/claude-haiku"}})
    assert chosen_among(there) == ["anthropic/claude-opus-5", "anthropic/claude-sonnet-4-5"]
    assert "anthropic/claude-haiku" in names(there.candidates("anthropic", client_key=True))


OTHER_WORK = [
    "text-embedding-3-large",
    "gpt-realtime-mini",
    "gpt-image-1-mini",
    "gpt-audio-mini",
    "gpt-4o-mini-tts",
    "ada",
]


def test_a_pattern_names_no_model_that_holds_no_conversations() -> None:
    offers = Published({"openai": dict.fromkeys(["gpt-5", "gpt-5-mini", *OTHER_WORK], KNOWN)})
    there = targets(
        {"OPENAI_API_KEY": "k"}, offers, routing={"models": ["openai/*", "*-mini", "openai/gpt-audio-mini"]}
    )
    assert names(there.candidates("openai-chat", client_key=False)) == [
        "openai/gpt-5",
        "openai/gpt-5-mini",
        "openai/gpt-audio-mini",
    ]


def test_a_model_that_the_settings_list_for_its_provider_may_have_any_name() -> None:
    there = targets(providers={"ollama": {"models": ["live-coder", "image-writer"]}}, routing={"models": ["ollama/*"]})
    assert names(there.candidates("openai-chat", client_key=False)) == ["ollama/live-coder", "ollama/image-writer"]


def test_what_a_user_knows_better_counts() -> None:
    there = targets(
        models={"overrides": {"anthropic/claude-haiku": {"context_window": 100_000, "input_price": 9}}},
        routing={
            "capability_source": "aa",
            "targets": {
                "anthropic/claude-haiku": {"aa": 60, "cost_coefficient": 0.5},
                "anthropic/nobody-knows-how-able": {"aa": 1},
            },
        },
    )
    found = {one.target: one for one in there.candidates("anthropic", client_key=True)}
    haiku = found["anthropic/claude-haiku"]
    assert (haiku.model.context_window, haiku.capability.overall) == (100_000, "frontier")
    assert (haiku.price.prices.input, haiku.price.prices.output, haiku.price.coefficient) == (9, 5, 0.5)
    assert found["anthropic/nobody-knows-how-able"].capability.overall == "light"


def test_a_well_known_provider_behind_a_proxy_offers_what_it_is_known_for() -> None:
    there = targets({"OPENAI_API_KEY": "k"}, providers={"openai": {"url": "https://proxy.corp.example"}})
    (found,) = there.candidates("openai-chat", client_key=False)
    assert (found.target, found.price.source, found.capability.overall) == ("openai/gpt-5", "litellm", "frontier")
    destination = there.destination("openai/gpt-5", "openai-chat", client_key=True)
    assert destination is not None
    assert (destination.root, destination.client_key) == ("https://proxy.corp.example", False)


def test_a_name_of_ones_own_for_a_well_known_host_knows_what_is_known_of_it() -> None:
    there = targets(
        {"WORK": "k"},
        providers={"work": {"url": "https://api.anthropic.com", "dialects": ["anthropic"], "key": "env:WORK"}},
    )
    found = there.candidates("anthropic", client_key=False)
    assert "work/claude-opus-5" in names(found)
    assert next(one for one in found if one.target == "work/claude-opus-5").capability.overall == "frontier"


@pytest.mark.parametrize(
    ("target", "meant"),
    [("openai/gtp-5", "openai/gpt-5"), ("xyzzy/x", None), ("ANTHROPIC/claude-opus-5", "anthropic/claude-opus-5")],
)
def test_a_target_that_there_is_not_is_told_with_the_one_that_was_meant(target: str, meant: str | None) -> None:
    assert targets({"OPENAI_API_KEY": "k"}).suggest(target) == meant


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_without_catalogues_there_is_nobody_and_no_error(dialect: Dialect) -> None:
    there = ConfiguredTargets(Settings(), {"OPENAI_API_KEY": "two words"})
    assert there.candidates(dialect, client_key=True) == ()
