"""How much of a prompt a regular expression may be searched in, so that the search ends soon whatever the prompt.

Python's expressions go back to every choice they have made. Where two ways to match begin with the same character, each doubles
the work, and within a repetition without bound the work has no bound either. Ways are counted here as an upper bound: choices
that the next character decides count once, all others as often as they may be made. What looks ahead or behind is taken for a
choice that nothing decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf

# The only parser of expressions there is; the package's tests pin what of it is used here.
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LENGTHS = (4_000, 2_000, 1_000, 400)
"""Characters of a prompt that are searched: all of the first ones, or fewer where an expression has more ways to match."""

_MOST_STEPS = 50_000_000
"""Of one search, by estimate: some tenths of a second on a machine of 2020."""
_FEW = 8
"""A repetition of at most so many times is counted out."""

_STEPS = {op.AT: 0, **dict.fromkeys((op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY), 0.1)}
"""Of what has one way to match, set against one turn of a repetition; what was matched before may be as long as a text."""

_ASCII = 128
_OTHER = 1 << _ASCII
"""Stands for every character that is not ASCII: all of them count as the same one."""
_ANY = (1 << _ASCII + 1) - 1
_FOLDED = frozenset("iks")
"""Letters that stand for some beyond ASCII where case does not count."""
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
_OPEN = frozenset({op.AT, op.ASSERT, op.ASSERT_NOT, op.GROUPREF, op.GROUPREF_EXISTS})
_REPEATS = frozenset({op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT})


@lru_cache(maxsize=256)
def search_length(pattern: str) -> int | None:
    """Characters of a text that the pattern may be searched in; `None` where even a short text may take for ever.

    Raises `re.error` for what is no expression, `RecursionError` or `OverflowError` for what is far too large a one.
    """
    parsed = _parser.parse(pattern, re.IGNORECASE)
    return next((length for length in LENGTHS if _steps(parsed, length) <= _MOST_STEPS), None)


def _steps(nodes: Iterable[Any], length: int) -> float:
    """Of a search in a text of so many characters. It is begun at each of them."""
    found = _Counting(length).row(nodes, 0)
    return length * (found.steps + found.ways)


class _Start(NamedTuple):
    """The characters that a match may begin with, and whether it may be one of nothing."""

    first: int
    empty: bool

    def then(self, follow: int) -> int:
        """What comes next where this stands before `follow`."""
        return self.first | (follow if self.empty else 0)


class _Ways(NamedTuple):
    """In how many ways something may match at one place, and the steps that it takes to try all of them."""

    ways: float = 1
    steps: float = 0


_ENDLESS = _Ways(inf, inf)
_ANYTHING = _Start(_ANY, empty=True)
"""Of what has no width: what comes next decides nothing there."""


def _start(nodes: Iterable[Any]) -> _Start:
    """Of what stands in a row."""
    first = 0
    for name, value in nodes:
        one = _start_of(name, value)
        first |= one.first
        if not one.empty:
            return _Start(first, empty=False)
    return _Start(first, empty=True)


def _start_of(name: Any, value: Any) -> _Start:
    if name in _REPEATS:
        inner = _start(value[2])
        return inner._replace(empty=inner.empty or value[0] == 0)
    if name is op.BRANCH:
        starts = [_start(branch) for branch in value[1]]
        return _Start(_union(one.first for one in starts), empty=any(one.empty for one in starts))
    if name is op.SUBPATTERN:
        return _start(value[3])
    if name is op.ATOMIC_GROUP:
        return _start(value)
    if name in _OPEN:
        return _ANYTHING
    return _Start(_characters(name, value), empty=False)


class _Counting:
    """Counts ways to match in a text of so many characters."""

    def __init__(self, length: int) -> None:
        # One that ends anywhere does so halfway, taken over all places that it may begin at.
        self._half = length / 2

    def row(self, nodes: Iterable[Any], follow: int) -> _Ways:
        """Of what stands in a row, with `follow` for the characters that may come next."""
        found = _Ways()
        for name, value in reversed(list(nodes)):
            one = self._one(name, value, follow)
            found = _Ways(one.ways * found.ways, one.steps + one.ways * found.steps)
            follow = _start_of(name, value).then(follow)
        return found

    def _one(self, name: Any, value: Any, follow: int) -> _Ways:
        if name in _REPEATS:
            least, most, nodes = value
            return self._repeated(least, most, nodes, follow, possessive=name is op.POSSESSIVE_REPEAT)
        if name is op.BRANCH:
            return self._branched(value[1], follow)
        if name is op.GROUPREF_EXISTS:
            return self._branched([branch or () for branch in value[1:]], _ANY)
        if name is op.SUBPATTERN:
            return self.row(value[3], follow)
        if name in (op.ASSERT, op.ASSERT_NOT):
            return self.row(value[1], _ANY)._replace(ways=1)
        if name is op.ATOMIC_GROUP:
            return self.row(value, _ANY)._replace(ways=1)
        return _Ways(steps=_STEPS.get(name, self._half))

    def _branched(self, branches: Sequence[Sequence[Any]], follow: int) -> _Ways:
        """One of them: by the next character, if that decides."""
        seen, decided = 0, True
        for branch in branches:
            begins = _start(branch).then(follow)
            decided &= not seen & begins
            seen |= begins
        found = [self.row(branch, follow) for branch in branches]
        ways = [one.ways for one in found]
        return _Ways(max(ways) if decided else sum(ways), sum(one.steps for one in found))

    def _repeated(self, least: int, most: int, nodes: Iterable[Any], follow: int, *, possessive: bool) -> _Ways:
        start = _start(nodes)
        once = self.row(nodes, follow if most <= 1 else follow | start.first)
        # Whether to go on is for the next character to say, unless so much is fixed.
        decided = possessive or least == most or not (start.empty or start.first & follow)
        if most <= _FEW:
            ends = 1 if decided else most - least + 1
            tried = sum(once.ways**times for times in range(most))
            return _Ways(ends * once.ways**most, once.steps * tried)
        if once.ways > 1 or start.empty:
            return _ENDLESS
        if not follow:  # nothing comes after it, so that the search is over once it is there
            return _Ways(1, least * once.steps)
        return _Ways(1 if decided else self._half, self._half)


def _characters(name: Any, value: Any) -> int:
    """The characters that one place of an expression stands for."""
    if name is op.LITERAL:
        return _literal(value)
    if name is op.NOT_LITERAL:
        return _ANY & ~_plain(_literal(value))
    if name is op.RANGE:
        low, high = value
        return _union(_literal(code) for code in range(low, min(high, _ASCII - 1) + 1)) | (
            _OTHER if high >= _ASCII else 0
        )
    if name is op.CATEGORY:
        return _category(_CATEGORIES[value])
    if name is op.IN:
        negated = value[0][0] is op.NEGATE
        found = _union(_characters(*one) for one in value[negated:])
        return _ANY & ~_plain(found) if negated else found
    return _ANY


def _literal(code: int) -> int:
    if code >= _ASCII:
        return _OTHER | _union(1 << ord(one) for one in (*chr(code).lower(), *chr(code).upper()) if ord(one) < _ASCII)
    letter = chr(code)
    other = _OTHER if letter.lower() in _FOLDED else 0
    return 1 << ord(letter.lower()) | 1 << ord(letter.upper()) | other


def _plain(characters: int) -> int:
    """Without the others: that one of them is left out leaves out no other one."""
    return characters & ~_OTHER


@lru_cache(maxsize=len(_CATEGORIES))
def _category(sign: str) -> int:
    pattern = re.compile(sign)
    return _OTHER | _union(1 << code for code in range(_ASCII) if pattern.match(chr(code)))


def _union(sets: Iterable[int]) -> int:
    found = 0
    for one in sets:
        found |= one
    return found
