"""Which words of a prompt name what is not wanted: "do not fix the bug" (routing specification, section 4.5, no. 2)."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from .words_index import NOT_AFTER, NOT_BEFORE, is_unspaced
from .words_signs import CONJUNCTIONS, FILLERS, WITHOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .words_index import Found


def _any(words: str) -> str:
    return "|".join(sorted(set(words.split()), key=len, reverse=True))


_GAP_BEFORE = re.compile(rf"\s*+(?:(?:{_any(FILLERS)})\s++|l'){{0,3}}+(?:再|去|进行|做|任何|直接)?+")
_GAP_AFTER = re.compile(r"[はをのもにがするし은는을를하의 ]{0,5}")
_CLAUSE_END = re.compile(
    rf"[,;:!?\n，、。；：！？]|\.(?=\s|$)|(?<![^\W_])(?:{_any(CONJUNCTIONS)})(?![^\W_])|但|而|然后|只|ください|하고"
)
_REACH = 80
"""Letters that a clause has at most, for this purpose."""
_ENDS_CLAUSE = re.compile(r"\s*+(?:[,;!\n]|\.(?=\s|$)|$)")
_NEGATIONS = frozenset((NOT_BEFORE, NOT_AFTER))
_WITHOUT = frozenset(WITHOUT.split())
_BEFORE_BIE = frozenset("请請你您也就先再")


def wanted(text: str, words: Sequence[Found]) -> set[str]:
    """The tags of those words of a folded text that are not denied. The words are in order of their places."""
    negators = [word for word in words if word[2] in _NEGATIONS]
    if not negators:
        return {tag for _, _, tag in words}
    others = [word for word in words if word[2] not in _NEGATIONS]
    starts = [start for start, _, _ in others]
    denied: set[int] = set()
    for start, end, tag in negators:
        find = _denied_after if tag == NOT_BEFORE else _denied_before
        denied.update(find(text, start, end, others, starts))
    return {tag for number, (_, _, tag) in enumerate(others) if number not in denied}


def _denied_after(text: str, start: int, end: int, words: Sequence[Found], starts: Sequence[int]) -> range:
    """Which words a negator denies that stands before them: those of its clause, if one follows closely enough."""
    first = bisect_left(starts, end)
    if first == len(words) or not _is_negator(text, start, end):
        return range(0)
    word_start, word_end, _ = words[first]
    if not _governs(text, start, end, word_start):
        return range(0)
    clause_end = _CLAUSE_END.search(text, word_end, word_end + _REACH)
    return range(first, bisect_left(starts, clause_end.start() if clause_end else word_end + _REACH))


def _denied_before(text: str, start: int, end: int, words: Sequence[Found], starts: Sequence[int]) -> range:
    """Which words a negator denies that stands after them: those of its clause, if one precedes closely enough."""
    after = bisect_left(starts, start)
    if not after:
        return range(0)
    word_start, word_end, _ = words[after - 1]
    if not _closes(text, word_end, start, end):
        return range(0)
    begin = max(word_start - _REACH, 0)
    clause_ends = [match.end() for match in _CLAUSE_END.finditer(text, begin, word_start)]
    return range(bisect_left(starts, clause_ends[-1] if clause_ends else begin), after)


def _governs(text: str, start: int, end: int, word_start: int) -> bool:
    """Whether a negator reaches a word behind it. Such as "without" reach to the end of their clause."""
    if word_start - end > _REACH:
        return False
    if text[start:end] in _WITHOUT:
        return _CLAUSE_END.search(text, end, word_start) is None
    return _GAP_BEFORE.fullmatch(text, end, word_start) is not None


def _is_negator(text: str, start: int, end: int) -> bool:
    """Whether it stands for itself. 别 is a part of many words: 级别, 类别, 特别."""
    if text[start:end] not in ("别", "別") or not start:
        return True
    before = text[start - 1]
    return not is_unspaced(before) or before in _BEFORE_BIE or not before.isalnum()


def _closes(text: str, word_end: int, start: int, end: int) -> bool:
    """Whether a negator behind a word belongs to it. The German one may stand apart from it, at the end of their clause."""
    if not 0 <= start - word_end <= _REACH:
        return False
    if is_unspaced(text[start]):
        return _GAP_AFTER.fullmatch(text, word_end, start) is not None
    return _ENDS_CLAUSE.match(text, end) is not None and _CLAUSE_END.search(text, word_end, start) is None
