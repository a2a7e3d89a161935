"""The relay that shows whether the gateway changed a byte must itself read HTTP right."""

from __future__ import annotations

import pytest

from scripts.clients.tee import Connection, read_exchanges

HELLO = b"HEAD /api/hello HTTP/1.1\r\nHost: a\r\n\r\n"
ASK = b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nX-Key: k\r\nContent-Length: 4\r\n\r\nbody"


def exchanges(sent: bytes, received: bytes) -> list[tuple[str, bytes, str | None, bytes | None]]:
    connection = Connection(sent=bytearray(sent), received=bytearray(received))
    return [
        (one.request.start, one.request.body, one.answer and one.answer.start, one.answer and one.answer.body)
        for one in read_exchanges(connection)
    ]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", id="with a length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", id="in chunks"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhello", id="until the connection ends"),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", id="after a 100"
        ),
    ],
)
def test_a_body_is_read_however_it_is_framed(answer: bytes) -> None:
    assert exchanges(ASK, answer) == [("POST /v1/messages", b"body", "200 OK", b"hello")]


def test_an_answer_to_head_has_no_body_whatever_its_length_says() -> None:
    received = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    assert exchanges(HELLO + ASK, received) == [
        ("HEAD /api/hello", b"", "200 OK", b""),
        ("POST /v1/messages", b"body", "200 OK", b"hi"),
    ]


def test_a_request_without_an_answer_is_kept() -> None:
    assert exchanges(ASK, b"") == [("POST /v1/messages", b"body", None, None)]


def test_headers_of_one_connection_are_left_out() -> None:
    connection = Connection(sent=bytearray(ASK.replace(b"X-Key", b"Connection: keep-alive\r\nX-Key")))
    (only,) = read_exchanges(connection)
    assert only.request.headers == (("content-length", "4"), ("x-key", "k"))
