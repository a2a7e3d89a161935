"""The folder that a client says it works in, from the words that each client puts around it.

Found by capturing the real clients: Claude Code 2.1.332, Codex 0.171.0, Pi 0.74.2 and 1.6.0, opencode 1.18.33, Gemini CLI 0.61.0.
The words stand in the system prompt or in one of the first messages. They are searched in the bytes as they came: nothing is
decoded but the path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conversation import Conversation

# An absolute path inside a JSON string: of POSIX, or of Windows with its backslashes doubled.
_PATH = rb"(?P<path>(?:/|[A-Za-z]:(?:/|\\\\))(?:[^\"\\]|\\\\|\\u[0-9a-fA-F]{4})*?)"
_END = rb"(?:\\r)?(?:\\n|\")"


def _after(words: bytes) -> re.Pattern[bytes]:
    return re.compile(words + _PATH + _END)


_IN_TAGS = re.compile(rb"<cwd>(?:\\n)?" + _PATH + rb"(?:\\n)?</cwd>")
_WORDS: dict[str, tuple[tuple[bytes, re.Pattern[bytes]], ...]] = {
    "claude-code": ((b"orking directory: ", _after(rb"(?:Primary w|W)orking directory: ")),),
    "codex": ((b"<cwd>", _IN_TAGS),),
    "pi": (
        (b"<cwd>", _IN_TAGS),
        (b"Current working directory: ", _after(rb"Current working directory: ")),
    ),
    "opencode": ((b"Working directory: ", _after(rb"Working directory: ")),),
    "gemini-cli": ((b"Workspace Directories:**", _after(rb"Workspace Directories:\*\*\\n  - ")),),
}
"""Per client: plain bytes without which the place cannot be there, and the place."""

# Codex sends up to four messages of its own before the one that names the folder.
_FIRST_MESSAGES = 8
_LONGEST_PATH = 4_096


def find_project(conversation: Conversation, client: str) -> str | None:
    """The absolute path that the client names as its working folder; `None` if it names none, or is not known to."""
    for mark, place in _WORDS.get(client, ()):
        for raw in _places(conversation):
            found = place.search(raw) if mark in raw else None
            if found is not None:
                return _decoded(found["path"])
    return None


def _places(conversation: Conversation) -> Iterator[bytes]:
    for piece in (*conversation.system, *conversation.messages[:_FIRST_MESSAGES]):
        yield piece.raw


def _decoded(path: bytes) -> str | None:
    try:
        text = msgspec.json.decode(b'"' + path + b'"', type=str)
    except msgspec.DecodeError:
        return None
    return text if 0 < len(text) <= _LONGEST_PATH and text.isprintable() else None
