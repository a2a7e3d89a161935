"""Cuts text where a reader would: never inside what is read as one character.

Lengths are characters as the planner specification counts them (section 0): UTF-16 code units, of which an emoji outside the
basic plane is two. Positions are Python's.
"""

from __future__ import annotations

import re
import unicodedata

from ullage.core.tokens.estimators import utf16_units

ELLIPSIS = "…"

LONGEST_CLUSTER = 256
"""Code points that are looked back over for the beginning of a character. No script needs a tenth of them; a text that is one
long pile of accents is cut between two of these."""

# From here on a character may belong to the one before it; below it only a line feed behind a carriage return does.
_FIRST_JOINING = "\u0300"

_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]")
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))

# What joins the character before it beside marks (general category M): joiners, modifiers of skin, tags of flags, the vowels
# and finals of Hangul, half-width voicing marks, and the vowels AM of Thai and Lao. (Unicode Standard Annex 29, GB6 to GB9a)
_JOINS_BACK = re.compile(
    "[\u0e33\u0eb3\u1160-\u11ff\u200c\u200d\ud7b0-\ud7ff\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
# What joins the character behind it: the joiner, and signs that are written around what follows. (GB9b, GB11)
_JOINS_ON = re.compile(
    "[\u200d\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e"
    "\U000110bd\U000110cd\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a\U00011a84-\U00011a89\U00011d46\U00011f02]"
)
_HANGUL_LEAD = re.compile("[\u1100-\u115f\ua960-\ua97c]")
_HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3]")
_VIRAMA_CLASS = 9


def head(text: str, chars: int) -> str:
    """The longest beginning of at most so many characters."""
    end = min(len(text), max(chars, 0))
    excess = utf16_units(text[:end]) - max(chars, 0)
    while excess > 0:  # each code point left out is one or two of them
        shorter = end - (excess + 1) // 2
        excess -= utf16_units(text[shorter:end])
        end = shorter
    return text[: cut_before(text, end)]


def tail(text: str, chars: int) -> str:
    """The longest end of at most so many characters."""
    start = max(0, len(text) - max(chars, 0))
    excess = utf16_units(text[start:]) - max(chars, 0)
    while excess > 0:
        later = start + (excess + 1) // 2
        excess -= utf16_units(text[start:later])
        start = later
    return text[cut_behind(text, start) :]


def shorten(text: str, chars: int) -> str:
    """The text, or a beginning of it with an ellipsis, in at most so many characters (at least one)."""
    return text if utf16_units(text) <= chars else head(text, chars - 1) + ELLIPSIS


def cut_before(text: str, index: int) -> int:
    """The last position up to `index` where the text may be cut."""
    for position in range(index, max(0, index - LONGEST_CLUSTER), -1):
        if may_cut(text, position):
            return position
    return 0 if index <= LONGEST_CLUSTER else _between_code_points(text, index)


def cut_behind(text: str, index: int) -> int:
    """The first position from `index` on where the text may be cut."""
    for position in range(index, min(len(text), index + LONGEST_CLUSTER)):
        if may_cut(text, position):
            return position
    return len(text) if index + LONGEST_CLUSTER >= len(text) else _between_code_points(text, index)


def may_cut(text: str, index: int) -> bool:
    """Whether no character reaches over this position.

    Decided by Unicode Standard Annex 29 where the two neighbours tell, and against a cut where only more of the text would: a
    joiner is taken to join whatever follows. So there is never a cut inside a grapheme cluster, and seldom none between two.
    """
    if not 0 < index < len(text):
        return True
    before, after = text[index - 1], text[index]
    if before < _FIRST_JOINING and after < _FIRST_JOINING:
        return (before, after) != ("\r", "\n")
    if _FLAG.match(before) and _FLAG.match(after):
        return _is_even_flag(text, index)
    return not (
        _JOINS_ON.match(before)
        or _is_mark(after)
        or (_HANGUL_LEAD.match(before) and _HANGUL.match(after))
        or _is_conjunct(text, index)
        or _is_pair(before, after)
    )


def lower_in_place(text: str) -> str:
    """The text in lower case with every letter where it was: a few become two in lower case, those stay."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def _is_even_flag(text: str, index: int) -> bool:
    """Flags are pairs of letters; two of them in a row may be parted where an even number of letters lies before."""
    before = text[:index]
    return (len(before) - len(before.rstrip(_FLAGS))) % 2 == 0


def _is_conjunct(text: str, index: int) -> bool:
    """Whether marks before a letter hold a virama, which joins consonants in the scripts of India (GB9c)."""
    if unicodedata.category(text[index]) != "Lo":
        return False
    for position in range(index - 1, max(-1, index - 1 - LONGEST_CLUSTER), -1):
        mark = text[position]
        if unicodedata.combining(mark) == _VIRAMA_CLASS:
            return True
        if not _is_mark(mark):
            return False
    return False


def _is_mark(character: str) -> bool:
    """Whether a character belongs to the one before it."""
    return unicodedata.category(character).startswith("M") or _JOINS_BACK.match(character) is not None


def _is_pair(before: str, after: str) -> bool:
    """Whether two halves of a surrogate pair stand side by side, as some decoders leave them."""
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _between_code_points(text: str, index: int) -> int:
    return index - 1 if _is_pair(text[index - 1], text[index]) else index
