"""What a claim is about: its key, its subject, and whether it affirms or denies."""

from __future__ import annotations

import re
from typing import Literal

Polarity = Literal["positive", "negative"]

KEY_CHARS = 160

_NO_KEY = re.compile(r"[^\w./-]+")
_SUBJECTS = (
    re.compile(r"(\S.{0,158}?\S)\s+defaults?\s+to\s+\S", re.IGNORECASE | re.DOTALL),
    re.compile(r"(\S.{0,158}?\S)\s+(?:is|are|must\s+be|should\s+be)\s+\S", re.IGNORECASE | re.DOTALL),
    # A colon without a blank behind it belongs to an address or a time, a comparison compares.
    re.compile(r"(\S.{0,158}?\S)\s*(?::\s+|(?<![=!<>:])=(?![=>~])\s*)\S", re.DOTALL),
)
_NEGATIVE = re.compile(r"\b(?:not|never|no|false|disabled?|off|forbidden)\b", re.IGNORECASE)
_POSITIVE = re.compile(r"\b(?:true|enabled?|on|required|must)\b", re.IGNORECASE)


def normalise_key(text: str) -> str | None:
    """A key: lower case; everything but letters, digits, `.`, `_`, `/` and `-` is a dash, none at the ends, at most 160
    characters. `None` if nothing is left (planner specification, section 15.2)."""
    return _NO_KEY.sub("-", text.lower()).strip("-")[:KEY_CHARS].strip("-") or None


def derive_key(claim: str) -> str | None:
    """The key of what a claim is about: X in `X defaults to Y`, `X is Y` (are, must be, should be), `X: Y`, `X = Y`."""
    subject = _subject(claim)
    return normalise_key(subject) if subject is not None else None


def base_subject(claim: str) -> str | None:
    """What a claim affirms or denies, as a key: its subject, else the whole of it, without the words that affirm or deny."""
    return normalise_key(_POSITIVE.sub(" ", _NEGATIVE.sub(" ", _subject(claim) or claim)))


def find_polarity(claim: str) -> Polarity | None:
    """Whether a claim denies or affirms; words that deny count first."""
    if _NEGATIVE.search(claim):
        return "negative"
    return "positive" if _POSITIVE.search(claim) else None


def _subject(claim: str) -> str | None:
    for pattern in _SUBJECTS:
        if found := pattern.match(claim):
            return found[1].strip()
    return None
