"""Catalogues are asked by the names that the settings give to providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import convert

from ullage.engine.naming import name_sources, source_name
from ullage.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.profiles import Layer


class Asked:
    """Notes by what names it is asked and told."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        self.names.append(provider)
        return ()

    def note_models(self, provider: str, payload: bytes) -> None:
        self.names.append(provider)


@pytest.mark.parametrize(
    ("name", "root", "listed"),
    [
        ("openai", "https://api.openai.com", "openai"),
        ("openai", "https://proxy.corp.example", "openai"),
        ("work", "https://api.openai.com", "openai"),
        ("ollama", "http://127.0.0.1:11434", "127.0.0.1:11434"),
        ("corp", "https://llm.corp.example", "llm.corp.example"),
    ],
)
def test_a_provider_is_listed_by_its_name_or_as_its_address_is_known(name: str, root: str, listed: str) -> None:
    assert source_name(name, root) == listed


def test_sources_answer_to_the_names_of_the_settings() -> None:
    asked = Asked()
    settings = convert(
        {"providers": {"work": {"url": "https://api.openai.com/v1", "dialects": ["openai-chat"]}, "ollama": {}}},
        Settings,
    )
    named = name_sources(asked, settings)
    named.layers("work", "gpt-5")
    named.layers("anthropic", "claude-opus-5")
    named.note_models("ollama", b"")
    assert asked.names == ["openai", "anthropic", "127.0.0.1:11434"]


def test_without_names_of_ones_own_the_sources_are_asked_directly() -> None:
    asked = Asked()
    assert name_sources(asked, Settings()) is asked
