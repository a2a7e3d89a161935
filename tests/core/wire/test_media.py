from __future__ import annotations

import base64
import struct
import zlib

import pytest

from ullage.core.content import Media
from ullage.core.wire.media import (
    decoded_bytes,
    from_base64,
    from_url,
    image_size,
    inline_text,
    media_kind,
    wav_seconds,
)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def jpeg(width: int, height: int, *, before: int = 0) -> bytes:
    """A start, a segment of camera data of any length, a frame header."""
    segments = b""
    while before > 0:
        length = min(before, 65_000)
        segments += b"\xff\xe1" + struct.pack(">H", length + 2) + b"\xff\xc0" * (length // 2) + b"\0" * (length % 2)
        before -= length
    tables = b"\xff\xc4" + struct.pack(">H", 4) + b"\0\0"
    return (
        b"\xff\xd8" + segments + tables + b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\0" * 20
    )


def webp(form: bytes, payload: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + form + struct.pack("<I", 80) + payload


def wav(seconds: int, rate: int = 16_000) -> bytes:
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    data = b"\0" * (rate * 2 * seconds)
    return b"RIFF" + struct.pack("<I", len(data) + 36) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(540, 360), (540, 360)),
        (jpeg(1024, 768), (1024, 768)),
        (jpeg(1024, 768, before=3_000), (1024, 768)),
        (jpeg(1024, 768, before=300_000), (1024, 768)),
        (b"GIF89a" + struct.pack("<HH", 7, 5), (7, 5)),
        (b"BM" + b"\0" * 16 + struct.pack("<ii", 9, -4), (9, 4)),
        (webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 300 | 0x4000, 200)), (300, 200)),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", 299 | 199 << 14)), (300, 200)),
        (webp(b"VP8X", b"\0" * 4 + (299).to_bytes(3, "little") + (199).to_bytes(3, "little")), (300, 200)),
        (webp(b"VP9?", b""), None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8" + b"\xff\xd9" * 50, None),
        (b"II*\0", None),
        (b"", None),
    ],
)
def test_the_size_of_a_picture_is_in_its_header(data: bytes, expected: object) -> None:
    assert image_size(encoded(data)) == expected


def test_base64_may_be_url_safe_broken_into_lines_or_without_padding() -> None:
    data = png(0xFBFF, 0x3FFB)
    assert image_size(base64.urlsafe_b64encode(data).decode().rstrip("=")) == (0xFBFF, 0x3FFB)
    assert image_size(base64.encodebytes(data).decode()) == (0xFBFF, 0x3FFB)
    assert image_size("***") is None


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100, 1_000])
def test_the_decoded_length_is_known_without_decoding(size: int) -> None:
    assert decoded_bytes(encoded(b"x" * size)) == size
    assert decoded_bytes(base64.encodebytes(b"x" * size).decode()) == size


def test_a_sound_knows_its_length_if_it_is_a_wav() -> None:
    assert wav_seconds(encoded(wav(3))) == pytest.approx(3, abs=0.01)
    assert wav_seconds(encoded(b"ID3 something else")) is None
    assert from_base64("audio", encoded(wav(2)), mime="audio/wav").seconds == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.test/a.png", Media(kind="image", remote=True)),
        (None, Media(kind="image", remote=True)),
        (
            "data:image/gif;base64,R0lGODlhBwAFAA==",
            Media(kind="image", mime="image/gif", width=7, height=5, size_bytes=10),
        ),
        ("DATA:image/png;name=a;base64,AAAA", Media(kind="image", mime="image/png", size_bytes=3)),
        (
            "data:image/jpeg;omitted,width=597,height=566,bytes=98572",
            Media(kind="image", mime="image/jpeg", width=597, height=566, size_bytes=98572),
        ),
        ("data:", Media(kind="image")),
    ],
)
def test_a_url_holds_the_data_or_points_away(url: object, expected: Media) -> None:
    assert from_url("image", url) == expected


def test_the_text_of_an_inline_text_file_is_read() -> None:
    assert inline_text(encoded("grüß".encode()), "text/markdown") == "grüß"
    assert inline_text(encoded(b"%PDF"), "application/pdf") == ""
    assert inline_text(7, "text/plain") == ""


@pytest.mark.parametrize(
    ("mime", "expected"),
    [
        ("image/png", "image"),
        ("Audio/mp3", "audio"),
        ("video/mp4", "video"),
        ("text/x", "document"),
        (None, "document"),
    ],
)
def test_the_kind_follows_from_the_media_type(mime: str | None, expected: str) -> None:
    assert media_kind(mime) == expected
