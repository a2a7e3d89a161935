"""Where a key may go, and in which header."""

from __future__ import annotations

import pytest

from ullage.core.errors import CallError
from ullage.core.wire import Dialect
from ullage.settings.credentials import Credential
from ullage.upstream.keys import check_destination, request_headers

KEY = Credential("SOME_KEY", "sk-secret-key")


@pytest.mark.parametrize(
    ("dialect", "header"),
    [
        ("openai-chat", (b"authorization", b"Bearer sk-secret-key")),
        ("openai-responses", (b"authorization", b"Bearer sk-secret-key")),
        ("anthropic", (b"x-api-key", b"sk-secret-key")),
        ("gemini", (b"x-goog-api-key", b"sk-secret-key")),
    ],
)
def test_each_dialect_has_its_header(dialect: Dialect, header: tuple[bytes, bytes]) -> None:
    assert header in request_headers(dialect, KEY)
    assert not any(b"secret" in value for _, value in request_headers(dialect, None))


def test_anthropic_is_asked_in_its_version() -> None:
    assert (b"anthropic-version", b"2023-06-01") in request_headers("anthropic", None)


@pytest.mark.parametrize(
    ("provider", "root"),
    [
        ("openai", "https://api.openai.com"),
        ("openai", "http://127.0.0.1:9000"),
        ("anthropic", "http://localhost:9000"),
        ("anthropic", "https://gateway.example.com/anthropic"),
    ],
    ids=["its own host", "loopback", "localhost", "a gateway over TLS"],
)
def test_a_key_may_go_to_its_provider_to_this_machine_and_to_a_named_gateway(provider: str, root: str) -> None:
    check_destination(provider, root)


@pytest.mark.parametrize(
    ("provider", "root", "code"),
    [
        ("openai", "https://openrouter.ai/api", "key_elsewhere"),
        ("anthropic", "https://api.openai.com", "key_elsewhere"),
        ("openai", "http://api.openai.com", "key_unsafe"),
        ("openai", "http://192.168.1.5:8000", "key_unsafe"),
    ],
)
def test_a_key_goes_neither_to_another_provider_nor_over_a_network_in_clear(
    provider: str, root: str, code: str
) -> None:
    with pytest.raises(CallError) as caught:
        check_destination(provider, root)
    assert caught.value.code == code
