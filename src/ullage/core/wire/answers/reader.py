"""What the reader of one dialect's answers offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .tally import Tally


class DialectReader(ABC):
    """Writes one answer into its tally. Methods raise `msgspec.DecodeError` or `ValueError` for what is not of the dialect."""

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def read_event(self, name: str | None, data: bytes) -> None:
        """One event of a stream."""

    @abstractmethod
    def read_body(self, body: bytes) -> None:
        """A whole answer, an error, or a token count."""

    def read_done(self) -> None:
        """The mark `[DONE]`; dialects with a terminal event of their own do not need it."""
        return

    def end(self) -> None:
        """The stream is over, whole or cut."""
        return
