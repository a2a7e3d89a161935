"""Whether a pattern that somebody wrote fits a name (accounting specification, section 4.3)."""

from __future__ import annotations

import re
from functools import lru_cache

# JavaScript's flags that have a twin here, and those that change nothing for one short name.
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_IDLE_FLAGS = frozenset("dgu")
_LONGEST_PATTERN = 200
_LONGEST_NAME = 100
# A repetition inside a repeated group, or many open ones in a row, can take for ever on a name of thirty characters. A project's
# file must not be able to stop a daemon, and nobody needs them for a model id.
_NESTED_REPETITION = re.compile(r"[*+}][^()]*\)[*+{]")
_OPEN_REPETITION = re.compile(r"(?<!\\)(?:[*+]|\{\d*,\})")
_OPEN_REPETITIONS = 4


def fits(pattern: str | None, name: str) -> bool:
    """Whether the pattern fits the whole name in any case, or as a regular expression any part of it as its flags say.

    No pattern fits everything; an expression that is not understood fits nothing.
    """
    if pattern is None:
        return True
    if len(pattern) > _LONGEST_PATTERN:
        return False
    if _is_expression(pattern):
        expression = _compiled(pattern)
        return expression is not None and expression.search(name[:_LONGEST_NAME]) is not None
    if "*" in pattern or "?" in pattern:
        return _glob_fits(pattern.lower(), name.lower())
    return pattern.lower() == name.lower()


def is_understood(pattern: str) -> bool:
    """Whether the pattern can fit anything: false for an expression that is broken, of another language, or too costly."""
    return len(pattern) <= _LONGEST_PATTERN and (not _is_expression(pattern) or _compiled(pattern) is not None)


def _is_expression(pattern: str) -> bool:
    return pattern.startswith("/") and pattern.rfind("/") > 0


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    last_slash = pattern.rfind("/")
    expression, flags = pattern[1:last_slash], pattern[last_slash + 1 :]
    known = set(flags) <= _FLAGS.keys() | _IDLE_FLAGS and len(set(flags)) == len(flags)
    if not known or _is_costly(expression):
        return None
    chosen = re.NOFLAG
    for flag in flags:
        chosen |= _FLAGS.get(flag, re.NOFLAG)
    try:
        # JavaScript names a group without the P.
        return re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", expression), chosen)
    except (re.error, RecursionError, OverflowError):
        return None


def _is_costly(expression: str) -> bool:
    if _NESTED_REPETITION.search(expression):
        return True
    return len(_OPEN_REPETITION.findall(expression)) > _OPEN_REPETITIONS


def _glob_fits(pattern: str, name: str) -> bool:
    """`*` is any text, `?` one character. Goes back to the last star only, so that many stars cost no more than their number."""
    at = place = 0
    star = resume = -1
    while at < len(name):
        sign = pattern[place] if place < len(pattern) else ""
        if sign == "*":
            star, resume = place, at
            place += 1
        elif sign == "?" or sign == name[at]:
            place += 1
            at += 1
        elif star >= 0:
            resume += 1
            place, at = star + 1, resume
        else:
            return False
    return not pattern[place:].strip("*")
