"""Words of a text, and the terms of a request that something may be found by. Terms match whole words, never parts of them."""

from __future__ import annotations

import re
import unicodedata

from .stopwords import STOPWORDS

REQUEST_CHARS = 20_000
MOST_TERMS = 24
"""What of a request is looked at, and how many words and names of it (planner specification, section 17)."""

# Scripts that set no spaces between words: each pair of neighbours stands for a word.
_UNSPACED = r"぀-ヿ㐀-䶿一-鿿豈-﫿ｦ-ﾟ\U00020000-\U0003ffff"
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_MOST_PAIRS = 40
"""Pairs that one run of such a script gives at most."""

# Names: what stands between backticks, paths, dotted and dashed words; and of plain runs those with `_` or in camel case.
_NAME = re.compile(r"`[^`\n]{2,160}`|(?<!\w)\w++(?:[./:\\-]{1,2}\w++)++")
_RUN = re.compile(r"\w++(?:-\w++)*+")
_NAME_LIKE = re.compile(r"_|[a-z0-9][A-Z]")
_BETWEEN = "\x1f"


def joined(text: str) -> str:
    """The words of a text between separators, folded: one joined text holds another where its words stand in a row in it."""
    words = [part for run in _WORD.findall(_fold(text)) for part in _parts(run)]
    return _BETWEEN.join(["", *words, ""]) if words else ""


def holds(text: str, words: str) -> bool:
    """Whether joined words stand in a row in a joined text. No words stand nowhere."""
    return bool(words) and words in text


def find_terms(text: str) -> tuple[str, ...]:
    """The terms of a request, each as joined words, names first, each once. Stopwords and bare numbers are none."""
    begin = text[:REQUEST_CHARS]
    runs = _RUN.findall(begin)
    names = [*_NAME.findall(begin), *filter(_NAME_LIKE.search, runs)]
    found: dict[str, tuple[str, ...]] = {}
    for run in (*names, *runs):
        terms = _terms_of(run)
        if terms:
            found.setdefault(joined(run), terms)
        if len(found) == MOST_TERMS:
            break
    return tuple(dict.fromkeys(term for terms in found.values() for term in terms))


def says_something(words: str) -> bool:
    """Whether joined words hold one that is no stopword, no bare number and no single letter."""
    return any(
        word not in STOPWORDS and not word.isdecimal() and (len(word) > 1 or not word.isascii())
        for word in words.split(_BETWEEN)
        if word
    )


def _terms_of(run: str) -> tuple[str, ...]:
    """What a run of characters asks for: a name as a whole; of a script without spaces each pair."""
    words = joined(run)
    if _HAS_UNSPACED.search(run):
        pairs = [word for word in words.split(_BETWEEN) if word and says_something(word)]
        return tuple(_BETWEEN + pair + _BETWEEN for pair in pairs[:_MOST_PAIRS])
    return (words,) if says_something(words) else ()


def _parts(run: str) -> list[str]:
    if len(run) == 1 or not _HAS_UNSPACED.match(run):
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]


def _fold(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
