"""Undoing `Content-Encoding` beside the relay: bodies and answers are read decoded and passed on as they came."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Protocol

import brotli

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# A small body can decode to a very large one; nothing we need lies behind this.
DECODED_LIMIT_BYTES = 512 * 1024 * 1024

# Encoded bytes are decoded in pieces: a bomb is noticed before it is large, and many small members are not copied each time.
_PIECE_BYTES = 64 * 1024

_GZIP_START = b"\x1f"


class Decoder(Protocol):
    """Takes encoded bytes in pieces, gives decoded ones. Raises `ValueError` for bytes that are not what they claim."""

    def __call__(self, chunk: bytes) -> bytes: ...


def make_decoder(content_encoding: str) -> Decoder:
    """A decoder for the value of a Content-Encoding header; several codings are undone in reverse order.

    Raises `ValueError` for a coding that is not known.
    """
    names = [name.strip().lower() for name in content_encoding.split(",") if name.strip()]
    steps = [_KNOWN[name]() for name in reversed(names) if name != "identity"] if _all_known(names) else None
    if steps is None:
        raise ValueError(f"unknown content encoding {content_encoding[:80]!r}")
    return _Chain(steps)


def _all_known(names: list[str]) -> bool:
    return all(name in _KNOWN or name == "identity" for name in names)


class _Chain:
    def __init__(self, steps: list[Callable[[bytes], bytes]]) -> None:
        self._steps = steps
        self._decoded = 0

    def __call__(self, chunk: bytes) -> bytes:
        if not self._steps:
            return chunk
        return b"".join(
            self._decode(chunk[start : start + _PIECE_BYTES]) for start in range(0, len(chunk), _PIECE_BYTES)
        )

    def _decode(self, piece: bytes) -> bytes:
        for step in self._steps:
            piece = step(piece)
        self._decoded += len(piece)
        if self._decoded > DECODED_LIMIT_BYTES:
            raise ValueError("the decoded body is too large")
        return piece


def _zlib_step(window_bits: int) -> Callable[[bytes], bytes]:
    decoder = zlib.decompressobj(window_bits)

    def step(chunk: bytes) -> bytes:
        try:
            return decoder.decompress(chunk, DECODED_LIMIT_BYTES + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from error

    return step


def _gzip_step() -> Callable[[bytes], bytes]:
    """Members may follow one another (RFC 1952, section 2.2); what follows and is none is padding."""
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def step(chunk: bytes) -> bytes:
        nonlocal decoder
        parts = []
        try:
            while chunk and not (decoder.eof and chunk[:1] != _GZIP_START):
                if decoder.eof:
                    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
                parts.append(decoder.decompress(chunk, DECODED_LIMIT_BYTES + 1))
                chunk = decoder.unused_data
        except zlib.error as error:
            raise ValueError(str(error)) from error
        return b"".join(parts)

    return step


def _deflate_step() -> Callable[[bytes], bytes]:
    """`deflate` means zlib by the standard and raw deflate for some servers: the first byte tells."""
    step: Callable[[bytes], bytes] | None = None

    def first(chunk: bytes) -> bytes:
        nonlocal step
        if step is None:
            if not chunk:
                return b""
            step = _zlib_step(zlib.MAX_WBITS if chunk[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        return step(chunk)

    return first


def _brotli_step() -> Callable[[bytes], bytes]:
    decoder = brotli.Decompressor()

    def step(chunk: bytes) -> bytes:
        try:
            return bytes(decoder.process(chunk))
        except brotli.error as error:
            raise ValueError(str(error)) from error

    return step


def _zstd_step() -> Callable[[bytes], bytes]:
    decoder = zstd.ZstdDecompressor()

    def step(chunk: bytes) -> bytes:
        nonlocal decoder
        parts = []
        try:
            while chunk:
                parts.append(decoder.decompress(chunk))
                chunk = decoder.unused_data if decoder.eof else b""
                if decoder.eof:
                    decoder = zstd.ZstdDecompressor()
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        return b"".join(parts)

    return step


_KNOWN: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "gzip": _gzip_step,
    "x-gzip": _gzip_step,
    "deflate": _deflate_step,
    "br": _brotli_step,
    "zstd": _zstd_step,
}
