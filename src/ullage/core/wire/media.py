"""Pictures, sounds and documents: what their headers tell, read from a short prefix of the base64 text."""

from __future__ import annotations

import binascii
import re
import struct
from typing import TYPE_CHECKING, Any

from ullage.core.content import Media, MediaKind

if TYPE_CHECKING:
    from collections.abc import Callable

# A JPEG may hold a thumbnail, a colour profile and camera data before its size.
_PREFIX_CHARS = (4_096, 131_072, 1_048_576)
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*?)(;base64)?,", re.IGNORECASE)
# Recordings leave the data out and keep its size: data:image/png;omitted,width=4,height=3,bytes=99
_OMITTED_URL = re.compile(r"data:([^;,]*);omitted,width=(\d+),height=(\d+),bytes=(\d+)")
# JPEG frame headers: all SOF markers but the tables among them (DHT, JPG, DAC).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_TEXT_LIMIT_CHARS = 4_194_304
# Line breaks inside base64 do not count; some SDKs write its URL-safe alphabet.
_PLAIN_ALPHABET = str.maketrans("-_", "+/", "\r\n")

Size = tuple[int, int]


def media_kind(mime: str | None, default: MediaKind = "document") -> MediaKind:
    """The kind that a media type belongs to."""
    kinds: dict[str, MediaKind] = {"image": "image", "audio": "audio", "video": "video"}
    return kinds.get(mime.split("/", 1)[0].lower(), "document") if mime else default


def from_base64(kind: MediaKind, data: Any, *, mime: Any = None, detail: Any = None) -> Media:
    """What is known of inline data; anything that is no base64 text is of unknown size."""
    mime, detail = _text(mime), _text(detail)
    if not isinstance(data, str):
        return Media(kind=kind, mime=mime, detail=detail)
    width, height = (image_size(data) if kind == "image" else None) or (None, None)
    return Media(
        kind=kind,
        mime=mime,
        width=width,
        height=height,
        size_bytes=decoded_bytes(data),
        seconds=wav_seconds(data) if kind == "audio" else None,
        detail=detail,
    )


def from_url(kind: MediaKind, url: Any, *, mime: Any = None, detail: Any = None) -> Media:
    """What is known of a data URL, or that the data lie elsewhere."""
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return Media(kind=kind, mime=_text(mime), detail=_text(detail), remote=True)
    omitted = _OMITTED_URL.match(url)
    if omitted is not None:
        return _described(kind, omitted[1] or _text(mime), omitted[2], omitted[3], omitted[4], detail)
    header = _DATA_URL.match(url)
    if header is None:
        return Media(kind=kind, mime=_text(mime), detail=_text(detail))
    return from_base64(kind, url[header.end() :], mime=header[1] or mime, detail=detail)


def from_omitted(kind: MediaKind, omitted: dict[str, Any], *, mime: Any = None, detail: Any = None) -> Media:
    """A recording's note in place of the data: `{"width", "height", "bytes"}`."""
    size = (omitted.get("width"), omitted.get("height"), omitted.get("bytes"))
    return _described(kind, mime, *size, detail=detail)


def inline_text(data: Any, mime: Any) -> str:
    """The text of an inline document of a text type; empty for any other."""
    if not isinstance(data, str) or not isinstance(mime, str) or not mime.lower().startswith("text/"):
        return ""
    return _decode_prefix(data, _TEXT_LIMIT_CHARS).decode("utf-8", "replace")


def url_data(url: Any) -> tuple[str | None, str | None]:
    """Media type and base64 text of a data URL; `None` twice for any other."""
    header = _DATA_URL.match(url) if isinstance(url, str) else None
    return (header[1], url[header.end() :]) if header is not None else (None, None)


def decoded_bytes(data: str) -> int:
    """How many bytes the base64 text stands for."""
    text = data.rstrip("=\r\n")
    breaks = text.count("\n") + text.count("\r") if "\n" in text[:200] else 0
    return (len(text) - breaks) * 3 // 4


def image_size(data: str) -> Size | None:
    """Width and height in pixels of a PNG, JPEG, GIF, WebP or BMP; `None` if the header is not understood."""
    for limit in _PREFIX_CHARS:
        head = _decode_prefix(data, limit)
        reader = _reader(head)
        if reader is None:
            return None
        try:
            size = reader(head)
        except (struct.error, IndexError, ValueError):
            size = None
        if size is not None or len(data) <= limit:
            return size
    return None


def wav_seconds(data: str) -> float | None:
    """Length of a WAV file by the byte rate in its header."""
    head = _decode_prefix(data, 64)
    if len(head) < 32 or head[:4] != b"RIFF" or head[8:16] != b"WAVEfmt ":
        return None
    rate = int.from_bytes(head[28:32], "little")
    return decoded_bytes(data) / rate if rate else None


def _described(kind: MediaKind, mime: Any, width: Any, height: Any, size: Any, detail: Any) -> Media:
    return Media(
        kind=kind,
        mime=_text(mime),
        width=_whole(width),
        height=_whole(height),
        size_bytes=_whole(size),
        detail=_text(detail),
    )


def _decode_prefix(data: str, limit: int) -> bytes:
    text = data[:limit].translate(_PLAIN_ALPHABET).rstrip("=")
    text = text[: len(text) - len(text) % 4] if len(text) % 4 == 1 else text + "=" * (-len(text) % 4)
    try:
        return binascii.a2b_base64(text.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        return b""


def _reader(head: bytes) -> Callable[[bytes], Size | None] | None:
    signatures: tuple[tuple[bytes, Callable[[bytes], Size | None]], ...] = (
        (b"\x89PNG\r\n\x1a\n", _png_size),
        (b"\xff\xd8", _jpeg_size),
        (b"GIF8", _gif_size),
        (b"RIFF", _webp_size),
        (b"BM", _bmp_size),
    )
    return next((reader for signature, reader in signatures if head.startswith(signature)), None)


def _png_size(head: bytes) -> Size | None:
    width, height = struct.unpack_from(">II", head, 16)
    return (width, height) if head[12:16] == b"IHDR" else None


def _gif_size(head: bytes) -> Size:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _bmp_size(head: bytes) -> Size:
    width, height = struct.unpack_from("<ii", head, 18)
    return abs(width), abs(height)


def _webp_size(head: bytes) -> Size | None:
    if head[8:12] != b"WEBP":
        return None
    form = head[12:16]
    if form == b"VP8 ":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    if form == b"VP8L":
        (bits,) = struct.unpack_from("<I", head, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8X":
        return _three_bytes(head, 24) + 1, _three_bytes(head, 27) + 1
    return None


def _three_bytes(head: bytes, offset: int) -> int:
    if len(head) < offset + 3:
        raise IndexError(offset)
    return int.from_bytes(head[offset : offset + 3], "little")


def _jpeg_size(head: bytes) -> Size | None:
    """Follows the segments to the frame header; raises if the prefix ends before it."""
    position = 2
    while True:
        position = head.index(b"\xff", position)
        while head[position] == 0xFF:
            position += 1
        marker = head[position]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", head, position + 4)
            return width, height
        if marker == 0x01 or 0xD0 <= marker <= 0xD8:
            position += 1
            continue
        (length,) = struct.unpack_from(">H", head, position + 1)
        position += 1 + length


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isdigit() and len(value) < 16:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
