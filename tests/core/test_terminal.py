"""What may be shown on a terminal."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.terminal import safe, safe_json

BIDI = "\u061c\u200e\u200f\u202a\u202e\u2066\u2069"


def test_a_text_cannot_drive_the_terminal() -> None:
    assert safe("a\x1b[31mb\tc\u202ed\ud83d\ne\x9bf") == "a·[31mb  c·d··e·f"


def test_letters_marks_and_pictures_stay() -> None:
    text = "Ümläut 漢字 e\u0301 عربي 👩\u200d💻"
    assert safe(text) == text
    assert safe_json(text) == text


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(BIDI)))
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    shown = safe(text)
    assert safe(shown) == shown
    assert not any(sign < " " or "\x7f" <= sign <= "\x9f" or sign in BIDI for sign in shown)


@given(st.text(st.characters(codec="utf-8") | st.sampled_from(BIDI)))
def test_json_is_the_same_json(text: str) -> None:
    shown = safe_json(msgspec.json.encode(text).decode())
    assert msgspec.json.decode(shown) == text
    assert safe(shown) == shown
