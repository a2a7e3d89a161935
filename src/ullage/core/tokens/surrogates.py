"""Lone surrogates: legal in JSON strings and in session files, refused by every encoder."""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_lone_surrogates(text: str) -> str:
    """The text with U+FFFD in place of each lone surrogate (accounting specification, section 24)."""
    return _SURROGATE.sub("\ufffd", text)
