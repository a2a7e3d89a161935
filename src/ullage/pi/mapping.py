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
    places: dict[str, list[int]] = {}
    for number, key in enumerate(session.keys):
        places.setdefault(key, []).append(number)
    told: list[Any] = []
    for piece in parse_request(body, dialect).messages:
        numbers = places.get(key_of(piece) or "")
        if not numbers:
            if not _is_prompt(piece, dialect):
                told.append({"text": read_text(piece, dialect)})
            continue
        number = numbers.pop(0)
        stays = piece.raw == session.written(number) or (own_answers and piece.raw.startswith(_ANSWER))
        content = [] if stays else read_content(piece, dialect, session.message(number))
        _tell(told, number, None if stays else content)
    return told


def _tell(told: list[Any], number: int, content: list[Any] | None) -> None:
    if content is not None:
        told.append({"of": number, "content": content})
    elif told and isinstance(told[-1], list) and told[-1][1] == number - 1:
        told[-1][1] = number
    else:
        told.append([number, number])


def _is_prompt(piece: Slice, dialect: Dialect) -> bool:
    return dialect == "openai-chat" and piece.raw.startswith(b'{"role":"system"')
