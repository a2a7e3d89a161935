from __future__ import annotations

import pickle
import time
import tracemalloc

import pytest

from ullage.core.wire import ServerSentEvent, SSEDecoder


def events(*chunks: bytes, limit_bytes: int = 1_000) -> list[ServerSentEvent]:
    decoder = SSEDecoder(limit_bytes=limit_bytes)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


def event(data: str, name: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(name, data.encode())


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [event("a"), event("b")]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [event("a"), event("b")]),
        (b"data: a\r\rdata: b\r\r", [event("a"), event("b")]),
        (b"event: ping\ndata: {}\n\n", [event("{}", "ping")]),
        (b"event: ping\ndata: {}\n\ndata: x\n\n", [event("{}", "ping"), event("x")]),
        (b": ping\n\n: keep-alive\n\ndata: a\n\n", [event("a")]),
        (b"data: a\ndata:b\ndata\n\n", [event("a\nb\n")]),
        (b"data:  two spaces\n\n", [event(" two spaces")]),
        (b"id: 7\nretry: 10\ndata: a\n\n", [event("a")]),
        (b"event: only a name\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [event("a")]),
        (b"data: a", [event("a")]),
        (b"data: a\n", [event("a")]),
        (b"data: a\r", [event("a")]),
        (b"data: \xe2\x80\xa8 stays in one line\n\n", [event("\u2028 stays in one line")]),
        (b"", []),
    ],
)
def test_lines_become_events(stream: bytes, expected: list[ServerSentEvent]) -> None:
    assert events(stream) == expected


def test_a_line_end_cut_in_two_ends_one_line() -> None:
    assert events(b"data: a\r", b"\ndata: b\r", b"\n", b"\r", b"\n") == [event("a\nb")]
    assert events(b"data: a\r", b"", b"\ndata: b\n\n") == [event("a\nb")]


def test_an_event_is_given_out_as_soon_as_its_blank_line_is_there() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == [event("a")]
    assert decoder.close() == []


def test_an_event_of_a_million_empty_lines_is_bounded_too() -> None:
    """The newline that joins a line to the one before it counts as a byte."""
    decoder = SSEDecoder(limit_bytes=1_000)
    chunk = b"data:\n" * 10_000
    for _ in range(100):
        decoder.feed(chunk)
    assert len(pickle.dumps(decoder)) < 2_000
    assert decoder.feed(b"\ndata: next\n\n") == [event("next")]
    assert decoder.dropped == 1


def test_an_event_of_many_short_lines_takes_the_memory_of_its_bytes() -> None:
    decoder = SSEDecoder(limit_bytes=1_000_000)
    chunk = b"data: ab\n" * 10_000
    tracemalloc.start()
    for _ in range(5):
        decoder.feed(chunk)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 400_000
    assert decoder.feed(b"\n") == [event("\n".join(["ab"] * 50_000))]


def test_lines_that_fill_the_limit_to_the_byte_are_an_event() -> None:
    lines = [b"data: " + b"x" * 499, b"data: " + b"x" * 500]
    assert events(b"\n".join([*lines, b"", b""])) == [event("x" * 499 + "\n" + "x" * 500)]
    assert events(b"\n".join([*lines, b"data:", b"", b""])) == []


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_an_event_over_the_limit_is_dropped_and_counted_and_the_next_is_read(size: int) -> None:
    stream = b"data: " + b"x" * 2_000 + b"\n\ndata: next\n\n"
    decoder = SSEDecoder(limit_bytes=1_000)
    found = [event for start in range(0, len(stream), size) for event in decoder.feed(stream[start : start + size])]
    assert found == [event("next")]
    assert decoder.dropped == 1


def test_a_line_without_end_takes_no_memory_beyond_the_limit() -> None:
    decoder = SSEDecoder(limit_bytes=100_000)
    tracemalloc.start()
    for _ in range(100):
        decoder.feed(b"x" * 50_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000


def test_an_event_of_many_lines_is_bounded_too() -> None:
    decoder = SSEDecoder(limit_bytes=1_000)
    assert decoder.feed(b"data: xxxxxxxxx\n" * 500 + b"\ndata: next\n\n") == [event("next")]
    assert decoder.dropped == 1


def test_an_event_at_the_limit_is_kept() -> None:
    data = b"x" * 994
    assert events(b"data: ", data, b"\n\n", limit_bytes=1_000) == [event(data.decode())]


def test_a_huge_event_in_small_chunks_takes_linear_time() -> None:
    """litellm#26181: fragments that are put together and looked at again block the event loop."""

    def seconds(size: int) -> float:
        decoder = SSEDecoder()
        chunk = b"x" * 16
        started = time.process_time()
        decoder.feed(b"data: ")
        for _ in range(size // len(chunk)):
            decoder.feed(chunk)
        assert len(decoder.feed(b"\n\n")[0].data) == size
        return time.process_time() - started

    small, large = seconds(400_000), seconds(3_200_000)
    assert large < 8 * small * 4
