"""The routes of ten real clients, and the slips that users make with base URLs."""

from __future__ import annotations

import pytest

from ullage.gateway.routes import find_endpoint

POSTS = [
    ("/v1/chat/completions", "openai-chat", "generate", "/v1/chat/completions"),
    ("/v1/responses", "openai-responses", "generate", "/v1/responses"),
    ("/v1/responses/compact", "openai-responses", "other", "/v1/responses/compact"),
    ("/v1/responses/input_tokens", "openai-responses", "count_tokens", "/v1/responses/input_tokens"),
    ("/v1/messages", "anthropic", "generate", "/v1/messages"),
    ("/v1/messages/count_tokens", "anthropic", "count_tokens", "/v1/messages/count_tokens"),
    ("/v1/messages/batches", "anthropic", "other", "/v1/messages/batches"),
    ("/v1/embeddings", "openai-chat", "other", "/v1/embeddings"),
    ("/v1beta/cachedContents", "gemini", "other", "/v1beta/cachedContents"),
    ("/v1/v1/messages", "anthropic", "generate", "/v1/messages"),
    ("/v1/v1/v1/chat/completions", "openai-chat", "generate", "/v1/chat/completions"),
    ("/chat/completions", "openai-chat", "generate", "/v1/chat/completions"),
    ("/messages", "anthropic", "generate", "/v1/messages"),
    ("/responses", "openai-responses", "generate", "/v1/responses"),
]


@pytest.mark.parametrize(("path", "dialect", "purpose", "upstream"), POSTS, ids=[row[0] for row in POSTS])
def test_a_post_finds_its_dialect_and_purpose(path: str, dialect: str, purpose: str, upstream: str) -> None:
    endpoint = find_endpoint("POST", path, {})
    assert endpoint is not None
    assert (endpoint.dialect, endpoint.purpose, endpoint.path) == (dialect, purpose, upstream)


@pytest.mark.parametrize("prefix", ["/v1beta", "/v1", "/v1alpha", "/v1beta/v1beta", "/v1/v1beta"])
def test_gemini_is_served_under_each_prefix_that_its_clients_use(prefix: str) -> None:
    endpoint = find_endpoint("POST", f"{prefix}/models/gemini-2.5-pro:streamGenerateContent", {})
    assert endpoint is not None
    assert (endpoint.dialect, endpoint.purpose, endpoint.model, endpoint.stream) == (
        "gemini",
        "generate",
        "gemini-2.5-pro",
        True,
    )
    assert endpoint.path.count("/v1") == 1


def test_gemini_counting_is_known_as_counting() -> None:
    endpoint = find_endpoint("POST", "/v1beta/models/gemini-2.5-pro:countTokens", {})
    assert endpoint is not None
    assert endpoint.purpose == "count_tokens"


@pytest.mark.parametrize(
    ("headers", "query", "dialect"),
    [
        ({}, "", "openai-chat"),
        ({"authorization": "Bearer k"}, "", "openai-chat"),
        ({"anthropic-version": "2023-06-01", "authorization": "Bearer k"}, "limit=1000", "anthropic"),
        ({"x-api-key": "k"}, "", "anthropic"),
        ({"x-goog-api-key": "k"}, "", "gemini"),
        ({}, "pageSize=5&key=k", "gemini"),
    ],
)
def test_the_shared_models_path_is_told_apart_by_the_client(headers: dict[str, str], query: str, dialect: str) -> None:
    endpoint = find_endpoint("GET", "/v1/models", headers, query)
    assert endpoint is not None
    assert (endpoint.dialect, endpoint.purpose) == (dialect, "models")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models/ft:gpt-4o:acme"),
        ("DELETE", "/v1/models/ft:curie"),
        ("POST", "/v1/models/gpt-oss:20b"),
        ("GET", "/v1/models/gpt-oss:generateContent"),
    ],
)
def test_a_colon_in_the_name_of_a_model_does_not_send_an_openai_key_to_google(method: str, path: str) -> None:
    endpoint = find_endpoint(method, path, {"authorization": "Bearer sk-secret"})
    assert endpoint is not None
    assert (endpoint.dialect, endpoint.purpose) == ("openai-chat", "other")


@pytest.mark.parametrize(("path", "dialect"), [("/v1/messages", "anthropic"), ("/v1/responses", "openai-responses")])
def test_a_path_of_one_provider_is_its_own_for_every_method(path: str, dialect: str) -> None:
    endpoint = find_endpoint("HEAD", path, {})
    assert endpoint is not None
    assert endpoint.dialect == dialect


def test_a_credential_goes_to_the_provider_of_its_own_protocol() -> None:
    endpoint = find_endpoint("POST", "/v1/files", {"x-api-key": "secret"})
    assert endpoint is not None
    assert endpoint.dialect == "anthropic"


@pytest.mark.parametrize("path", ["/", "/favicon.ico", "/v2/messages", "/api/other", "/v1", "/v1beta"])
def test_other_paths_are_not_ours_to_relay(path: str) -> None:
    assert find_endpoint("POST", path, {}) is None


@pytest.mark.parametrize("path", ["/v1beta/ullage/auto", "/v1beta/models/ullage/auto", "/v1beta/models/ullage%2Fauto"])
def test_the_router_is_named_in_geminis_path_in_every_way_that_sdks_have(path: str) -> None:
    endpoint = find_endpoint("POST", f"{path}:streamGenerateContent", {})
    assert endpoint is not None
    assert (endpoint.dialect, endpoint.model, endpoint.stream) == ("gemini", "ullage/auto", True)
    assert endpoint.path.startswith("/v1beta/models/")


@pytest.mark.parametrize(
    ("method", "path", "cost"),
    [
        ("POST", "/v1/completions", "foreseen"),
        ("POST", "/v1/responses/compact", "foreseen"),
        ("POST", "/v1/embeddings", "unforeseen"),
        ("POST", "/embeddings", "unforeseen"),
        ("POST", "/v1/messages/batches", "unforeseen"),
        ("POST", "/v1beta/models/gemini-3-pro:batchGenerateContent", "unforeseen"),
        ("POST", "/v1beta/models/gemini-3-pro:embedContent", "unforeseen"),
        ("GET", "/v1/messages/batches", None),
        ("POST", "/v1/messages/batches/b/cancel", None),
        ("POST", "/v1beta/batches/b:cancel", None),
        ("POST", "/upload/v1beta/files", None),
        ("POST", "/v1/files", None),
        ("POST", "/v1/messages", None),
        ("POST", "/v1/messages/count_tokens", None),
        ("POST", "/v1/responses/input_tokens", None),
        ("GET", "/v1/models", None),
    ],
)
def test_what_is_posted_beside_conversations_may_cost_money(method: str, path: str, cost: str | None) -> None:
    endpoint = find_endpoint(method, path, {})
    assert endpoint is not None
    assert endpoint.cost == cost
