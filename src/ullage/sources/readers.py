"""Which client wrote a session file, told by its content, and the reading of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ullage.core.errors import SessionError

from . import claude_code, codex, openhands, pi
from .documents import DocumentScan, holds_events
from .recorded import RecordedSession
from .records import LineScan, Records, unreadable
from .session import Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.content import Message, ToolSpec

    from .records import Rows
    from .scan import Scan
    from .session import Session

_PROBED_BYTES = 4 * 2**20
"""How far a file is looked into for a line that some reader knows. The first lines of every sample are known ones."""


class Reader(NamedTuple):
    """What is known of one client's files. `name` names them for people; `container` is their form."""

    client: str
    name: str
    container: type[LineScan | DocumentScan]
    recognises: Callable[[dict[str, Any]], bool]
    scan: Callable[[Rows], Scan]
    messages: Callable[[Sequence[bytes], Sequence[int | None]], list[Message]]
    prelude: Callable[[Sequence[bytes]], tuple[tuple[str, ...], tuple[ToolSpec, ...]]]


READERS = (
    Reader(
        "pi",
        "Pi session (JSON Lines)",
        LineScan,
        pi.recognises,
        pi.scan,
        pi.read_messages,
        pi.read_prelude,
    ),
    Reader(
        "claude-code",
        "Claude Code session (JSON Lines)",
        LineScan,
        claude_code.recognises,
        claude_code.scan,
        claude_code.read_messages,
        claude_code.read_prelude,
    ),
    Reader(
        "codex",
        "Codex rollout (JSON Lines)",
        LineScan,
        codex.recognises,
        codex.scan,
        codex.read_messages,
        codex.read_prelude,
    ),
    Reader(
        "openhands",
        "OpenHands trajectory or evaluation row (JSON)",
        DocumentScan,
        openhands.recognises,
        openhands.scan,
        openhands.read_messages,
        openhands.read_prelude,
    ),
)


def read_session(path: str | Path, *, progress: Callable[[int, int], None] | None = None) -> Session:
    """Goes through a session file once and returns the index of it; texts are read from disk when they are asked for.

    The client is told by content, never by the file's name. `progress` is called now and then with the bytes read and
    the bytes in all. Broken lines, unknown entries and a line that is just being written do not matter: they are
    counted in `problems`. Raises `SessionError` for a path that is no readable file, for an empty file (code
    "empty_session") and for a file that no reader knows (code "unknown_session"). The file is never written to, and
    not kept open.
    """
    path = Path(path)
    try:
        return _read(path, progress)
    except OSError as error:
        raise unreadable(path, error) from error


def _read(path: Path, progress: Callable[[int, int], None] | None) -> Session:
    reader = _recognise(path)
    records = Records(path)
    rows = reader.container(records, progress)
    scan = reader.scan(rows)
    return RecordedSession(reader.client, records, scan, reader, _problems(rows, scan))


def _problems(rows: Rows, scan: Scan) -> Problems:
    return Problems(
        malformed_lines=rows.malformed_lines,
        repaired_lines=rows.repaired_lines,
        truncated_last_line=rows.truncated_last_line,
        unknown_parents=scan.unknown_parents,
        evicted_texts=scan.evicted_texts,
        headless=scan.headless,
        further_documents=rows.further_documents,
    )


def _recognise(path: Path) -> Reader:
    """The reader that knows a file. Looks at its first lines, or at the first events of a document."""
    if path.exists() and not path.is_file():
        raise SessionError(f"{path} is no file.", hint="Give the path of one session file.", code="unreadable_session")
    container: type[LineScan | DocumentScan] = DocumentScan if holds_events(path) else LineScan
    rows = _probe(path, container)
    seen: dict[str, Any] | None = None
    for _, row in rows:
        for reader in READERS:
            if reader.container is container and reader.recognises(row):
                return reader
        seen = row if seen is None else seen
    raise _unknown(path, rows, seen)


def _probe(path: Path, container: type[LineScan | DocumentScan]) -> Rows:
    records = Records(path)
    return LineScan(records, first_bytes=_PROBED_BYTES) if container is LineScan else DocumentScan(records)


def _unknown(path: Path, rows: Rows, seen: dict[str, Any] | None) -> SessionError:
    """What was found instead of a session, and what would be one."""
    hint = f"Known session files are: {', '.join(reader.name for reader in READERS)}."
    if seen is not None:
        keys = ", ".join(list(seen)[:8]) or "nothing"
        return SessionError(
            f"{path} is no session of a known client: its first object holds {keys}.",
            hint=hint,
            code="unknown_session",
        )
    if rows.malformed_lines or rows.truncated_last_line:
        return SessionError(
            f"{path} is no session of a known client: no line of it is a JSON object.",
            hint=hint,
            code="unknown_session",
        )
    return SessionError(f"{path} is empty.", hint=hint, code="empty_session")
