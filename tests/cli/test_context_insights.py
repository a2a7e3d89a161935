"""`ullage context`: what can be acted on, as a screen, as data and as a page."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.accounting import account, make_meter, report
from ullage.core.content import Context, Message, Part, Usage
from ullage.stores import CallRecord, EventRecord, SqliteStore

Screen = pytest.CaptureFixture[str]
SESSION = Path(__file__).parents[1] / "golden" / "insights" / "session.in.jsonl"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello world"}]}


def call(capsys: Screen, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["context", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def data_of(capsys: Screen, *arguments: str | Path) -> dict[str, Any]:
    status, out, err = call(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    data: dict[str, Any] = msgspec.json.decode(out)
    return data


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODY))
    return path


def test_insights_are_shown_when_asked_for_and_in_the_expanded_view(capsys: Screen) -> None:
    assert "[Insights]" not in call(capsys, SESSION)[1]
    for option in (["--insights"], ["--view", "expanded"]):
        out = call(capsys, SESSION, *option)[1]
        assert "Compaction before call 9" in out
        assert out.index("[Context]") < out.index("[Insights]")


def test_the_data_always_has_them(capsys: Screen) -> None:
    insights = data_of(capsys, SESSION)["insights"]
    assert [one["call"] for one in insights["growth"]["calls"]] == list(range(1, 11))
    assert [one["message"] for one in insights["duplicates"]] == [5]
    assert insights["cache"]["call"] == 10
    assert [one["call"] for one in insights["compactions"]] == [9]


def test_the_last_column_of_the_growth_is_the_report(capsys: Screen) -> None:
    data = data_of(capsys, SESSION)
    ahead = data["insights"]["growth"]["next"]
    assert ahead["total"] == data["total"]
    assert ahead["sections"] == {section["id"]: section["tokens"] for section in data["sections"]}
    earlier = data_of(capsys, SESSION, "--call", "6")
    last = earlier["insights"]["growth"]["calls"][-1]
    assert (last["call"], last["total"], last["gap"]) == (6, earlier["total"], earlier["gap"])
    assert last["sections"] == {section["id"]: section["tokens"] for section in earlier["sections"]}
    assert earlier["insights"]["growth"]["next"] is None


def test_an_earlier_call_is_seen_as_it_was_then(capsys: Screen) -> None:
    insights = data_of(capsys, SESSION, "--call", "8")["insights"]
    assert len(insights["growth"]["calls"]) == 8
    assert insights["compactions"] == []
    [stale] = insights["outdated"]
    assert (stale["message"], stale["tool"], stale["reason"], stale["by_message"]) == (2, "read", "read again", 7)
    assert stale["path"] == "/home/alex/work/inventory/app/stock.py"
    [copy] = insights["duplicates"]
    assert (copy["message"], copy["of_message"], copy["tool"]) == (10, 4, "bash")
    assert insights["freeable_tokens"] == stale["tokens"] + copy["tokens"]
    [loss] = insights["cache"]["losses"]
    assert (loss["call"], loss["read"], loss["idle_s"]) == (7, 0, 1514)


def test_much_that_could_go_is_a_warning_in_every_view(capsys: Screen) -> None:
    for view in ("summary", "compact", "expanded"):
        out = " ".join(call(capsys, SESSION, "--call", "8", "--view", view)[1].split())
        assert "~4,806 tokens (29%) are there twice or were replaced since" in out
    codes = [warning["code"] for warning in data_of(capsys, SESSION, "--call", "8")["warnings"]]
    assert "repeated_content" in codes


def test_what_could_go_is_never_more_than_what_is_there(capsys: Screen) -> None:
    data = data_of(capsys, SESSION, "--call", "8")
    outputs = next(section for section in data["sections"] if section["id"] == "tool_outputs")
    assert data["insights"]["freeable_tokens"] <= outputs["tokens"]


def test_a_request_has_no_history_but_may_have_marks(capsys: Screen, tmp_path: Path) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    text = "\n".join(f"line {number} of a long text that is pasted twice" for number in range(40))
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "Be brief.", **mark}],
        "messages": [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "I see."},
            {"role": "user", "content": [{"type": "text", "text": "Again: \n" + text, **mark}]},
        ],
    }
    (tmp_path / "body.json").write_text(json.dumps(body))
    insights = data_of(capsys, tmp_path / "body.json")["insights"]
    assert insights["growth"]["calls"] == []
    assert [(one["message"], one["of_message"]) for one in insights["duplicates"]] == [(2, 0)]
    assert [(mark["kind"], mark["index"]) for mark in insights["cache"]["marks"]] == [("system", 0), ("message", 2)]
    assert insights["cache"]["held"] == insights["cache"]["marks"][1]["tokens"] > 300
    assert insights["cache"]["call"] is None


def test_a_request_without_anything_to_act_on_says_so(capsys: Screen, body: Path) -> None:
    assert "Nothing to act on beyond the sections." in call(capsys, body, "--insights")[1]


def test_a_captured_answer_lays_the_cache_on_the_request(capsys: Screen, tmp_path: Path) -> None:
    request = {
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "tools": [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Go."}],
    }
    usage = {"input_tokens": 3, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 50, "output_tokens": 1}
    answer = {"type": "message", "content": [], "stop_reason": "end_turn", "usage": usage}
    (tmp_path / "request.json").write_text(json.dumps(request))
    (tmp_path / "response.json").write_text(json.dumps(answer))
    cache = data_of(capsys, tmp_path)["insights"]["cache"]
    assert (cache["read"], cache["written"], cache["fresh"], cache["held"]) == (400, 50, 3, 450)
    assert [row["kind"] for row in cache["rows"]] == ["tools", "system", "turn"]


def test_a_live_session_is_told_from_its_records(capsys: Screen, data_dir: Path) -> None:
    """Three calls and a rewrite: growth, cache and both sides, and nothing of content."""
    meter = make_meter(dialect="anthropic", provider="anthropic", model="claude-opus-4-8", client="claude-code")
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 9_000)
    results = ["", "x " * 900, "x " * 900, ""]
    prompts = [5_000, 5_950, 6_000, 4_700]
    for number, (text, prompt) in enumerate(zip(results, prompts, strict=True)):
        part = Part(kind="tool_result", text=text, call_id="1", name="Bash")
        say = Message(role="user", parts=(Part(kind="text", text="Go.", wire_type="text"),))
        messages = (say, Message(role="tool", parts=(part,))) if text else (say,)
        read = prompts[number - 1] - 10 if number in (1, 2) else 0
        usage = Usage(input_fresh=prompt - read, cache_read=read, cache_write=0, output=20)
        store.put_call(
            CallRecord(
                id=f"call{number}",
                session="s",
                created_ms=1_000 * (number + 1),
                dialect="anthropic",
                kind="conversation",
                path="/v1/messages",
                provider="anthropic",
                model="claude-opus-4-8",
                outcome="ok",
                usage=msgspec.to_builtins(usage),
                breakdown=report(account(Context(messages=messages), meter, usage=usage)),
            )
        )
    cut = {"shared_messages": 1, "before": 9, "after": 2}
    store.put_event(EventRecord(created_ms=4_000, kind="rewrite", session="s", call="call3", details=cut))
    store.close()
    insights = data_of(capsys)["insights"]
    calls = insights["growth"]["calls"]
    assert [(one["id"], one["growth"], one["events"]) for one in calls] == [
        ("call0", None, ["start"]),
        ("call1", 950, []),
        ("call2", 50, []),
        ("call3", None, ["compaction"]),
    ]
    assert [piece["method"] for piece in calls[1]["added"]] == ["usage", "measured"]
    assert calls[1]["time"] == "1970-01-01T00:00:02.000Z"
    assert insights["duplicates"] is None
    assert insights["compactions"][0]["total_after"] == 4_700
    assert (insights["cache"]["call"], insights["cache"]["read"]) == (4, 0)
    assert "Compaction before call 4" in call(capsys, "--insights")[1]


def test_a_page_is_written_and_said_so(capsys: Screen, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    status, out, err = call(capsys, SESSION, "--html", page)
    assert (status, out) == (0, "")
    assert str(page) in err
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_a_page_and_the_data_can_be_had_in_one_go(capsys: Screen, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    status, out, _ = call(capsys, SESSION, "--html", page, "--json")
    assert status == 0
    assert msgspec.json.decode(out)["insights"]["growth"]["calls"]
    assert page.exists()


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX alone")
def test_a_file_whose_name_is_no_text_is_read_all_the_same(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"session-\xff.jsonl")
    path.write_bytes(SESSION.read_bytes())
    assert data_of(capsys, path)["source"].endswith("session-\ufffd.jsonl")
    assert call(capsys, path, "--html", tmp_path / "page.html")[0] == 0


def test_a_page_that_cannot_be_written_ends_with_a_sentence(capsys: Screen, tmp_path: Path) -> None:
    status, _, err = call(capsys, SESSION, "--html", tmp_path / "no" / "such" / "folder.html")
    assert status == 1
    assert "folder.html" in err


@pytest.mark.parametrize("option", [["--html", "x.html"], ["--insights"]])
def test_exact_counts_go_with_neither(capsys: Screen, body: Path, option: list[str]) -> None:
    status, _, err = call(capsys, body, "--exact", "--provider", "openai", *option)
    assert status == 2
    assert f"Give one of --exact and {option[0]}." in err


@pytest.mark.shared
def test_every_recorded_session_has_insights_that_add_up(capsys: Screen, shared_data: Path) -> None:
    """In a second or two each, the largest too; no text of a session is in its data."""
    for path in sorted((shared_data / "sessions").glob("*/*")):
        started = time.process_time()
        data = data_of(capsys, path)
        assert time.process_time() - started < 5, path
        insights = data["insights"]
        for one in insights["growth"]["calls"]:
            if one["total"] is not None:
                assert sum(one["sections"].values()) + one["gap"] == one["total"], (path, one["call"])
        assert insights["freeable_tokens"] <= max(0, sum(section["tokens"] for section in data["sections"])), path
        rows = (insights["cache"] or {}).get("rows", [])
        assert all(0 <= row["cached"] <= row["tokens"] for row in rows), path
