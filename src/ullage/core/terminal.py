"""Text of a session or a file must not drive the terminal it is shown on."""

from __future__ import annotations

import re

# Control characters behind ASCII, and marks that reorder a line.
_BEHIND_ASCII = r"\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(rf"[\x00-\x1f{_BEHIND_ASCII}\ud800-\udfff]")
_UNSAFE_IN_JSON = re.compile(f"[{_BEHIND_ASCII}]")


def safe(text: str) -> str:
    """The text with tabs as spaces and without anything that drives a terminal, line ends included."""
    return _UNSAFE.sub("·", text.replace("\t", "  "))


def safe_json(text: str) -> str:
    """The same JSON with what drives a terminal escaped. Control characters of ASCII are escaped in any JSON."""
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
