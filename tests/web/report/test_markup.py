"""HTML built from elements: nothing gets in unescaped."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web.report.markup import document, embedded_json, join, tag

from .reports import Page


def test_texts_and_attributes_are_escaped() -> None:
    assert tag("p", '<b> & "c"', title="\"'><x>") == '<p title="&quot;&#x27;&gt;&lt;x&gt;">&lt;b&gt; &amp; "c"</p>'


def test_elements_are_nested_as_they_are() -> None:
    assert tag("ul", [tag("li", "a"), None, tag("li", "b")], "c") == "<ul><li>a</li><li>b</li>c</ul>"


def test_attributes_without_a_value_and_without_being() -> None:
    assert tag("details", open=True, hidden=False, id=None, aria_label="x", class_="y") == (
        '<details open aria-label="x" class="y"></details>'
    )


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.126, "0.13"), (2.5, "2.5"), (10, "10"), (100.0, "100")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert tag("rect", x=value) == f'<rect x="{text}"/>'


def test_an_empty_element_with_content_is_closed() -> None:
    assert tag("rect", tag("title", "x")) == "<rect><title>x</title></rect>"


def test_what_drives_a_terminal_or_turns_a_line_round_is_shown_as_a_dot() -> None:
    assert tag("p", "a\x00b\u202ec\ud83dd") == "<p>a·b·c·d</p>"


@given(st.text())
def test_no_text_ends_its_element(text: str) -> None:
    page = Page(document(tag("html", tag("body", tag("p", text, title=text), tag("i", "end")))))
    assert [name for name, _ in page.elements] == ["html", "body", "p", "i"]


@given(
    st.recursive(
        st.text() | st.integers(-(2**53), 2**53), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_embedded_data_is_what_it_was_and_never_ends_its_element(value: object) -> None:
    text = embedded_json("data", {"value": value})
    page = Page(document(tag("html", text, tag("i", "end"))))
    assert [name for name, _ in page.elements] == ["html", "script", "i"]
    assert json.loads(page.text("script")[0]) == {"value": value}


def test_pieces_are_joined_without_anything_between() -> None:
    assert join("a", tag("b", "c"), ["d", None]) == "a<b>c</b>d"
