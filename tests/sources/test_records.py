"""JSON Lines as they are found on disk: broken, growing, with odd characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sources.rows import pi_header, pi_user, texts, write_lines
from ullage.sources import Session, read_session, records

HEADER = pi_header()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def read(path: Path, *lines: dict[str, object] | str | bytes) -> Session:
    return read_session(write_lines(path, [HEADER, *lines]))


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0c", "\x1c", "\r"])
def test_lines_end_at_newline_only(path: Path, separator: str) -> None:
    text = f"one{separator}two"
    session = read(path, json.dumps(pi_user("u1", None, text), ensure_ascii=False))
    assert texts(session) == [text]
    assert session.problems.malformed_lines == 0


def test_windows_line_ends_are_white_space(path: Path) -> None:
    path.write_bytes(b"\r\n".join(json.dumps(row).encode() for row in (HEADER, pi_user("u1", None, "go"))))
    assert texts(read_session(path)) == ["go"]


def test_a_byte_order_mark_is_no_content(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(HEADER).encode() + b"\n")
    assert read_session(path).id == "0198-pi"


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ('"a\\ud83d b"', "a\ufffd b"),
        ('"a\\ud83d\\ude00 b"', "a\U0001f600 b"),
        ('"a\\u0000b"', "a\0b"),
        ('"a\0b"', "a\0b"),
        ('"\\u001b[31mred"', "\x1b[31mred"),
        ('"\x1b[31mred"', "\x1b[31mred"),
    ],
    ids=["lone surrogate", "pair", "NUL escape", "raw NUL", "terminal escape", "raw escape"],
)
def test_odd_characters_do_not_lose_a_line(path: Path, text: str, read_as: str) -> None:
    session = read(path, json.dumps(pi_user("u1", None, "?")).replace('"?"', text))
    assert texts(session) == [read_as]
    assert session.problems.malformed_lines == 0


def test_bytes_that_are_no_utf8_read_as_replacement_characters(path: Path) -> None:
    session = read(path, json.dumps(pi_user("u1", None, "?")).encode().replace(b'"?"', b'"a\xffb"'))
    assert texts(session) == ["a\ufffdb"]
    assert session.problems.repaired_lines == 1


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "9" * 400])
def test_numbers_beyond_all_floats_do_not_lose_a_line(path: Path, number: str) -> None:
    line = json.dumps(pi_user("u1", None, "go"))[:-1] + f', "big": {number}}}'
    assert texts(read(path, line)) == ["go"]


@pytest.mark.parametrize(
    "line",
    ['{"type": "message", "oops', "plain", "[1]", "12", "\\", "[" * 5000 + "]" * 5000],
    ids=["cut", "text", "array", "number", "backslash", "deep"],
)
def test_a_broken_line_is_counted_and_skipped(path: Path, line: str) -> None:
    session = read(path, pi_user("u1", None, "one"), line, pi_user("u2", "u1", "two"))
    assert (session.problems.malformed_lines, texts(session)) == (1, ["one", "two"])


def test_blank_lines_and_padding_are_nothing(path: Path) -> None:
    session = read(path, "", "   ", b"\0" * 4096, pi_user("u1", None, "go"), b"\0" * 50 + b'{"type":"label"}')
    assert (session.problems.malformed_lines, texts(session)) == (0, ["go"])


def test_a_last_line_without_newline_counts_if_it_is_whole(path: Path) -> None:
    path.write_bytes(b"\n".join(json.dumps(row).encode() for row in (HEADER, pi_user("u1", None, "go"))))
    session = read_session(path)
    assert (texts(session), session.problems.truncated_last_line) == (["go"], False)


def test_a_line_beyond_all_measure_is_passed_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 1000)
    huge = pi_user("u1", None, "x" * 5000)
    session = read(path, huge, pi_user("u2", "u1", "two"))
    assert (session.problems.malformed_lines, texts(session)) == (1, ["two"])


def test_a_file_that_grows_is_read_to_where_it_ended(path: Path) -> None:
    """Each line that is read adds another one, so a reader that follows the end would never come back."""
    write_lines(path, [HEADER, *(pi_user(f"u{n}", None, "x" * 200_000) for n in range(8))])

    def grow(done: int, total: int) -> None:
        with path.open("ab") as file:
            file.write(json.dumps(pi_user("late", None, "x" * 2_000_000)).encode() + b"\n")

    session = read_session(path, progress=grow)
    assert session.rewinds == 7
    assert len(texts(session)) == 1
