"""Which ids name the same model (routing specification, sections 6 and 8.2)."""

from __future__ import annotations

import pytest

from ullage.core.routing.identity import (
    Identity,
    converses,
    find_identity,
    find_naming,
    match_key,
    matches,
    same_but_version,
    split_target,
)

ALIASES = {"gateway/deepseek/deepseek-v4": "deepseek:deepseek-v4", "deepseek/deepseek-v4": "deepseek:deepseek-v4"}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("gateway/openai/gpt-5", ("gateway", "openai/gpt-5")),
        ("openai/gpt-5", ("openai", "gpt-5")),
        ("gpt-5", None),
        ("/gpt-5", None),
        ("openai/", None),
    ],
)
def test_only_the_first_slash_separates(target: str, expected: tuple[str, str] | None) -> None:
    assert split_target(target) == expected


@pytest.mark.parametrize(
    ("pattern", "target", "expected"),
    [
        ("anthropic/*", "anthropic/claude-opus-5", True),
        ("*experimental*", "google/gemini-experimental-1", True),
        ("openai/gpt-5", "openai/gpt-5.4-nano", False),
        ("OPENAI/GPT-*", "openai/gpt-5", True),
        ("gpt-?", "openai/gpt-5", False),
        ("openai/gpt-?", "openai/gpt-5", False),
        ("openai/gpt-?", "openai/gpt-?", True),
        ("*", "", True),
        ("a/*b*c", "a/xbyc", True),
        ("a/[bc]", "a/b", False),
    ],
)
def test_a_star_is_the_only_wildcard_and_a_match_is_whole(pattern: str, target: str, expected: bool) -> None:
    assert matches(pattern, target) is expected


@pytest.mark.parametrize(
    ("target", "value", "kind"),
    [
        ("gateway/openai/gpt-5", "openai:gpt-5", "vendor"),
        ("gateway/deepseek/deepseek-v4", "deepseek:deepseek-v4", "declared"),
        ("deepseek/deepseek-v4", "deepseek:deepseek-v4", "declared"),
        ("local/llama", "local/llama", "isolated"),
        ("gateway/llama", "gateway/llama", "isolated"),
        ("gateway/somebody/llama", "gateway/somebody/llama", "isolated"),
        ("openai-codex/gpt-5", "openai-codex/gpt-5", "isolated"),
    ],
)
def test_logical_models_are_declared_or_named_never_guessed(target: str, value: str, kind: str) -> None:
    found = find_identity(target, aliases=ALIASES)
    assert (found.value, found.kind) == (value, kind)


def test_a_catalogue_knows_its_own_ids_without_an_alias() -> None:
    known = {"deepseek/deepseek-v4": 1}
    assert find_identity("deepseek/deepseek-v4", aliases={}, known=known) == Identity(
        value="deepseek:deepseek-v4", kind="catalogue"
    )
    assert find_identity("deepseek/deepseek-v4-flash", aliases={}, known=known).kind == "isolated"


@pytest.mark.parametrize(
    ("provider", "model", "keys", "expected"),
    [
        ("google", "gemini-3-flash", ["gemini/gemini-3-flash"], "gemini/gemini-3-flash"),
        (
            "anthropic",
            "claude-sonnet-4",
            ["anthropic/claude-sonnet-4-20250514"],
            "anthropic/claude-sonnet-4-20250514",
        ),
        ("anthropic", "claude-sonnet-4", ["anthropic/claude-sonnet-4-5"], None),
        ("openai", "gpt-4o", ["openai/gpt-4o-mini", "openai/gpt-4o-2024-08-06"], "openai/gpt-4o-2024-08-06"),
        ("google", "gemini-2.5-flash", ["gemini/gemini-2.5-flash-lite"], None),
        (
            "anthropic",
            "claude-sonnet-4",
            ["openai/claude-sonnet-4-20250514", "anthropic/claude-sonnet-4-20250514"],
            "anthropic/claude-sonnet-4-20250514",
        ),
        ("local", "llama", ["gemini/gemini-3-flash", "anthropic/claude-sonnet-4-5", "openai/gpt-4o-mini"], None),
        ("gateway", "openai/gpt-5", ["gpt-5", "openai/gpt-5"], "openai/gpt-5"),
        ("anthropic", "claude-sonnet-4-20250514", ["anthropic/claude-sonnet"], "anthropic/claude-sonnet"),
    ],
)
def test_a_model_is_found_by_its_provider_its_id_or_its_version(
    provider: str, model: str, keys: list[str], expected: str | None
) -> None:
    found = match_key(provider, model, keys)
    assert (found.key if found else None) == expected


def test_another_providers_row_is_marked() -> None:
    found = match_key("local", "claude-sonnet-4", ["anthropic/claude-sonnet-4-20250514"])
    assert found is not None
    assert (found.exact, found.agrees) == (False, False)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("m", "m-20250514", True),
        ("m", "m-v20250514", True),
        ("m", "m.20250514", True),
        ("m-20250514", "m", True),
        ("m", "m-4-5", True),
        ("m", "m-v1-2", True),
        ("m", "m-2024-08-06", True),
        ("m", "m", False),
        ("m", "m-5", False),
        ("m", "m-0731", False),
        ("m", "m-5-mini", False),
        ("m", "m-٢٠٢٥٠٥١٤", False),
        ("m-20250514", "m-20260101", False),
    ],
)
def test_a_version_is_a_date_or_two_groups_of_digits(one: str, other: str, expected: bool) -> None:
    assert same_but_version(one, other) is expected


@pytest.mark.parametrize(
    "model",
    [
        "text-embedding-ada-002",
        "mistral-embed",
        "gpt-image-1-mini",
        "openai/gpt-audio-mini",
        "gpt-4o-mini-realtime-preview",
        "gpt-4o-transcribe",
        "gemini-2.5-flash-preview-tts",
        "whisper-large-v3",
        "llama-guard-4-12b",
        "mistral-ocr-2512",
        "ada",
        "text-davinci-003",
        "davinci-002",
        "gpt-3.5-turbo-instruct",
        "dall-e-3",
    ],
)
def test_an_id_tells_that_a_model_does_other_work(model: str) -> None:
    assert not converses(model)
    assert find_naming(["*", f"p/{model}"], f"p/{model}", chats=False) == f"p/{model}"
    assert find_naming(["p/*"], f"p/{model}", chats=False) is None


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5.4-mini",
        "claude-opus-5",
        "meta-llama/llama-4-scout-17b-16e-instruct",
        "gpt-oss-20b",
        "qwen3:8b",
        "o3",
        "canada-7b",
    ],
)
def test_an_id_that_tells_nothing_is_of_a_model_for_conversations(model: str) -> None:
    assert converses(model)
