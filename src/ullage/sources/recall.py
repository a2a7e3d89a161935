"""What was said in the recorded sessions of one project: its messages one by one, the newest first, for searching.

A session file is only read. What a reader leaves out is not here either: thinking, pictures, sealed data.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.content import Role
from ullage.core.errors import SessionError
from ullage.core.wire.jsontext import decode

from .folders import find_sessions
from .readers import read_session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from ullage.core.content import Message, Part

    from .session import Session

HEAD_BYTES = 256 * 1024
"""How far into a session file the folder it belongs to is looked for. Every client writes it with the first lines."""


_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*+")')


class Passage(Struct, frozen=True, kw_only=True):
    """A message of a recorded session as text. Its place: `session.messages(call, message, message + 1)`.

    `time_ms` is of the call that first sent it, epoch milliseconds. `digest` tells whether the place still holds it.
    """

    path: str
    client: str
    session: str | None
    call: int | None
    message: int
    role: Role
    time_ms: int | None
    text: str
    digest: str


def project_sessions(home: Path, folders: Collection[str]) -> Iterator[Path]:
    """The session files in the clients' default folders that were begun in one of `folders` (absolute paths), the newest first.

    Told by their beginnings: whether one is readable shows when it is read.
    """
    return (path for path in find_sessions(home) if not _folders_in(_head(path)).isdisjoint(folders))


def read_passages(session: Session, is_hidden: Callable[[str], bool] = lambda _: False) -> Iterator[Passage]:
    """Every message with text, the newest first, each text once; none that calls a hidden tool, or has its result.

    The last answer of a branch that was given up is not among them: no call ever sent it.
    Raises `SessionError` if the file changes meanwhile.
    """
    seen: set[str] = set()
    for call, start in _stretches(session):
        messages = session.messages(call, start)
        hidden = {part.call_id for message in messages for part in message.parts if _is_of(part, is_hidden)}
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            text = "" if _mentions(message, hidden) else passage_text(message)
            digest = _digest(text)
            if text and digest not in seen:
                seen.add(digest)
                yield Passage(
                    path=session.path,
                    client=session.client,
                    session=session.id,
                    call=call,
                    message=start + index,
                    role=message.role,
                    time_ms=session.calls[call].time_ms if call is not None else None,
                    text=text,
                    digest=digest,
                )


def read_again(passage: Passage) -> str:
    """The text at the place of a passage. Raises `SessionError` if the session no longer holds it there."""
    session = read_session(passage.path)
    is_there = passage.call is None or passage.call < len(session.calls)
    messages = session.messages(passage.call, passage.message, passage.message + 1) if is_there else ()
    text = passage_text(messages[0]) if messages else ""
    if _digest(text) != passage.digest:
        raise SessionError(f"{passage.path} has changed.", hint="Search again.", code="session_changed")
    return text


def passage_text(message: Message) -> str:
    """What a message says, its calls and the results in it, without thinking and media."""
    return "\n".join(text for part in message.parts if (text := _part_text(part)))


def _stretches(session: Session) -> Iterator[tuple[int | None, int]]:
    """The calls from the last to the first, each with the number of its first message that the call before it had not sent."""
    anchor = session.anchor()
    yield None, session.calls[anchor].messages if anchor is not None else 0
    for call in reversed(session.calls):
        yield call.index, session.calls[call.previous].messages if call.previous is not None else 0


def _part_text(part: Part) -> str:
    if part.kind == "tool_call":
        return f"{part.name or ''} {part.text}".strip()
    if part.kind == "tool_result" and part.parts:
        return "\n".join(text for nested in part.parts if (text := _part_text(nested)))
    return part.text if part.kind in ("text", "tool_result") else ""


def _is_of(part: Part, is_hidden: Callable[[str], bool]) -> bool:
    return part.kind == "tool_call" and part.name is not None and is_hidden(part.name)


def _mentions(message: Message, calls: Collection[str | None]) -> bool:
    return bool(calls) and any(
        part.kind in ("tool_call", "tool_result") and part.call_id in calls for part in message.parts
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _folders_in(lines: bytes) -> set[str]:
    """Every folder that a client says it works in."""
    return {decode(match[1]) for match in _FOLDER.finditer(lines)}


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError:
        return b""
