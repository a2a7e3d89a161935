"""JSON as clients really send it: lone surrogates, byte-order marks and huge numbers are legal (design 11), so reading bends."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

BOM = b"\xef\xbb\xbf"

# One escape of a UTF-16 surrogate, behind an even run of backslashes: a whole pair first, else one that stands alone.
_SURROGATES = re.compile(
    rb"(?<!\\)((?:\\\\)*+)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
# A string, also one without end, or a number. Possessive, so that hostile text takes linear time and no memory.
_STRINGS_AND_NUMBERS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|-?[0-9][0-9.eE+-]*+', re.DOTALL)
_NUMBER_MAX_CHARS = 300

# Sealed text: base64 and its URL-safe kin, at least this long, without any space between.
SEALED_MIN_CHARS = 512
_SEALED = re.compile(r"(?:data:[^,]{0,200},)?[A-Za-z0-9+/_=\r\n-]+")
_SEALED_KEYS = frozenset({"encrypted_content", "encrypted_index", "signature", "thoughtSignature", "thought_signature"})
# Under these keys base64 is expected, so that less of it is enough to be known.
_DATA_KEYS = frozenset({"b64_json", "data", "file_data"})
DATA_MIN_CHARS = 64


def _whole_number_or_infinity(text: str) -> float:
    return float(text)


_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder(float_hook=_whole_number_or_infinity)


def mask_surrogates(text: bytes) -> bytes:
    """Replaces the escape of each lone surrogate by that of U+FFFD, which is as long: all offsets stay true."""
    return _SURROGATES.sub(_mask_surrogate, text)


def _mask_surrogate(match: re.Match[bytes]) -> bytes:
    return match[0] if match[2] else match[1] + b"\\ufffd"


def decode_as(decoder: msgspec.json.Decoder[T], text: bytes | memoryview) -> T:
    """Decodes; where lone surrogates are what stands in the way, they read as U+FFFD. Raises `msgspec.DecodeError`."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        masked = mask_surrogates(bytes(text))
        if masked == text:
            raise
        return decoder.decode(masked)


def decode(text: bytes) -> Any:
    """The value of a JSON text, as plain objects; never raises.

    A number out of range reads as infinity, one of thousands of digits as the text `<number>`; what is no JSON at all reads as a
    string of itself.
    """
    text = text.removeprefix(BOM)
    try:
        return decode_as(_ANY, text)
    except msgspec.ValidationError:
        return _decode_without_long_numbers(text)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", "replace")


def _decode_without_long_numbers(text: bytes) -> Any:
    shortened = _STRINGS_AND_NUMBERS.sub(_shorten_number, text)
    try:
        return decode_as(_ANY, shortened)
    except (msgspec.DecodeError, RecursionError):
        return text.decode("utf-8", "replace")


def _shorten_number(match: re.Match[bytes]) -> bytes:
    is_text = match[0].startswith(b'"')
    return match[0] if is_text or len(match[0]) <= _NUMBER_MAX_CHARS else b'"<number>"'


def compact(value: Any) -> str:
    """Minified JSON, key order kept, nothing escaped that need not be (`J(x)` of the accounting specification)."""
    return msgspec.json.encode(value).decode()


def as_text(value: Any) -> str:
    """A string as it is, nothing for `None`, anything else as minified JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else compact(value)


def looks_sealed(text: str, *, min_chars: int = SEALED_MIN_CHARS) -> bool:
    """Whether a string is data for machines: base64 of some length, or a data URL."""
    return len(text) >= min_chars and _SEALED.fullmatch(text) is not None


def without_sealed(value: Any, levels: int = 200) -> tuple[Any, int]:
    """A copy without base64, signatures and encrypted texts, and how many characters were left out.

    What lies deeper than `levels` (no request does: design 5) is kept as it is.
    """
    if isinstance(value, str):
        return ("", len(value)) if looks_sealed(value) else (value, 0)
    if isinstance(value, dict) and levels:
        return _dict_without_sealed(value, levels - 1)
    if isinstance(value, list) and levels:
        pairs = [without_sealed(item, levels - 1) for item in value]
        return [item for item, _ in pairs], sum(sealed for _, sealed in pairs)
    return value, 0


def _dict_without_sealed(value: dict[str, Any], levels: int) -> tuple[dict[str, Any], int]:
    kept: dict[str, Any] = {}
    total = 0
    for key, item in value.items():
        if isinstance(item, str) and _is_sealed_member(key, item):
            total += len(item)
            continue
        kept[key], sealed = without_sealed(item, levels)
        total += sealed
    return kept, total


def _is_sealed_member(key: str, text: str) -> bool:
    return key in _SEALED_KEYS or (key in _DATA_KEYS and looks_sealed(text, min_chars=DATA_MIN_CHARS))
