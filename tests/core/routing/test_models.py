"""Records of models, and the file that lists them (routing specification, sections 1 and 6)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import InputError
from ullage.core.profiles import Layer, ModelFacts, ModelOverride, Prices, resolve_profile
from ullage.core.routing.models import ModelRecord, complete_model, read_models

OURS = b"""[
  {
    "provider": "anthropic", "id": "claude-opus-5", "reasoning": true, "inputs": ["text", "image"],
    "context_window": 200000, "max_output_tokens": 8192,
    "prices": {"input": 15, "output": 75, "cache_read": 1.5, "cache_write": 18.75},
    "thinking_levels": {"high": "high", "max": null}, "api": "anthropic-messages"
  }
]"""
A_HOSTS = b"""[
  {
    "provider": "anthropic", "id": "claude-opus-5", "name": "Claude Opus 5", "baseUrl": "http://127.0.0.1", "reasoning": true,
    "input": ["image", "text"], "contextWindow": 200000, "maxTokens": 8192,
    "cost": {"input": 15, "output": 75, "cacheRead": 1.5, "cacheWrite": 18.75},
    "thinkingLevelMap": {"high": "high", "max": null}, "api": "anthropic-messages"
  }
]"""
OPUS = ModelRecord(
    provider="anthropic",
    id="claude-opus-5",
    reasoning=True,
    inputs=("text", "image"),
    context_window=200_000,
    max_output_tokens=8_192,
    prices=Prices(input=15.0, output=75.0, cache_read=1.5, cache_write=18.75),
    thinking_levels={"high": "high", "max": None},
    api="anthropic-messages",
)


@pytest.mark.parametrize("data", [OURS, A_HOSTS, b'{"models": ' + OURS + b"}", b"\xef\xbb\xbf" + OURS])
def test_a_list_is_read_in_our_spelling_and_in_that_of_a_hosts_registry(data: bytes) -> None:
    found = read_models(data)
    assert found.models == (OPUS,)
    assert found.warnings == ()


def test_what_a_record_does_not_say_is_unknown() -> None:
    (model,) = read_models(
        b'[{"provider": "local", "id": "llama", "context_window": null, "cost": {"input": null}}]'
    ).models
    assert model == ModelRecord(provider="local", id="llama")
    assert (model.context_window, model.inputs, model.reasoning, model.prices) == (None, None, None, Prices())


@pytest.mark.parametrize(
    ("record", "provider", "model"),
    [
        (b'{"target": "gateway/openai/gpt-5"}', "gateway", "openai/gpt-5"),
        (b'{"id": "openai/gpt-5"}', "openai", "gpt-5"),
        (b'{"provider": "gateway", "id": "openai/gpt-5"}', "gateway", "openai/gpt-5"),
        (b'{"provider": "openai", "model": "gpt-5"}', "openai", "gpt-5"),
    ],
)
def test_only_the_first_slash_of_a_target_separates(record: bytes, provider: str, model: str) -> None:
    (found,) = read_models(b"[" + record + b"]").models
    assert (found.provider, found.id) == (provider, model)
    assert found.target == f"{provider}/{model}"


def test_what_a_record_lacks_is_taken_from_the_profile_of_its_target() -> None:
    facts = ModelFacts(context_window=400_000, max_output_tokens=128_000, reasoning=True, images=True)
    layer = Layer(source="litellm", facts=facts, exact=True, matched="gpt-5")
    profile = resolve_profile("openai", "gpt-5", layers=[layer])
    bare = ModelRecord(provider="openai", id="gpt-5")
    full = complete_model(bare, profile)
    assert (full.context_window, full.max_output_tokens, full.reasoning) == (400_000, 128_000, True)
    assert full.inputs == ("text", "image")
    assert complete_model(OPUS, profile) == OPUS
    assert complete_model(bare, resolve_profile("openai", "gpt-5")) == bare
    blind = resolve_profile("a", "b", overrides={"a/b": ModelOverride(images=False)})
    assert complete_model(bare, blind).inputs == ("text",)


def test_an_empty_list_is_a_list() -> None:
    assert read_models(b"[]").models == ()


def test_a_field_that_nobody_reads_is_told() -> None:
    found = read_models(b'[\n {"target": "a/b"},\n {"target": "a/c", "contexWindow": 5}\n]')
    assert len(found.models) == 2
    assert found.warnings == ("record 2, line 3 (a/c): `contexWindow` is no field of a model, ignored",)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b"5", "it cannot be read as an object"),
        (b"{}", "`provider` and `id` are needed"),
        (b'{"id": "gpt-5"}', "`provider` and `id` are needed"),
        (b'{"target": "gpt-5/"}', "`provider` and `id` are needed"),
        (b'{"target": "a/b", "provider": "a"}', "`target` stands in place of"),
        (b'{"provider": "a/b", "id": "c"}', "`provider` has no slash"),
        (b'{"target": "a/b", "context_window": 0}', "`context_window` must be a whole number of tokens"),
        (b'{"target": "a/b", "contextWindow": "200k"}', "`contextWindow` must be a whole number of tokens"),
        (b'{"target": "a/b", "maxTokens": 10.5}', "`maxTokens` must be a whole number of tokens"),
        (b'{"target": "a/b", "maxTokens": true}', "`maxTokens` must be a whole number of tokens"),
        (b'{"target": "a/b", "reasoning": "yes"}', "`reasoning` must be true or false"),
        (b'{"target": "a/b", "inputs": []}', "`inputs` must be a list"),
        (b'{"target": "a/b", "inputs": ["sound"]}', "`inputs` must be a list"),
        (b'{"target": "a/b", "inputs": [{}]}', "`inputs` must be a list"),
        (b'{"target": "a/b", "cost": 3}', "`cost` must be an object of prices"),
        (b'{"target": "a/b", "cost": {"input": -1}}', "`cost.input` must be USD per million tokens"),
        (b'{"target": "a/b", "cost": {"input": "3"}}', "`cost.input` must be USD per million tokens"),
        (b'{"target": "a/b", "cost": {"inputs": 3}}', "`cost.inputs` is no price"),
        (b'{"target": "a/b", "thinking_levels": ["high"]}', "`thinking_levels` must map levels"),
        (b'{"target": "a/b", "thinking_levels": {"huge": "x"}}', "`thinking_levels.huge` is no level"),
        (b'{"target": "a/b", "thinking_levels": {"high": 3}}', "`thinking_levels.high` must be a text"),
        (b'{"target": "a/b", "api": ""}', "`api` must be a text"),
        (b'{"target": "a/b", "maxTokens": 5, "max_tokens": 6}', "`max_tokens` says again what"),
        (b'{"target": "a/a"}', "`a/a` is listed twice"),
    ],
)
def test_what_cannot_be_read_is_told_with_line_and_field(record: bytes, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_models(b'[\n  {"target": "a/a"},\n\n  ' + record + b"\n]")
    assert f"record 2, line 4: {expected}" in caught.value.message
    assert caught.value.code == "bad_models"


def test_several_problems_are_told_at_once() -> None:
    with pytest.raises(InputError, match=r"record 1, line 1: .*; record 2, line 2: .*; and 2 more\."):
        read_models(b"[" + b",\n".join([b"{}"] * 7) + b"]")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "is not JSON"),
        (b'[\n{"target": "a/b"},\n{"target": }]', r"is not JSON: .*, line 3"),
        (b"[{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"target": "a/b"}', "A list of models was expected"),
        (b'"a/b"', "A list of models was expected"),
        (b'{"models": 5}', "A list of models was expected"),
        (b"\xff[]", "is not JSON"),
    ],
)
def test_what_is_no_list_of_models_is_told(data: bytes, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        read_models(data)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(msgspec.json.encode)
)
def test_no_bytes_are_a_crash(data: bytes) -> None:
    try:
        found = read_models(data)
    except InputError as error:
        assert error.message
    else:
        assert isinstance(found.models, tuple)


@given(
    st.dictionaries(
        st.sampled_from(
            ["target", "provider", "id", "inputs", "context_window", "maxTokens", "cost", "thinking_levels", "api"]
        ),
        st.none()
        | st.integers()
        | st.floats()
        | st.text()
        | st.lists(st.text())
        | st.dictionaries(st.text(), st.integers()),
    )
)
def test_no_record_is_a_crash(record: dict[str, object]) -> None:
    try:
        read_models(msgspec.json.encode([record]))
    except InputError as error:
        assert "record 1, line 1: " in error.message
