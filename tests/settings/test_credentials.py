"""Providers' keys: read only when asked for, never shown."""

from __future__ import annotations

import traceback

import pytest

from ullage.core.errors import SettingsError
from ullage.settings.credentials import Credential, find_credential, need_credential, provider_name

SECRET = "sk-proj-very-secret"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
        ("google", "GOOGLE_API_KEY"),
    ],
)
def test_a_key_comes_from_the_providers_own_variable(provider: str, variable: str) -> None:
    found = find_credential(provider, {variable: f" {SECRET}\n", "OTHER_API_KEY": "x"})
    assert found is not None
    assert (found.variable, found.reveal()) == (variable, SECRET)


def test_geminis_own_variable_wins() -> None:
    found = find_credential("google", {"GOOGLE_API_KEY": "one", "GEMINI_API_KEY": "two"})
    assert found is not None
    assert found.reveal() == "two"


def test_the_environment_is_read_at_the_time_of_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert find_credential("anthropic") is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    assert find_credential("anthropic") is not None


def test_a_credential_shows_its_variable_alone() -> None:
    credential = Credential("OPENAI_API_KEY", SECRET)
    assert repr(credential) == str(credential) == f"{credential}" == "$OPENAI_API_KEY"
    assert not hasattr(credential, "__dict__")


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "schlüssel", "a\x00b"])
def test_what_no_key_can_be_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        find_credential("openai", {"OPENAI_API_KEY": value})
    assert caught.value.message == "OPENAI_API_KEY holds characters that no key has."
    assert value not in "".join(traceback.format_exception(caught.value))


def test_a_missing_key_is_told_with_the_variables_to_set() -> None:
    with pytest.raises(SettingsError, match="There is no key of google") as caught:
        need_credential("google", {"GEMINI_API_KEY": ""})
    assert (caught.value.code, caught.value.hint) == ("no_key", "Set GEMINI_API_KEY or GOOGLE_API_KEY.")


def test_a_provider_without_a_known_variable_is_told() -> None:
    with pytest.raises(SettingsError, match="No variable is known") as caught:
        need_credential("nobody", {})
    assert "openai" in caught.value.hint


@pytest.mark.parametrize(("text", "name"), [("Gemini", "google"), (" OpenAI ", "openai"), ("vllm", "vllm")])
def test_a_provider_is_known_by_the_names_people_give_it(text: str, name: str) -> None:
    assert provider_name(text) == name
