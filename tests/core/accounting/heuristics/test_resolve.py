"""Which numbers count: accounting specification, sections 4.1 to 4.3."""

from __future__ import annotations

import pytest

from ullage.core.accounting.heuristics import Denominators, resolve_denominators
from ullage.core.profiles.heuristics import NO_HEURISTICS, Defaults, Heuristics, Match, Profile, Rule

OPUS = ("anthropic", "claude-opus-4-8", "anthropic")
NOBODY = (None, None, None)
OLLAMA = ("ollama", "llama-4", "llama-local-api")
Who = tuple[str | None, str | None, str | None]


def resolved(who: Who, heuristics: Heuristics = NO_HEURISTICS, estimator: str = "inspector-v2") -> Denominators:
    provider, model, dialect = who
    return resolve_denominators(estimator, heuristics, provider=provider, model=model, dialect=dialect)


def numbers_of(who: Who, estimator: str = "inspector-v2") -> tuple[float, float, str, float]:
    denominators = resolved(who, estimator=estimator)
    return (
        denominators.text_denominator,
        denominators.session_denominator,
        denominators.tool_numerator,
        denominators.tool_denominator,
    )


def test_without_a_model_and_settings_everything_is_four() -> None:
    denominators = resolved(NOBODY)
    assert denominators == Denominators(label="fallback chars/4", source="fallback")
    assert numbers_of(NOBODY) == (4, 4, "openai-responses", 4)
    assert not denominators.known


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (("anthropic", "claude-opus-4-8", "anthropic"), (2.6, 2.6, "anthropic", 2.6)),
        (("anthropic", "claude-fable-5", "anthropic"), (2.6, 2.6, "anthropic", 2.6)),
        (("anthropic", "claude-sonnet-4-5-20250929", "anthropic"), (3.8, 3.5, "anthropic", 3.3)),
        (("anthropic", "claude-opus-4-20250514", "anthropic"), (3.8, 3.5, "anthropic", 3.3)),
        (("anthropic", "claude-3-haiku-20240307", "anthropic"), (3.8, 3.5, "anthropic", 3.3)),
        ((None, "claude-opus-4-8", None), (2.6, 2.6, "anthropic", 2.6)),
        (("openai", "gpt-5.5", "openai-responses"), (4, 4, "openai-responses", 5.5)),
        ((None, "gpt-5.5", "openai-responses"), (4, 4, "openai-responses", 5.5)),
        (("openai-codex", "gpt-5.5", "openai-responses"), (4, 4, "openai-cookbook", 5.5)),
        (("openai", "gpt-4o", "openai-chat"), (4, 4, "openai-chat", 5.5)),
        (("mistral", "mistral-large", "openai-chat"), (4, 4, "openai-chat", 5.5)),
        (("openrouter", "anthropic/claude-opus-4-8", "openai-chat"), (4, 4, "openai-chat", 5.5)),
        (("google", "gemini-2.5-pro", "gemini"), (4, 4, "gemini", 4)),
        (("amazon-bedrock", "anthropic.claude-opus-4-8-v1:0", "bedrock"), (4, 4, "bedrock", 4)),
        (("xai", "grok-4.5", "openai-responses"), (4, 4, "openai-responses", 4)),
        (("minimax", "MiniMax-M2.7", "anthropic"), (4, 4, "openai-responses", 4)),
    ],
)
def test_the_table_of_the_seed(who: Who, expected: tuple[float, float, str, float]) -> None:
    assert numbers_of(who, "inspector-v1") == expected


@pytest.mark.parametrize(
    ("who", "label", "expected"),
    [
        (OPUS, "Claude 4.7+ heuristic", (2.6, 2.6, "anthropic", 2.6)),
        (("anthropic", "claude-haiku-5", "anthropic"), "Claude 4.7+ heuristic", (2.6, 2.6, "anthropic", 2.6)),
        (("anthropic", "claude-sonnet-4-6", "anthropic"), "Claude 4.5/4.6 heuristic", (3.8, 3.5, "anthropic", 3.3)),
        (("anthropic", "claude-opus-4-20250514", "anthropic"), "Anthropic heuristic", (3.5, 3.5, "anthropic", 3.3)),
        (("anthropic", "claude-3-haiku", "anthropic"), "Anthropic heuristic", (3.5, 3.5, "anthropic", 3.3)),
        (("radius", "claude-opus-4-8", "pi-messages"), "Claude 4.7+ heuristic", (2.6, 2.6, "pi-messages", 4)),
        (
            ("openrouter", "anthropic/claude-fable-5", "openai-chat"),
            "Claude 4.7+ heuristic",
            (2.6, 2.6, "openai-chat", 4),
        ),
        (
            ("amazon-bedrock", "anthropic.claude-opus-4-8-v1:0", "bedrock"),
            "Claude 4.7+ heuristic",
            (2.6, 2.6, "bedrock", 4),
        ),
        (("kimi-coding", "k3-256k", "anthropic"), "Kimi tokenizer", (4.1, 3.8, "anthropic", 4)),
        (("amazon-bedrock", "zai.glm-4.7", "bedrock"), "GLM 4.5 tokenizer", (4, 3.9, "bedrock", 4)),
        (("xai", "grok-4.5", "openai-responses"), "Grok 4.5 tokenizer", (4.1, 3.6, "openai-responses", 4)),
        (("google", "gemini-3.6-flash", "gemini"), "Gemini 2/3 countTokens", (3.9, 3.4, "gemini", 4)),
        (("openai-codex", "gpt-5.5", "openai-responses"), "OpenAI-Codex heuristic", (4.4, 4, "openai-cookbook", 5.5)),
        (("openai", "gpt-5.5", "openai-responses"), "OpenAI Responses heuristic", (4.4, 4, "openai-cookbook", 5.5)),
        (
            ("azure-openai", "gpt-5.5", "openai-responses"),
            "OpenAI Responses heuristic",
            (4.4, 4, "openai-cookbook", 5.5),
        ),
        ((None, "gpt-5.5", "openai-responses"), "OpenAI Responses heuristic", (4.4, 4, "openai-cookbook", 5.5)),
        (("opencode", "qwen3-coder", "openai-responses"), "fallback chars/4", (4, 4, "openai-responses", 4)),
        (("openai", "gpt-4o", "openai-chat"), "OpenAI Responses heuristic", (4.4, 4, "openai-chat", 4)),
        (("mistral", "mistral-large", "openai-chat"), "fallback chars/4", (4, 4, "openai-chat", 4)),
        (("minimax", "MiniMax-M2.7", "anthropic"), "fallback chars/4", (4, 4, "anthropic", 4)),
    ],
)
def test_the_newer_table_knows_route_wire_and_tokenizer_apart(
    who: Who, label: str, expected: tuple[float, float, str, float]
) -> None:
    assert resolved(who).label == label
    assert numbers_of(who) == expected


@pytest.mark.parametrize(
    ("label", "text", "session", "ids"),
    [
        (
            "Kimi tokenizer",
            4.1,
            3.8,
            "kimi-k2 moonshotai/kimi-k2.5 routers/kimi-k2p7-code-fast @cf/moonshotai/kimi-k3:free",
        ),
        ("GLM 5 tokenizer", 4, 3.9, "z-ai/glm-5 glm-5.1 zai-org/glm-5.2 routers/glm-5p2-fast glm-4.7-flash:free"),
        ("GLM 4.5 tokenizer", 4, 3.9, "glm-4.5 z-ai/glm-4.5-air glm-4.5v glm-4.6v-flash zai-glm-4.7"),
        ("Command R tokenizer", 4, 3.4, "cohere/command-r-08-2024 command-r-plus-08-2024"),
        ("North Mini Code tokenizer", 4.2, 3.9, "north-mini-code:free coherelabs/North-Mini-Code-1.0"),
        ("Grok 4.20/4.3 tokenizer", 4.2, 3.9, "x-ai/grok-4.20 grok-4.20-0309-reasoning xai.grok-4.3 grok-build-0.1"),
        ("Grok 4.5 tokenizer", 4.1, 3.6, "x-ai/grok-4.5"),
        (
            "Gemini 2/3 countTokens",
            3.9,
            3.4,
            "gemini-2.0-flash google/gemini-2.5-flash-lite:batch gemini-3.1-pro-preview",
        ),
        (
            "DeepSeek tokenizer",
            4,
            3.6,
            "deepseek-ai/DeepSeek-R1 us.deepseek.r1-v1:0 deepseek-v4-flash-free deepseek.v3.2",
        ),
        (
            "Qwen 2.5/3 tokenizer",
            4,
            3.8,
            "qwen/qwen-2.5-7b-instruct Qwen/Qwen3-Coder-480B-A35B-Instruct alibaba/qwen-3-14b",
        ),
        ("Qwen 3.5 tokenizer", 3.9, 3.5, "Qwen/Qwen3.5-397B-A17B qwen3.5-9b"),
    ],
    ids=lambda value: value if isinstance(value, str) and "tokenizer" in value else "",
)
def test_a_counted_tokenizer_is_known_by_its_published_ids_on_any_route(
    label: str, text: float, session: float, ids: str
) -> None:
    for model in ids.split():
        denominators = resolved(("relay", model, "openai-chat"))
        assert (denominators.label, denominators.text_denominator, denominators.session_denominator) == (
            label,
            text,
            session,
        ), model


MOVING = """
    auto free fusion ~moonshotai/kimi-latest ~x-ai/grok-latest grok-build-latest deepseek/deepseek-chat
    qwen/qwen-plus qwen/qwen3-coder
"""
UNCOUNTED = """
    z-ai/glm-4.7-flashx glm-5-turbo glm-5v-turbo grok-4.20-reasoning-beta qwen/qwen3-max qwen/qwen3.5-plus
    qwen/qwen3.6-27b xkimi-k2
"""


def test_an_alias_that_moves_and_a_variant_that_nobody_counted_are_the_fallback() -> None:
    for model in (MOVING + UNCOUNTED).split():
        assert resolved(("relay", model, "openai-chat")).label == "fallback chars/4", model


@pytest.mark.parametrize(
    "model", ["~google/gemini-flash-latest", "google/gemini-2.5-pro-preview-05-06", "gemini-3-flash"]
)
def test_a_gemini_that_nobody_counted_is_the_generic_one(model: str) -> None:
    assert resolved(("relay", model, "openai-chat")).label == "Gemini/Vertex heuristic"


NINE = Heuristics(defaults=Defaults(text_denominator=9))


@pytest.mark.parametrize(
    ("who", "text"), [(OPUS, 2.6), (NOBODY, 9), (OLLAMA, 9), (("kimi-coding", "kimi-latest", "anthropic"), 9)]
)
def test_defaults_count_where_no_built_in_row_does(who: Who, text: float) -> None:
    assert resolved(who, NINE).text_denominator == text


def test_defaults_that_had_the_last_word_are_named() -> None:
    assert resolved(NOBODY, NINE).source == "defaults"
    assert resolved(OPUS, NINE).source == "Claude 4.7+ heuristic"
    assert resolved(("kimi-coding", "kimi-latest", "anthropic"), NINE).source == "built-in"


def test_the_last_rule_that_fits_wins_and_leaves_what_it_does_not_set() -> None:
    rules = (
        Rule(match=Match(provider="anthropic"), text_denominator=7, label="first"),
        Rule(match=Match(model="claude-*"), text_denominator=8, label="second"),
        Rule(match=Match(provider="nomatch"), text_denominator=99, label="never"),
    )
    denominators = resolved(OPUS, Heuristics(rules=rules))
    assert (denominators.text_denominator, denominators.label, denominators.source) == (8, "second", "second")
    assert (denominators.session_denominator, denominators.tool_numerator) == (2.6, "anthropic")


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (Match(model="claude-*"), 7),
        (Match(id="claude-*"), 7),
        (Match(model="/OPUS/i"), 7),
        (Match(provider="ANTHROPIC"), 7),
        (Match(model="gpt-*"), 2.6),
        (Match(provider="anthropic", model="gpt-*"), 2.6),
        (Match(api="anthropic"), 7),
        (Match(api="anthropic-messages"), 7),
        (Match(api="openai-*"), 2.6),
        (Match(model="/(/"), 2.6),
        (Match(), 7),
    ],
)
def test_all_patterns_of_a_rule_must_fit_and_none_fits_everyone(match: Match, text: float) -> None:
    rules = Heuristics(rules=(Rule(match=match, text_denominator=7),))
    assert resolved(OPUS, rules).text_denominator == text


@pytest.mark.parametrize(
    ("who", "api"),
    [
        (("openai-codex", "gpt-5.5", "openai-responses"), "openai-codex-responses"),
        (("azure-openai", "gpt-5.5", "openai-responses"), "azure-openai-responses"),
        (("mistral", "mistral-large", "openai-chat"), "mistral-conversations"),
        (("my-proxy", "m", "openai-chat"), "openai-completions"),
        (("google", "gemini-2.5-pro", "gemini"), "google-*"),
        (("amazon-bedrock", "x", "bedrock"), "bedrock-converse-stream"),
        (("radius", "auto", "pi-messages"), "pi-messages"),
    ],
)
def test_a_rule_may_name_a_dialect_as_pi_does(who: Who, api: str) -> None:
    rules = Heuristics(rules=(Rule(match=Match(api=api), text_denominator=7),))
    assert resolved(who, rules).text_denominator == 7


def test_a_profile_comes_in_by_the_defaults_or_by_a_rule() -> None:
    profiles = {"tight": Profile(text_denominator=5, label="tight profile"), "wide": Profile(text_denominator=6)}
    by_default = resolved(NOBODY, Heuristics(profiles=profiles, defaults=Defaults(profile="tight")))
    assert (by_default.text_denominator, by_default.label, by_default.source) == (5, "tight profile", "profile:tight")
    rule = Rule(match=Match(provider="anthropic"), profile="wide")
    by_rule = resolved(OPUS, Heuristics(profiles=profiles, rules=(rule,)))
    assert (by_rule.text_denominator, by_rule.source) == (6, "profile:wide")


def test_a_rule_wins_over_its_own_profile() -> None:
    profiles = {"wide": Profile(text_denominator=6, session_denominator=6)}
    rule = Rule(profile="wide", text_denominator=5)
    denominators = resolved(OPUS, Heuristics(profiles=profiles, rules=(rule,)))
    assert (denominators.text_denominator, denominators.session_denominator, denominators.source) == (5, 6, "rule:wide")


def test_a_patch_without_a_label_keeps_the_one_before() -> None:
    profiles = {"quiet": Profile(text_denominator=5)}
    rules = (Rule(match=Match(provider="anthropic"), profile="quiet"),)
    assert resolved(OPUS, Heuristics(profiles=profiles, rules=rules)).label == "Claude 4.7+ heuristic"


def test_a_rule_that_sets_nothing_has_no_say() -> None:
    rules = (Rule(match=Match(provider="anthropic")), Rule(profile="not there"))
    assert resolved(OPUS, Heuristics(rules=rules)).source == "Claude 4.7+ heuristic"


def test_a_built_in_row_cannot_be_taken_away_but_shadowed() -> None:
    shadow = Rule(match=Match(provider="anthropic"), text_denominator=4, session_denominator=4, label="flat")
    denominators = resolved(OPUS, Heuristics(rules=(shadow,)))
    assert (denominators.text_denominator, denominators.session_denominator, denominators.label) == (4, 4, "flat")
