"""Sessions that are one JSON document: found, cut and broken ones, and those larger than the window."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.sources.rows import hands_user, texts
from ullage.sources import documents, read_session

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = [hands_user(number, f'prompt {number} é \u2028 [{{"') for number in range(40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trajectory.json"


@pytest.mark.parametrize("window", [3, 7, 64, 100_000])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_size_of_the_window_does_not_matter(
    path: Path, monkeypatch: pytest.MonkeyPatch, window: int, indent: int | None, wrapped: bool
) -> None:
    monkeypatch.setattr(documents, "_PIECE_BYTES", window)
    document = {"instance_id": "i", "error": None, "n": 12.5, "history": EVENTS, "metrics": {}} if wrapped else EVENTS
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8-sig")
    session = read_session(path)
    assert texts(session) == [event["args"]["content"] for event in EVENTS]
    assert (session.id, session.problems.truncated_last_line) == ("i" if wrapped else None, False)


def test_a_document_that_breaks_off_is_read_up_to_there(path: Path) -> None:
    path.write_text(json.dumps(EVENTS)[:-200])
    session = read_session(path)
    assert len(texts(session)) == 38
    assert session.problems.truncated_last_line


def test_a_document_that_breaks_is_read_up_to_there(path: Path) -> None:
    path.write_text(json.dumps(EVENTS).replace('"prompt 20', 'oops "prompt 20'))
    session = read_session(path)
    assert len(texts(session)) == 20
    assert session.problems.malformed_lines == 1


def test_an_evaluation_output_of_many_rows_is_read_to_its_first(path: Path) -> None:
    rows = [{"instance_id": f"i{number}", "history": EVENTS[number : number + 2]} for number in range(3)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    session = read_session(path)
    assert (session.id, len(texts(session)), session.problems.further_documents) == ("i0", 2, 2)


def test_lone_surrogates_and_nul_are_read(path: Path) -> None:
    path.write_text(json.dumps([hands_user(1, "a\ud83db\x00c")]))
    session = read_session(path)
    assert texts(session) == ["a\ufffdb\x00c"]
    assert session.problems.repaired_lines == 1
