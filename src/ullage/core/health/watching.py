"""Looks on while an answer comes, until it is known whether the client may have it (routing specification, section 19).

An answer is the client's once it says something: text, a call of a tool, a picture. Thinking, pings, comments and the head of a
message say nothing yet. A body that is no stream is the client's when it is whole. Every byte is looked at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ullage.core.wire import AnswerReader

from .failures import Failure, judge

if TYPE_CHECKING:
    from ullage.core.wire import Dialect

Sign = Literal["nothing", "output", "failure"]
"""What is known of an answer so far: nothing yet, that it says something, or that its provider tells of an error."""

_FIRST_ERROR = 400


class AnswerWatch:
    """Feed it the decompressed bytes of one answer; `close` says what was wrong with it, once it is over. It never raises."""

    def __init__(self, dialect: Dialect, status: int, *, streamed: bool) -> None:
        self._status = status
        self._reader = AnswerReader(dialect, streamed=streamed)
        self._sign: Sign = "nothing"

    def feed(self, chunk: bytes) -> Sign:
        """The next bytes, cut anywhere. What it says first is what it goes on saying."""
        self._reader.feed(chunk)
        if self._sign == "nothing" and self._status < _FIRST_ERROR:
            if self._reader.spoke:
                self._sign = "output"
            elif self._reader.failed:
                self._sign = "failure"
        return self._sign

    def close(self, *, cut: bool = False) -> Failure | None:
        """The answer is over, whole or `cut`."""
        answer = self._reader.close()
        return judge(self._status, answer, spoke=self._reader.spoke, cut=cut)
