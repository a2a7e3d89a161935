"""Bodies and answers are read decoded, whatever pieces they come in."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.encoding import make_decoder

LIMIT = 10_000_000


def raw_deflate(data: bytes) -> bytes:
    encoder = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return encoder.compress(data) + encoder.flush()


ENCODERS = {
    "": lambda data: data,
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "gzip (members)": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]) + gzip.compress(b""),
    "gzip (padded)": lambda data: gzip.compress(data) + bytes(20),
    "deflate": zlib.compress,
    "deflate (raw)": raw_deflate,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "zstd, gzip": lambda data: gzip.compress(zstd.compress(data)),
}


@pytest.mark.parametrize("name", ENCODERS)
@given(data=st.binary(max_size=400), size=st.integers(1, 50))
def test_decoding_in_pieces_gives_back_the_data(name: str, data: bytes, size: int) -> None:
    encoded = ENCODERS[name](data)
    assert decoded(name, encoded, size) == data


@pytest.mark.parametrize("name", ENCODERS)
def test_what_decodes_to_much_comes_whole_and_in_small_pieces(name: str) -> None:
    data = bytes(range(256)) * 4000 + bytes(700_000)
    decode = make_decoder(name.partition(" (")[0], LIMIT)
    pieces = list(decode(ENCODERS[name](data)))
    assert b"".join(pieces) == data
    if name not in ("", "identity"):
        assert max(len(piece) for piece in pieces) <= 131_072


def test_two_zstd_frames_are_one_body() -> None:
    assert decoded("zstd", zstd.compress(b"one ") + zstd.compress(b"two"), 1000) == b"one two"


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate"])
def test_bytes_that_are_not_what_they_claim_are_a_value_error(name: str) -> None:
    with pytest.raises(ValueError):
        decoded(name, b"\x08not compressed at all, not even a little" * 10, 1000)


def test_an_unknown_coding_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="snappy"):
        make_decoder("snappy", LIMIT)


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate", "zstd, gzip"])
def test_a_bomb_is_refused_before_it_is_large(name: str) -> None:
    bomb = ENCODERS[name](bytes(30_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="too large"):
            for _ in make_decoder(name, 10_000_000)(bomb):
                pass
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 3_000_000


def decoded(name: str, encoded: bytes, size: int) -> bytes:
    """The bytes behind an encoding, fed in pieces of `size`."""
    decode = make_decoder(name.partition(" (")[0], LIMIT)
    return b"".join(piece for start in range(0, len(encoded), size) for piece in decode(encoded[start : start + size]))
