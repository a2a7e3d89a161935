"""Where the words of a task stand in a text, in one pass over it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick

from .signals import KINDS
from .words import ENGLISH, OTHERS
from .words_signs import CODE, NEGATORS_AFTER, NEGATORS_BEFORE, STEPS

STEP, IN_CODE, NOT_BEFORE, NOT_AFTER = "steps", "code", "not before", "not after"
"""Tags of words that tell no kind."""

_FIRST_UNSPACED = "\u2e80"
"""From here on scripts have no spaces between words; they border no word of another script (complaint C25)."""
_PLAIN = {
    accented: plain
    for letters, plain in (
        ("àáâãå", "a"),
        ("èéêë", "e"),
        ("ìíîï", "i"),
        ("òóôõ", "o"),
        ("ùúû", "u"),
        ("ç", "c"),
        ("ñ", "n"),
        ("ä", "ae"),
        ("ö", "oe"),
        ("ü", "ue"),
        ("ё", "е"),
        ("’", "'"),
    )
    for accented in letters
}
_LONE = re.compile("[\ud800-\udfff]")
"""Halves of letters, as JSON may hold them: no word has one, and the automaton reads none."""
_ACCENTED = re.compile(f"[{''.join(_PLAIN)}]")
_LETTERS = re.compile(rf"(?:(?![{_FIRST_UNSPACED}-\U0010ffff])[^\W\d_]){{0,40}}+")

Found = tuple[int, int, str]
"""A word of a text: where it begins and ends there, and its tag. Long texts hold hundreds, so it is a bare tuple."""


class _Index(NamedTuple):
    """An automaton, and of each entry its tag, whether its script is unspaced, whether letters may stand before and after."""

    automaton: AhoCorasick
    entries: tuple[tuple[str, bool, bool, bool], ...]


def fold(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFC", _LONE.sub("\ufffd", text)).casefold()
    return _ACCENTED.sub(lambda match: _PLAIN[match[0]], folded)


def is_unspaced(letter: str) -> bool:
    """Whether a letter belongs to a script without spaces between words, or to Korean, whose endings are glued to words."""
    return letter >= _FIRST_UNSPACED


def find_words(text: str) -> list[Found]:
    """The words of a folded text that tell something, in order of their places."""
    index = _index()
    entries = index.entries
    padded = f" {text}  "
    found: list[Found] = []
    for number, start, end in index.automaton.find_matches_as_indexes(text, overlapping=True):
        tag, unspaced, open_before, open_after = entries[number]
        if unspaced or (
            (open_before or not _is_of_word(padded[start])) and _ends(padded, end + 1, open_after=open_after)
        ):
            found.append((start, end, tag))
    found.sort()
    return found


def _ends(text: str, place: int, *, open_after: bool) -> bool:
    """Whether a word ends before this place, or after more letters. Names of files and of code do not: `test.py`, `test_all`."""
    if open_after and (letters := _LETTERS.match(text, place)):
        place = letters.end()
    letter = text[place]
    return not _is_of_word(text[place + 1] if letter == "." else letter)


def _is_of_word(letter: str) -> bool:
    return letter == "_" or (letter < _FIRST_UNSPACED and letter.isalnum())


@cache
def _index() -> _Index:
    english = [(form, kind) for kind in KINDS for word in ENGLISH[kind].split() for form in sorted(_forms(word))]
    rows = [(kind, OTHERS[kind]) for kind in KINDS]
    rows += [(STEP, STEPS), (IN_CODE, CODE), (NOT_BEFORE, NEGATORS_BEFORE), (NOT_AFTER, NEGATORS_AFTER)]
    words = dict.fromkeys([*english, *((word, tag) for tag, row in rows for word in row.split())])
    return _Index(
        AhoCorasick([word.strip("~").replace("_", " ") for word, _ in words]),
        tuple((tag, is_unspaced(word[0]), word.startswith("~"), word.endswith(("~", "'"))) for word, tag in words),
    )


def _forms(word: str) -> set[str]:
    """An English word with its regular endings. Some are no words; nobody writes those."""
    if word.endswith("e"):
        return {word, word + "s", word + "d", word[:-1] + "ing"}
    if word.endswith("y"):
        return {word, word[:-1] + "ies", word[:-1] + "ied", word + "ing"}
    endings = ("", "s", "es", "ed", "ing", word[-1] + "ed", word[-1] + "ing")
    return {word + ending for ending in endings}
