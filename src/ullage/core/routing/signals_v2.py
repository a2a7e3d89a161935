"""Signals in ten languages, of what a prompt asks for, not of what it shows or excludes (routing specification, section 4.5)."""

from __future__ import annotations

import re

from .signals import KINDS, Signals
from .signals_denied import wanted
from .signals_quoted import without_quoted
from .words_index import IN_CODE, STEP, find_words, fold
from .words_signs import ASSENTS, GOING_ON

READ_CHARS = 20_000
"""Code points of a prompt that are read, half of them at its end: what is wanted stands before or after what is pasted."""
FEW_WORDS = 4
"""From so many words on, a prompt without a hit is a task of its own."""
_MOST_WORDS_OF_AGREEING = 8
_LONGEST_GOING_ON = 120
_LETTERS_OF_A_TOKEN_OF_ITS_OWN = 4

_UNSPACED = "\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_SPACED = re.compile(f"[^{_UNSPACED}]+")
_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[\w'’-])+")
_HIGH = re.compile(f"[{_UNSPACED}]+")
_FRAME = re.compile(r"at (?<!\wat )\S{1,200}+ \(|file \"[^\"\n]{1,200}+\", line \d")
_NUMBERED = re.compile(r"^[ \t]*+\d{1,2}[.)]", re.MULTILINE)
_GOING_ON = frozenset(GOING_ON.split())
_GOING_ON_UNSPACED = re.compile(
    "|".join(sorted((word for word in _GOING_ON if _HIGH.match(word)), key=len, reverse=True))
)

_ASSENT = re.compile(rf"(?:{'|'.join(ASSENTS.split()).replace('_', ' ')})(?:[\s,.!，。！、]|\Z)")


def read_signals_v2(prompt: str) -> Signals:
    """The signals of a prompt."""
    text = prompt.strip()
    read = text if len(text) <= READ_CHARS else f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    asked = fold(without_quoted(read))
    tags = wanted(asked, find_words(asked))
    kinds = tuple(kind for kind in KINDS if kind in tags)
    trace = _shows_trace(read.lower())
    short = fold(text) if len(text) <= _LONGEST_GOING_ON and not trace else None
    return Signals(
        kinds=kinds,
        code=IN_CODE in tags or _shows_code(read),
        trace=trace,
        steps=STEP in tags or len(_NUMBERED.findall(asked)) > 1,
        letters=count_letters(text),
        goes_on=short is not None and not kinds and _goes_on(short),
        agrees=short is not None and bool(kinds) and _agrees(short),
    )


def _shows_code(text: str) -> bool:
    return any(sign in text for sign in ("{", "}", "=>", "()", ";\n")) or text.endswith(";") or text.count("`") > 1


def _shows_trace(text: str) -> bool:
    """Whether a lower-case text holds an error message or a frame of a stack, not just such a word."""
    return any(sign in text for sign in ("error: ", "exception: ", "traceback (")) or _FRAME.search(text) is not None


def count_letters(text: str) -> int:
    """The length of a text in Latin letters. Those of Chinese, Japanese and Korean are worth a token each."""
    if text.isascii():
        return len(text)
    spaced = sum(map(len, _SPACED.findall(text)))
    return spaced + _LETTERS_OF_A_TOKEN_OF_ITS_OWN * (len(text) - spaced)


def _goes_on(text: str) -> bool:
    """Whether a text without a hit says nothing new: fewer than four words, or only such as "yes, please go ahead with that"."""
    if _count_words(text) < FEW_WORDS:
        return True
    words, runs = _WORD.findall(text), _HIGH.findall(text)
    return all(word in _GOING_ON for word in words) and not any(_GOING_ON_UNSPACED.sub("", run) for run in runs)


def _agrees(text: str) -> bool:
    """Whether a text is an assent and little more."""
    return _ASSENT.match(text) is not None and _count_words(text) <= _MOST_WORDS_OF_AGREEING


def _count_words(text: str) -> int:
    """Words of a text. Where no spaces are between them, two letters count as one."""
    return len(_WORD.findall(text)) + sum((len(run) + 1) // 2 for run in _HIGH.findall(text))
