"""Undoing `Content-Encoding` beside the relay: bodies and answers are read decoded and passed on as they came.

A few kilobytes can decode to gigabytes, so every step gives its output in small pieces and the sum is bounded.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Step = Callable[[bytes], Iterator[bytes]]

REQUEST_LIMIT_BYTES = 64 * 1024 * 1024
"""What a compressed request may decode to: the size that an uncompressed one may have by default."""

ANSWER_LIMIT_BYTES = 512 * 1024 * 1024
"""What a compressed answer may decode to; it is read piece by piece and never held whole."""

_PIECE_BYTES = 64 * 1024
_GZIP_START = b"\x1f"


class Decoder:
    """Takes encoded bytes in pieces of any size, gives decoded ones of bounded size.

    Raises `ValueError` for bytes that are not what they claim, and for more than `limit_bytes` of output.
    """

    def __init__(self, steps: list[Step], limit_bytes: int) -> None:
        self._steps = steps
        self._left_bytes = limit_bytes

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        if not self._steps:
            yield chunk
            return
        for piece in _through(chunk, self._steps):
            self._left_bytes -= len(piece)
            if self._left_bytes < 0:
                raise ValueError("the decoded body is too large")
            yield piece


def make_decoder(content_encoding: str, limit_bytes: int) -> Decoder:
    """A decoder for the value of a Content-Encoding header; several codings are undone in reverse order.

    Raises `ValueError` for a coding that is not known.
    """
    names = _codings(content_encoding)
    if not all(name in _KNOWN for name in names):
        raise ValueError(f"unknown content encoding {content_encoding[:80]!r}")
    return Decoder([_KNOWN[name]() for name in reversed(names)], limit_bytes)


def is_compressed(content_encoding: str) -> bool:
    """Whether a body with this Content-Encoding must be decoded, and can be."""
    names = _codings(content_encoding)
    return bool(names) and all(name in _KNOWN for name in names)


def _codings(content_encoding: str) -> list[str]:
    names = (name.strip().lower() for name in content_encoding.split(","))
    return [name for name in names if name not in ("", "identity")]


def _through(chunk: bytes, steps: list[Step]) -> Iterator[bytes]:
    if not steps:
        yield chunk
        return
    for piece in steps[0](chunk):
        yield from _through(piece, steps[1:])


def _inflate(decoder: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    """All that one zlib stream gives for these bytes."""
    try:
        while not decoder.eof:
            piece = decoder.decompress(chunk, _PIECE_BYTES)
            yield piece
            chunk = decoder.unconsumed_tail
            if not chunk and len(piece) < _PIECE_BYTES:
                return
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _gzip_step() -> Step:
    """Members may follow one another (RFC 1952, section 2.2); what follows and is none is padding."""
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def step(chunk: bytes) -> Iterator[bytes]:
        nonlocal decoder
        while chunk:
            if decoder.eof:
                if chunk[:1] != _GZIP_START:
                    return
                decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
            yield from _inflate(decoder, chunk)
            chunk = decoder.unused_data if decoder.eof else b""

    return step


def _deflate_step() -> Step:
    """`deflate` means zlib by the standard and raw deflate for some servers: the first byte tells."""
    decoder: zlib._Decompress | None = None

    def step(chunk: bytes) -> Iterator[bytes]:
        nonlocal decoder
        if decoder is None and chunk:
            decoder = zlib.decompressobj(zlib.MAX_WBITS if chunk[0] & 0x0F == 8 else -zlib.MAX_WBITS)
        if decoder is not None:
            yield from _inflate(decoder, chunk)

    return step


def _brotli_step() -> Step:
    decoder = brotli.Decompressor()

    def step(chunk: bytes) -> Iterator[bytes]:
        try:
            # `can_accept_more_data` is true while output is held back, so only an empty piece says that all has come.
            while piece := decoder.process(chunk, output_buffer_limit=_PIECE_BYTES):
                yield bytes(piece)
                chunk = b""
        except brotli.error as error:
            raise ValueError(str(error)) from error

    return step


def _zstd_step() -> Step:
    decoder = zstd.ZstdDecompressor()

    def step(chunk: bytes) -> Iterator[bytes]:
        nonlocal decoder
        try:
            while chunk or not (decoder.needs_input or decoder.eof):
                yield decoder.decompress(chunk, _PIECE_BYTES)
                chunk = b""
                if decoder.eof:
                    chunk = decoder.unused_data
                    decoder = zstd.ZstdDecompressor()
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error

    return step


_KNOWN: dict[str, Callable[[], Step]] = {
    "gzip": _gzip_step,
    "x-gzip": _gzip_step,
    "deflate": _deflate_step,
    "br": _brotli_step,
    "zstd": _zstd_step,
}
