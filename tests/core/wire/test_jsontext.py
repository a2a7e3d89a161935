from __future__ import annotations

import math
import time

import pytest

from ullage.core.wire.jsontext import decode, mask_surrogates, without_sealed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb"\ud83d\ude00", rb"\ud83d\ude00"),
        (rb"\ud83d", rb"\ufffd"),
        (rb"\uDE00\ud83d", rb"\ufffd\ufffd"),
        (rb"\ud83d\ud83d\ude00", rb"\ufffd\ud83d\ude00"),
        (rb"\ud83d\ude00\ude00", rb"\ud83d\ude00\ufffd"),
        (rb"\\ud83d", rb"\\ud83d"),
        (rb"\\\ud83d", rb"\\\ufffd"),
        (rb"\n\ud83d", rb"\n\ufffd"),
    ],
)
def test_only_lone_surrogates_are_masked_and_no_offset_moves(text: bytes, expected: bytes) -> None:
    assert mask_surrogates(text) == expected


def test_masking_is_linear_on_hostile_backslashes() -> None:
    started = time.process_time()
    mask_surrogates(b"\\" * 2_000_001 + b"ud800")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    [b"[" + b"9" * 5_000 + b',"' + b'\\"' * 1_000_000, b"[" + b"9" * 299 + b"." * 5_000 + b"," + b"12," * 1_000_000],
    ids=["escaped quotes without end", "numbers without end"],
)
def test_decoding_is_linear_on_hostile_text(text: bytes) -> None:
    started = time.process_time()
    decode(text)
    assert time.process_time() - started < 2


def test_what_lies_very_deep_is_kept() -> None:
    deep: list[object] = ["QUJD" * 200]
    for _ in range(800):
        deep = [deep]
    assert without_sealed(deep) == (deep, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'"\\ud800x"', "\ufffdx"),
        (b"1e999", math.inf),
        (b"[" + b"9" * 5_000 + b',"' + b"9" * 5_000 + b'"]', ["<number>", "9" * 5_000]),
        (b"9" * 400, int("9" * 400)),
        (b'"\\u0000"', "\0"),
        (b"not json", "not json"),
        (b"\xff", "\ufffd"),
        (b"[" * 5_000, "[" * 5_000),
    ],
)
def test_anything_decodes_to_something(text: bytes, expected: object) -> None:
    assert decode(text) == expected


def test_sealed_data_is_left_out_and_counted() -> None:
    blob = "QUJD" * 200
    value = {"a": [blob, "plain text stays"], "signature": "sig", "data": {"deep": blob}, "path": "a/b"}
    assert without_sealed({"data": "short stays", "b64_json": "QUJD" * 20}) == ({"data": "short stays"}, 80)
    assert without_sealed(value) == (
        {"a": ["", "plain text stays"], "data": {"deep": ""}, "path": "a/b"},
        len(blob) * 2 + 3,
    )
