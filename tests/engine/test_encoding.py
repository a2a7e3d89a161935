"""Bodies and answers are read decoded, whatever pieces they come in."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.encoding import make_decoder


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
    decode = make_decoder(name.partition(" (")[0])
    decoded = b"".join(decode(encoded[start : start + size]) for start in range(0, len(encoded), size))
    assert decoded == data


def test_two_zstd_frames_are_one_body() -> None:
    assert make_decoder("zstd")(zstd.compress(b"one ") + zstd.compress(b"two")) == b"one two"


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate"])
def test_bytes_that_are_not_what_they_claim_are_a_value_error(name: str) -> None:
    with pytest.raises(ValueError):
        make_decoder(name)(b"\x08not compressed at all, not even a little" * 10)


def test_an_unknown_coding_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="snappy"):
        make_decoder("snappy")


@pytest.mark.parametrize("name", ["gzip", "br", "zstd", "deflate"])
def test_a_bomb_is_refused_before_it_is_large(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ullage.engine.encoding.DECODED_LIMIT_BYTES", 1_000_000)
    with pytest.raises(ValueError, match="too large"):
        make_decoder(name)(ENCODERS[name](bytes(3_000_000)))
