"""Who a provider is in each source."""

from __future__ import annotations

import pytest

from ullage.catalogs.providers import MAKERS, PROVIDERS, find_provider
from ullage.upstream.client import KNOWN_PROVIDERS


@pytest.mark.parametrize(
    ("name", "litellm", "genai"),
    [
        ("google", ("gemini",), ("google",)),
        ("xai", ("xai",), ("x-ai",)),
        ("x-ai", ("xai",), ("x-ai",)),
        ("openai-codex", ("chatgpt",), ()),
        ("API.Together.xyz:443", ("together_ai",), ("together",)),
        ("us-east5-aiplatform.googleapis.com", ("vertex_ai",), ("google",)),
        ("bedrock-runtime.eu-west-1.amazonaws.com", ("bedrock_converse", "bedrock"), ("aws",)),
        ("mine.openai.azure.com", ("azure", "azure_ai"), ("azure",)),
        ("api.individual.githubcopilot.com", ("github_copilot",), ("github-copilot",)),
    ],
)
def test_names_and_hosts_lead_to_the_ids_of_each_source(
    name: str, litellm: tuple[str, ...], genai: tuple[str, ...]
) -> None:
    row = find_provider(name)
    assert row is not None
    assert (row.litellm, row.genai) == (litellm, genai)


@pytest.mark.parametrize("name", ["127.0.0.1:11434", "gateway.example.com", "", "openai.azure.com.example.org"])
def test_nobody_is_taken_for_a_provider_by_a_similar_name(name: str) -> None:
    assert find_provider(name) is None


def test_every_provider_that_upstreams_name_has_a_row() -> None:
    assert {name for name in KNOWN_PROVIDERS if find_provider(name) is None} == set()


def test_a_name_belongs_to_one_row() -> None:
    names = [name for row in PROVIDERS for name in row.names]
    assert len(names) == len(set(names))


def test_makers_are_paid_by_the_token() -> None:
    assert not any(maker.subscription for maker in MAKERS)
