"""Hop-by-hop headers stay on their hop; everything else passes in its order."""

from __future__ import annotations

import pytest

from ullage.core.wire import Dialect
from ullage.gateway.headers import answer_headers, request_headers


def test_credentials_and_unknown_headers_pass_in_order() -> None:
    headers = [
        (b"host", b"127.0.0.1:8484"),
        (b"authorization", b"Bearer k"),
        (b"x-strange", b"1"),
        (b"anthropic-beta", b"a,b"),
        (b"anthropic-beta", b"c"),
        (b"content-length", b"5"),
        (b"accept-encoding", b"gzip, br"),
    ]
    assert request_headers(headers, "openai-chat") == [
        (b"authorization", b"Bearer k"),
        (b"x-strange", b"1"),
        (b"anthropic-beta", b"a,b"),
        (b"anthropic-beta", b"c"),
        (b"accept-encoding", b"gzip, br"),
    ]


def test_headers_of_the_single_hop_and_ours_stay_behind() -> None:
    headers = [
        (b"connection", b"keep-alive, X-Hop"),
        (b"connection", b"x-other-hop"),
        (b"x-hop", b"1"),
        (b"x-other-hop", b"1"),
        (b"keep-alive", b"5"),
        (b"te", b"trailers"),
        (b"transfer-encoding", b"chunked"),
        (b"expect", b"100-continue"),
        (b"x-ullage-session", b"s"),
    ]
    assert request_headers(headers, "openai-chat") == []


def test_an_answer_keeps_its_length_and_its_compression() -> None:
    headers = [
        (b"Content-Length", b"12"),
        (b"Content-Encoding", b"br"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Set-Cookie", b"a=1"),
        (b"Set-Cookie", b"b=2"),
    ]
    assert answer_headers(headers) == [
        (b"content-length", b"12"),
        (b"content-encoding", b"br"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
    ]


@pytest.mark.parametrize(
    ("dialect", "kept"),
    [
        ("openai-chat", ["authorization", "api-key"]),
        ("openai-responses", ["authorization", "api-key"]),
        ("anthropic", ["authorization", "x-api-key"]),
        ("gemini", ["authorization", "x-goog-api-key"]),
    ],
)
def test_a_provider_sees_no_key_of_another(dialect: Dialect, kept: list[str]) -> None:
    headers = [(name, b"secret") for name in (b"authorization", b"api-key", b"x-api-key", b"x-goog-api-key")]
    assert [name.decode() for name, _ in request_headers(headers, dialect)] == kept


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_names_no_length(status: int) -> None:
    assert answer_headers([(b"Content-Length", b"12"), (b"ETag", b"x")], status) == [(b"etag", b"x")]
