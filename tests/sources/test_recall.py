"""What was said in the recorded sessions of a project, for searching."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sources.rows import (
    called,
    claude_prompt,
    claude_reply,
    claude_result,
    codex_message,
    codex_meta,
    pi_entry,
    pi_header,
    pi_reply,
    pi_result,
    pi_user,
    said,
    write_lines,
)
from ullage.core.errors import SessionError
from ullage.core.evidence.offers import is_lookup
from ullage.sources import read_session
from ullage.sources.recall import HEAD_BYTES, project_sessions, read_again, read_passages


def put(home: Path, name: str, rows: list[Any]) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_lines(path, rows)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_the_sessions_of_a_project_are_found_for_every_client(home: Path) -> None:
    pi = put(home, ".pi/agent/sessions/--p--/a.jsonl", [pi_header(cwd="/p"), pi_user("u", None, "x")])
    claude = put(home, ".claude/projects/-p/b.jsonl", [{"type": "summary"}, claude_prompt("u", None, "x", cwd="/p")])
    codex = put(home, ".codex/sessions/2026/07/01/c.jsonl", [codex_meta(cwd="/p"), codex_message("user", "x")])
    put(home, ".pi/agent/sessions/--q--/d.jsonl", [pi_header(cwd="/p/sub"), pi_user("u", None, "cwd /p")])
    assert set(project_sessions(home, ["/p"])) == {pi, claude, codex}
    assert list(project_sessions(home, ["/q"])) == []


@pytest.mark.parametrize("folder", ["/projekt ü/é", '/with "quotes"', "/back\\slash"])
def test_a_folder_is_known_however_its_name_is_written(folder: str, home: Path) -> None:
    path = home / ".pi/agent/sessions/x/a.jsonl"
    path.parent.mkdir(parents=True)
    for ascii_only in (True, False):
        path.write_text(json.dumps(pi_header(cwd=folder), ensure_ascii=ascii_only) + "\n", encoding="utf-8")
        assert list(project_sessions(home, [folder])) == [path]


def test_a_folder_is_looked_for_in_the_beginning_of_a_file_only(home: Path) -> None:
    filler = pi_user("u", None, "x" * HEAD_BYTES)
    put(home, ".pi/agent/sessions/x/a.jsonl", [pi_header(cwd="/q"), filler, {"type": "x", "cwd": "/p"}])
    assert list(project_sessions(home, ["/p"])) == []


def passages(path: Path, is_hidden: Callable[[str], bool] = lambda _: False) -> list[tuple[str, str]]:
    return [(passage.role, passage.text) for passage in read_passages(read_session(path), is_hidden)]


def test_messages_come_newest_first_with_calls_and_results_and_without_thinking(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        [
            claude_prompt("a", None, "list the files"),
            claude_reply("b", "a", "m1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
            claude_reply("c", "b", "m1", said("I look.")),
            claude_reply("d", "c", "m1", called("c1", command="ls")),
            claude_result("e", "d", "c1", "one.txt"),
            claude_reply("f", "e", "m2", said("There is one.")),
            claude_prompt("g", "f", "thanks"),
        ],
    )
    found = passages(path)
    assert [text for _, text in found] == [
        "thanks",
        "There is one.",
        "one.txt",
        'I look.\nBash {"command":"ls"}',
        "list the files",
    ]
    assert [role for role, _ in found] == ["user", "assistant", "tool", "assistant", "user"]


def test_each_text_comes_once_also_what_a_compaction_keeps(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        [
            pi_header(),
            pi_user("a", None, "old question"),
            pi_reply("b", "a", "old answer"),
            pi_user("c", "b", "kept question"),
            pi_reply("d", "c", "kept answer"),
            pi_entry("compaction", "e", "d", summary="what was", firstKeptEntryId="c", tokensBefore=1_000),
            pi_user("f", "e", "new question"),
            pi_reply("g", "f", "new answer"),
        ],
    )
    texts = [text for _, text in passages(path)]
    assert texts[:2] == ["new answer", "new question"]
    assert sorted(texts[2:]) == sorted(set(texts[2:]))
    assert {"old question", "old answer", "kept question", "kept answer"} <= set(texts)


def test_what_was_said_on_another_branch_is_there_but_for_its_last_answer(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        [
            pi_header(),
            pi_user("a", None, "start"),
            pi_reply("b", "a", "first try"),
            pi_user("c", "b", "go on"),
            pi_reply("d", "c", "went on"),
            pi_user("e", "b", "go elsewhere"),
            pi_reply("f", "e", "went elsewhere"),
        ],
    )
    texts = {text for _, text in passages(path)}
    assert texts == {"start", "first try", "go on", "go elsewhere", "went elsewhere"}


def test_lookups_of_our_own_are_left_out_with_their_results(tmp_path: Path) -> None:
    call = {**called("c1", query="needle"), "name": "mcp__ullage__history_search"}
    path = write_lines(
        tmp_path / "s.jsonl",
        [
            claude_prompt("a", None, "find it"),
            claude_reply("b", "a", "m1", call),
            claude_result("c", "b", "c1", "needle found"),
            claude_reply("d", "c", "m2", said("Found.")),
        ],
    )
    assert [text for _, text in passages(path, is_lookup)] == ["Found.", "find it"]
    assert len(passages(path)) == 4


def test_a_passage_knows_its_session_and_time(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [pi_header(), pi_user("a", None, "hi"), pi_reply("b", "a", "ho")])
    newest, oldest = read_passages(read_session(path))
    assert (newest.client, newest.session, newest.call, newest.time_ms) == ("pi", "0198-pi", None, None)
    assert (oldest.call, oldest.time_ms) == (0, 1783956713993)


def test_a_passage_is_read_again_from_its_place(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        [pi_header(), pi_user("a", None, "hi"), pi_reply("b", "a", "ho"), pi_result("c", "b", "r")],
    )
    for passage in read_passages(read_session(path)):
        assert read_again(passage) == passage.text


def test_a_place_that_holds_something_else_is_an_error(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [pi_header(), pi_user("a", None, "hi"), pi_reply("b", "a", "ho")])
    found = list(read_passages(read_session(path)))
    write_lines(path, [pi_header(), pi_user("a", None, "other")])
    for passage in found:
        with pytest.raises(SessionError):
            read_again(passage)


@pytest.mark.shared
@pytest.mark.slow
def test_every_recorded_session_gives_passages_that_can_be_read_again(shared_data: Path) -> None:
    for path in sorted((shared_data / "sessions").rglob("*.json*")):
        session = read_session(path)
        found = list(read_passages(session))
        assert found or not session.calls
        for passage in found[:: max(1, len(found) // 5)]:
            assert passage.text
            assert read_again(passage) == passage.text
