"""Looking into a text that was kept: a bounded search for a phrase, and some of its lines (planner specification, 20.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import CallError
from ullage.core.tokens.estimators import utf16_units

from .excerpts import cut_before, cut_behind, head, lower_in_place

if TYPE_CHECKING:
    from collections.abc import Iterator

FEWEST_CHARS, MOST_CHARS = 2, 200
"""Shortest and longest query."""

AROUND_CHARS = 300
"""What is shown before and behind a match."""

LINES = 120
MOST_LINES = 200
"""Lines that a reading shows if nothing is said, and at most (planner specification, section 18.7)."""


class Match(Struct, frozen=True, kw_only=True):
    """A match with what stands around it. `line` counts from 1 and is the line of the match, not of the excerpt's beginning."""

    line: int
    excerpt: str


class Found(Struct, frozen=True, kw_only=True):
    """What a search found: all places where the phrase stands, and those that are shown. No two excerpts overlap."""

    total: int
    matches: tuple[Match, ...]


class Lines(Struct, frozen=True, kw_only=True):
    """Lines of a text from number `first` on (from 1). `cut_chars` of the last one did not fit; `total` lines are there."""

    first: int
    lines: tuple[str, ...]
    total: int
    cut_chars: int = 0


def check_query(query: str, *, most: int = MOST_CHARS) -> str:
    """The query without blanks around it. Raises `CallError` if it is too short, or has more than `most` characters."""
    query = query.strip()
    if not FEWEST_CHARS <= utf16_units(query) <= most:
        raise CallError(
            f"The query has {utf16_units(query)} characters.",
            hint=f"Ask for {FEWEST_CHARS} to {most} characters that stand in the text.",
            code="bad_query",
        )
    return query


def find_matches(text: str, query: str, *, most: int, chars: int) -> Found:
    """Where a phrase stands, in whatever case; of these the first `most`, in excerpts of at most `chars` characters together.

    Raises `CallError` for a query of the wrong length.
    """
    query = check_query(query)
    matches: list[Match] = []
    total = 0
    behind = 0
    line, counted = 1, 0
    for place in _places(lower_in_place(text), lower_in_place(query)):
        total += 1
        if place + len(query) <= behind or len(matches) >= most:
            continue
        excerpt, behind = _around(text, place, place + len(query), behind)
        chars -= utf16_units(excerpt)
        if chars < 0:
            most = 0
            continue
        line += text.count("\n", counted, place)
        counted = place
        matches.append(Match(line=line, excerpt=excerpt))
    return Found(total=total, matches=tuple(matches))


def read_lines(text: str, first: int = 1, count: int = LINES, *, chars: int) -> Lines:
    """At most `count` lines (never more than 200) from number `first` on, in at most `chars` characters with their ends.

    Raises `CallError` for a line that is not there.
    """
    lines = text.split("\n")
    if not 1 <= first <= len(lines):
        raise CallError(
            f"There is no line {first}.", hint=f"The text has lines 1 to {len(lines)}.", code="no_such_line"
        )
    shown: list[str] = []
    cut = 0
    for line in lines[first - 1 : first - 1 + max(1, min(count, MOST_LINES))]:
        fitting = head(line, chars)
        if shown and (chars <= 0 or fitting != line):
            break
        shown.append(fitting)
        cut = utf16_units(line) - utf16_units(fitting)
        chars = 0 if cut else chars - utf16_units(line) - 1
    return Lines(first=first, lines=tuple(shown), total=len(lines), cut_chars=cut)


def _places(text: str, phrase: str) -> Iterator[int]:
    place = text.find(phrase)
    while place >= 0:
        yield place
        place = text.find(phrase, place + len(phrase))


def _around(text: str, start: int, end: int, behind: int) -> tuple[str, int]:
    """What stands around a match, without what an earlier excerpt shows, and the end of it."""
    first = max(behind, cut_behind(text, max(0, start - AROUND_CHARS)))
    last = cut_before(text, min(len(text), end + AROUND_CHARS))
    return text[min(first, start) : max(last, end)], max(last, end)
