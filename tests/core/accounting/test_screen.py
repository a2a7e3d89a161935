from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting.screen import Painter, cut, pad, spread, width_of
from ullage.core.terminal import safe


@given(st.text(max_size=60), st.integers(0, 40))
def test_a_cut_text_never_takes_more_columns_than_it_may(text: str, columns: int) -> None:
    assert width_of(cut(safe(text), columns)) <= columns
    assert width_of(pad(safe(text), columns)) == columns


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("中文", 4), ("e\u0301", 1), ("", 0)])
def test_wide_and_combining_characters_take_their_columns(text: str, columns: int) -> None:
    assert width_of(text) == columns


def test_a_long_text_ends_with_an_ellipsis() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("中文字", 4) == "中…"


def test_two_texts_stand_at_the_ends_of_a_line() -> None:
    assert spread("a", "b", 6) == "a    b"
    assert spread("abc", "def", 4) == "abc  def"


def test_paint_is_put_on_only_where_colour_is_wanted() -> None:
    assert Painter(color=False)("x", "title") == "x"
    assert Painter(color=True)("x", "title") == "\x1b[1;36mx\x1b[0m"
    assert Painter(color=True)("x", "plain") == "x"
