"""What is to be sent, told in Pi's own messages: which stay, which hold something else, which are new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.wire import parse_request

from .messages import key_of, read_content, read_text

if TYPE_CHECKING:
    from ullage.core.wire import Dialect, Slice

    from .sessions import PiSession


_ANSWER = b'{"role":"assistant"'


def map_back(body: bytes, dialect: Dialect, session: PiSession, *, own_answers: bool = False) -> list[Any]:
    """The messages of a body in their order: `[first, last]` for a run of Pi's that stay as they are, `{"of": n, "content": […]}`
    for one with other content, whose blocks that stayed are given by their numbers, `{"text": …}` for one of ours.

    With `own_answers` those of models stay as they are: what another model thought is left out by Pi itself."""
    told: list[Any] = []
    free = _Free(session)
    session.sent = parse_request(body, dialect, previous=session.sent)
    for piece in session.sent.messages:
        if free.goes_on(piece):
            _tell(told, free.take(free.next), None)
            continue
        key = key_of(piece)
        number = free.find(key) if key is not None else None
        if number is None:
            if not _is_prompt(piece, dialect):
                told.append({"text": read_text(piece, dialect)})
            continue
        free.take(number)
        stays = piece.raw == session.written(number) or (own_answers and piece.raw.startswith(_ANSWER))
        content = [] if stays else read_content(piece, dialect, session.message(number))
        _tell(told, number, None if stays else content)
    return told


class _Free:
    """The messages of Pi that stand for none of a body yet. Most of a body's follow one another as they do in Pi, unchanged."""

    def __init__(self, session: PiSession) -> None:
        self._session = session
        self._taken: set[int] = set()
        self.next = 0

    def goes_on(self, piece: Slice) -> bool:
        """Whether a message of the body is the one behind that which was taken last."""
        number = self.next
        return number < len(self._session) and piece.raw == self._session.written(number) and number not in self._taken

    def find(self, key: str) -> int | None:
        """One with that key: the next behind that which was taken last, else the first."""
        for start in (self.next, 0):
            number = self._session.find(key, start)
            while number in self._taken:
                number = self._session.find(key, number + 1)
            if number is not None:
                return number
        return None

    def take(self, number: int) -> int:
        """It stands for one from here on."""
        self._taken.add(number)
        self.next = number + 1
        return number


def _tell(told: list[Any], number: int, content: list[Any] | None) -> None:
    if content is not None:
        told.append({"of": number, "content": content})
    elif told and isinstance(told[-1], list) and told[-1][1] == number - 1:
        told[-1][1] = number
    else:
        told.append([number, number])


def _is_prompt(piece: Slice, dialect: Dialect) -> bool:
    return dialect == "openai-chat" and piece.raw.startswith(b'{"role":"system"')
