"""Which client wrote a file is told by its content; what is no session gets a clear error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.rows import (
    Row,
    claude_prompt,
    codex_message,
    codex_meta,
    hands_user,
    pi_header,
    pi_reply,
    pi_user,
    texts,
    write_lines,
)
from ullage.core.errors import SessionError
from ullage.sources import READERS, read_session

SESSIONS: dict[str, list[Row]] = {
    "pi": [pi_header(), pi_user("u1", None, "go")],
    "claude-code": [claude_prompt("u1", None, "go")],
    "codex": [codex_meta(), codex_message("user", "go")],
}


def read_error(path: Path) -> SessionError:
    with pytest.raises(SessionError) as caught:
        read_session(path)
    return caught.value


@pytest.mark.parametrize("client", SESSIONS)
def test_the_client_is_told_by_content_and_not_by_name(tmp_path: Path, client: str) -> None:
    session = read_session(write_lines(tmp_path / "claude.codex.pi", SESSIONS[client]))
    assert (session.client, texts(session)) == (client, ["go"])


@pytest.mark.parametrize(
    "row",
    [
        {"type": "summary", "summary": "t", "leafUuid": "x"},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": "s"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"unknown": True},
    ],
)
def test_bookkeeping_rows_may_come_first(tmp_path: Path, row: Row) -> None:
    session = read_session(write_lines(tmp_path / "s", [row, *SESSIONS["claude-code"]]))
    assert session.client == "claude-code"


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s", SESSIONS["pi"])
    assert read_session(str(path)).path == str(path)


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\0\0\0\0", b"[]"])
def test_an_empty_file_is_called_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s"
    path.write_bytes(content)
    error = read_error(path)
    assert (error.code, error.message) == ("empty_session", f"{path} is empty.")


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (json.dumps({"model": "gpt-5", "messages": []}), "model, messages"),
        (json.dumps([{"role": "user"}]), "role"),
        ("plain text\nof two lines\n", "no line of it is a JSON object"),
        ("{}", "nothing"),
        ("12\n[1]\n", "no line of it is a JSON object"),
    ],
)
def test_an_unknown_format_names_what_was_seen_and_what_is_known(tmp_path: Path, content: str, seen: str) -> None:
    path = tmp_path / "s"
    path.write_text(content)
    error = read_error(path)
    assert error.code == "unknown_session"
    assert seen in error.message
    assert all(reader.name in error.hint for reader in READERS)


def test_bytes_that_are_no_text_are_an_unknown_format(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(bytes(range(256)) * 40)
    assert read_error(path).code == "unknown_session"


def test_a_folder_and_a_missing_file_are_not_read(tmp_path: Path) -> None:
    assert read_error(tmp_path).code == "unreadable_session"
    assert read_error(tmp_path / "nothing").code == "unreadable_session"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc here")
def test_a_file_that_fails_while_it_is_read_is_unreadable() -> None:
    error = read_error(Path("/proc/self/mem"))
    assert error.code == "unreadable_session"
    assert "cannot be read" in error.message


def test_progress_ends_with_the_whole_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s", [pi_header(), *(pi_user(f"u{n}", None, "x" * 9000) for n in range(400))])
    seen: list[tuple[int, int]] = []
    read_session(path, progress=lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert len(seen) > 3
    assert seen == sorted(seen)


def test_progress_of_a_document_ends_with_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text(json.dumps([hands_user(1, "go")]))
    seen: list[tuple[int, int]] = []
    read_session(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_session_can_be_read_after_more_was_appended(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s", SESSIONS["pi"])
    session = read_session(path)
    with path.open("ab") as file:
        file.write(json.dumps(pi_user("u2", "u1", "more")).encode() + b"\n")
    assert texts(session) == ["go"]
    assert texts(read_session(path)) == ["go", "more"]


@pytest.mark.parametrize("content", [b"", b"x" * 10_000], ids=["shortened", "replaced"])
def test_a_file_that_was_replaced_is_noticed(tmp_path: Path, content: bytes) -> None:
    path = write_lines(tmp_path / "s", SESSIONS["pi"])
    session = read_session(path)
    path.write_bytes(content)
    with pytest.raises(SessionError) as caught:
        session.context()
    assert caught.value.code == "session_changed"


def test_a_replaced_header_is_noticed_when_the_prelude_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s", SESSIONS["codex"])
    session = read_session(path)
    path.write_bytes(b"x" * 10_000)
    with pytest.raises(SessionError, match="changed"):
        session.context()


def test_a_file_may_end_while_it_is_being_written(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s", [*SESSIONS["pi"], pi_reply("a1", "u1")])
    path.write_bytes(path.read_bytes()[:-30])
    session = read_session(path)
    assert (session.problems.truncated_last_line, session.problems.malformed_lines) == (True, 0)
    assert texts(session) == ["go"]


def test_messages_reads_a_part_of_the_context(tmp_path: Path) -> None:
    rows: list[Any] = [pi_header(), pi_user("u0", None, "0")]
    rows += [pi_user(f"u{n}", f"u{n - 1}", str(n)) for n in range(1, 9)]
    session = read_session(write_lines(tmp_path / "s", rows))
    whole = session.context().messages
    assert session.messages() == whole
    assert session.messages(None, 2, 5) == whole[2:5]
    assert session.messages(None, -2) == whole[-2:]
    assert session.messages(None, 5, 2) == ()
    assert session.messages(None, 0, 99) == whole
