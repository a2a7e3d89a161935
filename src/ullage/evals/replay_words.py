"""Which earlier messages a reply draws on, by the rare words that it takes from them.

Nobody marked in recorded sessions what a call needed to see. But a model that edits a file, runs a command or quotes an
error repeats paths, names and numbers that it has read: a word of the reply that stands in few messages of its request is
taken from the newest of them. Where that message was kept, what was needed was there.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Message, Part

RARE = 3
"""A word that stands in more messages than these tells nothing of which one it was taken from."""

_WORD = re.compile(r"\w[\w./:-]{4,}\w")


def words_of(message: Message) -> frozenset[str]:
    """The longer words of what a message says, calls and answers; not of its thinking."""
    return frozenset(word for part in message.parts for text in _texts(part) for word in _WORD.findall(text))


def _texts(part: Part) -> Iterator[str]:
    if part.kind != "thinking":
        yield part.text
    for inner in part.parts:
        yield from _texts(inner)


class WordIndex:
    """Where each word stands in a request. The next request mostly goes on from the last one, so only what is new is added."""

    def __init__(self) -> None:
        self._messages: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = {}

    def sources(self, said: frozenset[str], messages: Sequence[frozenset[str]]) -> dict[int, int]:
        """The messages that the words `said` are taken from, with how many words each."""
        self._take(messages)
        found = (self._places.get(word, ()) for word in said)
        return dict(Counter(places[-1] for places in found if 0 < len(places) <= RARE))

    def _take(self, messages: Sequence[frozenset[str]]) -> None:
        known = len(self._messages)
        if any(old is not new for old, new in zip(self._messages, messages, strict=False)) or known > len(messages):
            self._messages, self._places, known = [], {}, 0
        for index in range(known, len(messages)):
            self._messages.append(messages[index])
            for word in messages[index]:
                self._places.setdefault(word, []).append(index)
