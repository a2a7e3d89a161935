r"""Markers of classes in text: `[ds4:CLASS]…[/ds4:CLASS]`, and the same with our own name (planner specification, section 23.1).

A marker at the very start that is never closed classifies the whole text. An odd number of backslashes before a marker makes it
plain text. Markers that are nested, crossed, left open or closed without need say that something is meant to be kept, and not
what: they raise the floor of all that stands around them.
"""

from __future__ import annotations

import re
from typing import cast

from msgspec import Struct

from .classes import Classification, highest
from .placeholders import withheld

ANCHORS = (b"ds4:", b"ullage:")
"""What every marker holds, in small letters."""

# The bracket stands outside of what ignores case: it is what the search goes by. JSON may put a backslash before a slash.
_MARKER = re.compile(r"\[(\\*+/|)(?i:ds4|ullage):[ \t]*((?i:normal|internal|sensitive|local[-_ ]?only))[ \t]*\]")

# Markers inside of markers inside of …: nobody writes that who does not mean to get through, or to cost time.
_ROUNDS = 8


class Marker(Struct, frozen=True, gc=False):
    """One marker as a span of its text."""

    start: int
    end: int
    closes: bool
    classification: Classification


class Segment(Struct, frozen=True, gc=False):
    """A piece of a text between markers. `classification` is what its marker says; `normal` outside of markers."""

    text: str
    classification: Classification


class Reading(Struct, frozen=True):
    """A text read by its markers. `floor` is the highest class involved where they do not pair up, else `None`."""

    segments: tuple[Segment, ...]
    floor: Classification | None = None


def find_markers(text: str) -> list[Marker]:
    """The markers of a text in order, those behind a backslash left out."""
    return [
        Marker(found.start(), found.end(), bool(found[1]), _class_of(found[2]))
        for found in _MARKER.finditer(text)
        if not _is_escaped(text, found.start())
    ]


def find_bare_markers(text: str) -> list[Marker]:
    """The markers of a text without any backslash before them, however many. In JSON inside of a text each is written twice, so
    whoever looks from outside cannot count them."""
    return [marker for marker in find_markers(text) if text[marker.start - 1 : marker.start] != "\\"]


def read_markers(text: str) -> Reading:
    """The text in segments. Where markers do not pair up it is one segment, without any marker, of the highest class involved."""
    markers = find_markers(text)
    if not markers:
        return Reading((Segment(text, "normal"),))
    if len(markers) == 1 and markers[0].start == 0 and not markers[0].closes:
        return _checked(text, (Segment(text[markers[0].end :].lstrip(), markers[0].classification),))
    if not _pair_up(markers):
        return _unclear(text)
    segments: list[Segment] = []
    position = 0
    for opening, closing in zip(markers[::2], markers[1::2], strict=True):
        segments.append(Segment(text[position : opening.start], "normal"))
        segments.append(Segment(text[opening.end : closing.start], opening.classification))
        position = closing.end
    segments.append(Segment(text[position:], "normal"))
    return _checked(text, tuple(segments))


def _checked(text: str, segments: tuple[Segment, ...]) -> Reading:
    """The reading, unless what is left would make up new markers."""
    joined = "".join(segment.text for segment in segments)
    return _unclear(text) if find_markers(joined) else Reading(segments)


def _pair_up(markers: list[Marker]) -> bool:
    return len(markers) % 2 == 0 and all(
        not opening.closes and closing.closes and opening.classification == closing.classification
        for opening, closing in zip(markers[::2], markers[1::2], strict=True)
    )


def _unclear(text: str) -> Reading:
    """The text without markers, also without those that appear when others are taken out."""
    classes: list[Classification] = []
    rounds = 0
    while markers := find_markers(text):
        classes += [marker.classification for marker in markers]
        rounds += 1
        if rounds > _ROUNDS:
            return Reading((Segment(withheld("local-only"), "local-only"),), "local-only")
        ends = [0, *(marker.end for marker in markers)]
        starts = [*(marker.start for marker in markers), len(text)]
        text = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    floor = highest(*classes)
    return Reading((Segment(text, floor),), floor)


def _class_of(word: str) -> Classification:
    lowered = word.lower()
    return "local-only" if lowered.startswith("local") else cast("Classification", lowered)


def _is_escaped(text: str, start: int) -> bool:
    before = text[:start] if start < 64 else text[start - 64 : start]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
