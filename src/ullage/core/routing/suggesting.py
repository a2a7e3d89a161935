"""The known word that a mistyped one was meant to be (routing specification, section 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_SLIPS = 2


def suggest(word: str, known: Iterable[str]) -> str | None:
    """The word that is the same but for its case, else the nearest by at most two slips and a third of its length.

    A slip is a letter too much, too few, another, or two neighbours in each other's place. Ties: the first by the alphabet.
    """
    words = sorted(known)
    same = next((one for one in words if one.casefold() == word.casefold()), None)
    if same is not None:
        return same
    most = min(_MOST_SLIPS, len(word) // 3)
    near = [(slips, one) for one in words if (slips := count_slips(word.casefold(), one.casefold())) <= most]
    return min(near)[1] if near else None


def count_slips(one: str, other: str) -> int:
    """The distance of Damerau and Levenshtein, no part being changed twice."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            least = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                least = min(least, before[column - 2] + 1)
            line.append(least)
        before, last = last, line
    return last[-1]
