"""Searching what was said before in a project, and reading what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sources.rows import pi_header, pi_reply, pi_user, write_lines
from ullage.core.errors import CallError, InputError, SessionError, StoreError
from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact
from ullage.core.tokens.estimators import utf16_units
from ullage.mcp import history
from ullage.mcp.artifacts import ArtifactTools
from ullage.mcp.history import HistoryTools
from ullage.mcp.project import Project
from ullage.sources.artifacts import ArtifactFiles
from ullage.stores import ArtifactRecord

Make = Callable[..., HistoryTools]


def put(home: Path, name: str, *texts: str, cwd: str = "/p") -> Path:
    """A session in which the user and the model say these texts in turn."""
    path = home / ".pi/agent/sessions/x" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [pi_header(cwd=cwd, id=name)]
    parent = None
    for number, text in enumerate(texts):
        make = pi_reply if number % 2 else pi_user
        rows.append(make(f"e{number}", parent, text))
        parent = f"e{number}"
    return write_lines(path, rows)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "somebody"


@pytest.fixture
def make(home: Path, tmp_path: Path) -> Make:
    def make(*kept: str, clear: Callable[[str], str] = str, chars: int = 12_000) -> HistoryTools:
        files = ArtifactFiles(tmp_path / "artifacts")
        records = []
        for text in kept:
            artifact = make_artifact(text, call_id="c", tool="bash")
            files.put(text.encode())
            records.append(
                ArtifactRecord(
                    id=artifact.id,
                    session="s",
                    used_ms=1,
                    sha256=artifact.sha256,
                    size_bytes=artifact.size_bytes,
                    chars=artifact.chars,
                    tool="bash",
                )
            )
        caps = ArtifactCaps(inline_chars=chars)
        return HistoryTools(
            Project(root="/p", folders=("/p",), home=home, caps=caps),
            artifacts=ArtifactTools(files=files, find=lambda _: records, caps=caps, clear=clear),
            list_artifacts=lambda: records,
            clear=clear,
        )

    return make


def found(answer: str) -> list[str]:
    return [match["text"] for match in decoded(answer)["matches"]]


def decoded(answer: str) -> Any:
    return msgspec.json.decode(answer)


def test_messages_with_the_phrase_come_before_those_with_its_words_and_newer_ones_first(make: Make, home: Path) -> None:
    put(home, "s", "the build runner is vitest", "noted", "runner of the build?", "Build Runner: vitest", "thanks")
    assert found(make().search("build runner")) == [
        "Build Runner: vitest",
        "the build runner is vitest",
        "runner of the build?",
    ]


def test_a_result_says_where_it_is_from_and_can_be_read(make: Make, home: Path) -> None:
    put(home, "s", "one\ntwo needle\nthree", "done")
    tools = make()
    (match,) = decoded(tools.search("needle"))["matches"]
    assert (match["client"], match["session"], match["role"]) == ("pi", "s", "user")
    assert match["time"].startswith("2026-07-13T")
    answer = decoded(tools.read(match["handle"], 2, 1))
    assert (answer["lines"], answer["first_line"], answer["lines_in_all"]) == (["two needle"], 2, 3)


def test_the_answer_says_what_was_searched(make: Make, home: Path) -> None:
    put(home, "one", "x", "y")
    put(home, "two", "x", "y", cwd="/q")
    broken = put(home, "three", "x")
    broken.write_text('{"cwd": "/p"}\n')
    assert decoded(make("kept text").search("absent"))["searched"] == {
        "sessions": "the newest 2 of 2 recorded in this project",
        "kept_tool_results": 1,
        "unreadable": 1,
    }


def test_kept_tool_results_are_searched_too(make: Make, home: Path) -> None:
    put(home, "s", "where is the needle?", "gone")
    answer = decoded(make("hay\nneedle\nhay").search("needle"))
    assert [set(match) for match in answer["matches"]] == [
        {"handle", "client", "session", "time", "role", "text"},
        {"artifact", "tool", "text"},
    ]


def test_without_the_records_of_artifacts_the_sessions_are_searched(make: Make, home: Path) -> None:
    def fail() -> list[ArtifactRecord]:
        raise StoreError("damaged")

    put(home, "s", "needle", "ok")
    tools = make()
    tools._list_artifacts = fail
    answer = decoded(tools.search("needle"))
    assert (len(answer["matches"]), answer["searched"]["unreadable"]) == (1, 1)


def test_at_most_six_results_come(make: Make, home: Path) -> None:
    put(home, "s", *(f"needle {number}" for number in range(20)))
    assert len(found(make().search("needle"))) == 6
    assert len(found(make().search("needle", 99))) == 6
    assert found(make().search("needle", 1)) == ["needle 19"]


def test_a_project_with_very_many_sessions_is_searched_in_the_newest(
    make: Make, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "SESSIONS", 2)
    for number in range(4):
        put(home, f"s{number}", f"needle {number}", "ok")
    assert len(found(make().search("needle"))) == 2
    assert "newest 2 of 4" in decoded(make().search("needle"))["searched"]["sessions"]
    monkeypatch.setattr(history, "SESSION_BYTES", 1)
    assert len(found(make().search("needle"))) == 1


@pytest.mark.parametrize("query", ["", "x", "x" * 2_001])
def test_a_query_has_2_to_2_000_characters(query: str, make: Make) -> None:
    with pytest.raises(CallError):
        make().search(query)


@pytest.mark.parametrize("query", ["a b", "🦊" * 300, "é" * 1_500, "two  words", "\n\nab\n"])
def test_queries_of_all_kinds_are_answered(query: str, make: Make, home: Path) -> None:
    put(home, "s", f"here: {query}", "a then b", "words two")
    assert found(make().search(query))


def test_a_handle_that_was_never_given_is_an_error(make: Make) -> None:
    with pytest.raises(InputError, match="any more"):
        make().read("hist_" + "0" * 32)


def test_only_the_newest_handles_are_remembered(make: Make, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "HANDLES", 2)
    put(home, "s", "needle a", "needle b", "needle c")
    tools = make()
    handles = [match["handle"] for match in decoded(tools.search("needle"))["matches"]]
    with pytest.raises(InputError):
        tools.read(handles[0])
    assert decoded(tools.read(handles[2]))["lines"] == ["needle a"]


def test_a_session_that_changed_is_not_read_for_another(make: Make, home: Path) -> None:
    put(home, "s", "needle", "ok")
    tools = make()
    (match,) = decoded(tools.search("needle"))["matches"]
    put(home, "s", "other", "ok")
    with pytest.raises(SessionError):
        tools.read(match["handle"])


def test_what_may_not_be_told_is_neither_found_nor_read(make: Make, home: Path) -> None:
    def clear(text: str) -> str:
        return text.replace("needle", "[withheld]")

    put(home, "s", "a needle and a pin", "ok")
    tools = make("needle too", clear=clear)
    assert found(tools.search("needle")) == []
    (match,) = decoded(tools.search("a pin"))["matches"]
    assert match["text"] == "a [withheld] and a pin"
    assert decoded(tools.read(match["handle"]))["lines"] == ["a [withheld] and a pin"]


def test_answers_are_json_within_the_cap(make: Make, home: Path) -> None:
    put(home, "s", *('needle "\\' * 2_000 + "🦊" * number for number in range(1, 10)))
    tools = make(chars=2_000)
    answer = tools.search("needle")
    assert utf16_units(answer) <= 2_000
    handle = decoded(answer)["matches"][0]["handle"]
    assert utf16_units(tools.read(handle)) <= 2_000
