"""Planner specification, section 23.1: markers, what escapes them, and what unclear ones do."""

from __future__ import annotations

import pytest

from ullage.core.privacy import highest
from ullage.core.privacy.markers import Segment, find_markers, read_markers


def test_classes_have_an_order() -> None:
    assert highest("internal", "local-only", "sensitive") == "local-only"
    assert highest() == "normal"


def test_a_span_is_a_segment_of_its_class() -> None:
    assert read_markers("a [ds4:local-only]k[/ds4:local-only] b").segments == (
        Segment("a ", "normal"),
        Segment("k", "local-only"),
        Segment(" b", "normal"),
    )


def test_a_marker_at_the_very_start_classifies_all_and_goes_with_the_blanks_behind_it() -> None:
    reading = read_markers("[ds4:internal] note")
    assert reading.segments == (Segment("note", "internal"),)
    assert reading.floor is None


@pytest.mark.parametrize(
    "text",
    [
        "[DS4:Local-Only]k[/ds4:LOCAL-ONLY]",
        "[ullage:local-only]k[/ullage:local-only]",
        "[ds4:local-only]k[/ullage:local-only]",
        "[ds4: local-only ]k[/ds4:local only]",
        "[ds4:local_only]k[\\/ds4:local-only]",
    ],
)
def test_case_our_name_and_slips_of_the_pen_do_not_count(text: str) -> None:
    assert Segment("k", "local-only") in read_markers(text).segments


@pytest.mark.parametrize("text", [r"\[ds4:sensitive] x", r"\\\[ds4:sensitive] x", "[ds4:secret] x", "[ds4 sensitive]"])
def test_an_escaped_marker_and_what_only_looks_like_one_are_text(text: str) -> None:
    assert read_markers(text).segments == (Segment(text, "normal"),)


def test_a_backslash_that_is_escaped_itself_escapes_nothing() -> None:
    assert len(find_markers(r"\\[ds4:sensitive]x")) == 1


@pytest.mark.parametrize(
    ("text", "floor", "left"),
    [
        ("a [ds4:local-only] b", "local-only", "a  b"),
        ("a [/ds4:sensitive] b", "sensitive", "a  b"),
        ("[ds4:internal]a [ds4:local-only]b[/ds4:local-only][/ds4:internal]", "local-only", "a b"),
        ("[ds4:internal]a[ds4:sensitive]b[/ds4:internal]c[/ds4:sensitive]", "sensitive", "abc"),
        ("[ds4:internal]a[/ds4:sensitive]", "sensitive", "a"),
        ("[ds4:internal] a [ds4:sensitive]b[/ds4:sensitive]", "sensitive", " a b"),
        ("[ds4:internal]a[/ds4:internal][ds4:internal]", "internal", "a"),
    ],
    ids=["open", "closed-only", "nested", "crossed", "mismatched", "start-and-span", "span-and-open"],
)
def test_unclear_markers_raise_the_floor_to_the_highest_class_involved(text: str, floor: str, left: str) -> None:
    reading = read_markers(text)
    assert reading.floor == floor
    assert [(segment.text, segment.classification) for segment in reading.segments] == [(left, floor)]


def test_a_marker_made_of_the_pieces_around_another_counts() -> None:
    reading = read_markers("[ds4:loc[ds4:internal][/ds4:internal]al-only]k")
    assert (reading.floor, reading.segments[0].text) == ("local-only", "k")


def test_markers_inside_of_markers_without_end_withhold_the_text() -> None:
    text = "k"
    for _ in range(200):
        text = f"[ds4:{text}internal]"
    reading = read_markers("[ds4:" * 300 + "internal]" * 300 + "k")
    assert reading.floor == "local-only"
    assert "k" not in reading.segments[0].text.replace("ullage", "").replace("local-only text withheld", "")
