"""`ullage context`: every kind of source, the errors, and all recorded data beside the repository."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.accounting import account, make_meter, report
from ullage.core.content import Context, Message, Part
from ullage.stores import CallRecord, SqliteStore

Screen = pytest.CaptureFixture[str]
SESSION = Path(__file__).parents[1] / "golden" / "views" / "session.in.jsonl"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello world"}]}


def call(capsys: Screen, *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["context", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def report_of(capsys: Screen, *arguments: str | Path) -> dict[str, Any]:
    status, out, err = call(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    data: dict[str, Any] = msgspec.json.decode(out)
    assert sum(section["tokens"] for section in data["sections"]) + data["gap"] == data["total"]
    return data


@pytest.fixture
def body(tmp_path: Path) -> Path:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODY))
    return path


def test_a_session_file_is_shown_with_its_client_model_and_total(capsys: Screen) -> None:
    status, out, err = call(capsys, SESSION, "--window", "200k")
    assert (status, err) == (0, "")
    assert "pi · model anthropic/claude-opus-4-8" in out
    assert "Tool outputs" in out
    assert "/ 200k ctx" in out


@pytest.mark.parametrize("view", ["summary", "compact", "expanded"])
def test_every_view_can_be_asked_for(capsys: Screen, view: str, body: Path) -> None:
    assert call(capsys, body, "--view", view)[0] == 0


def test_an_earlier_call_of_a_session_is_its_usage(capsys: Screen) -> None:
    data = report_of(capsys, SESSION, "--call", "1")
    assert (data["total"], data["total_kind"], data["output"]) == (4803, "usage", 96)
    assert report_of(capsys, SESSION, "--call", "2")["total"] == 8107


def test_what_follows_the_last_call_makes_the_total_an_estimate(capsys: Screen) -> None:
    data = report_of(capsys, SESSION)
    assert data["total_kind"] == "estimate"
    assert data["total_low"] <= data["total"] <= data["total_high"]
    assert data["total"] > 8107 + 40


@pytest.mark.parametrize("number", ["3", "99"])
def test_a_call_that_is_not_there_is_a_wrong_call(capsys: Screen, number: str) -> None:
    status, _, err = call(capsys, SESSION, "--call", number)
    assert status == 2
    assert f"no call {number}: the session has 2" in err
    assert "--call 1 to 2" in err


def test_another_model_prices_the_text_and_keeps_the_old_number_apart(capsys: Screen) -> None:
    data = report_of(capsys, SESSION, "--model", "gpt-5.5", "--provider", "openai", "--window", "200k")
    assert (data["family"], data["window"]) == ("openai", None) or data["family"].startswith("gpt-5")
    assert data["window"] is None
    assert "pre_switch" in [warning["code"] for warning in data["warnings"]]


def test_a_request_body_is_accounted_for(capsys: Screen, body: Path) -> None:
    data = report_of(capsys, body)
    assert (data["dialect"], data["model"], data["total"], data["total_kind"]) == (
        "openai-chat",
        "gpt-4o",
        9,
        "estimate",
    )
    assert data["source"] == str(body)


def test_a_request_body_comes_from_standard_input(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BODY).encode())))
    assert report_of(capsys, "-")["total"] == 9


def test_flags_win_over_what_a_body_says(capsys: Screen, body: Path) -> None:
    data = report_of(capsys, body, "--model", "claude-opus-4-8", "--dialect", "anthropic", "--provider", "anthropic")
    assert (data["dialect"], data["family"]) == ("anthropic", "claude-4.7")


def test_a_case_file_holds_its_body_below_request(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"id": "x", "request": BODY, "budget": {}}))
    assert report_of(capsys, path)["total"] == 9


def test_a_body_with_a_shape_of_its_own_is_no_case_file(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({**BODY, "request": {"messages": []}}))
    assert report_of(capsys, path)["total"] == 9


LEGAL = {
    "lone surrogate": rb'{"model":"gpt-4o","messages":[{"role":"user","content":"Hello world\ud800"}]}',
    "number out of range": b'{"model":"gpt-4o","temperature":1e999,"messages":[{"role":"user","content":"Hello world"}]}',
    "byte-order mark": b"\xef\xbb\xbf" + json.dumps(BODY).encode(),
    "odd type": b'{"model":"gpt-4o","messages":[{"role":"user","content":[{"type":[]}]}]}',
    "printed": b"\n" + json.dumps(BODY, indent=2).encode() + b"\n\n",
}


@pytest.mark.parametrize("options", [[], ["--dialect", "openai-chat"], ["--dialect", "anthropic"]])
@pytest.mark.parametrize("name", LEGAL)
def test_a_body_that_is_legal_on_the_wire_is_accounted_for(
    capsys: Screen, tmp_path: Path, name: str, options: list[str]
) -> None:
    """Design, section 11."""
    path = tmp_path / "body.json"
    path.write_bytes(LEGAL[name])
    assert report_of(capsys, path, *options)["model"] == "gpt-4o"


@pytest.mark.parametrize("name", LEGAL)
def test_a_case_file_may_hold_any_legal_body(capsys: Screen, tmp_path: Path, name: str) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(b'{"id": "\\udc00", "request": ' + LEGAL[name].removeprefix(b"\xef\xbb\xbf") + b"}")
    assert report_of(capsys, path)["model"] == "gpt-4o"


def test_a_named_dialect_makes_any_object_a_body(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"model": "gpt-4o"}')
    assert report_of(capsys, path, "--dialect", "openai-chat")["dialect"] == "openai-chat"
    status, _, err = call(capsys, SESSION, "--dialect", "openai-chat")
    assert status == 1
    assert "not one JSON object" in err


def spill(path: Path, content: bytes) -> threading.Thread:
    """A pipe with this content in it, as a shell makes one for `<(…)`."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    return writer


@pytest.mark.parametrize("content", [SESSION.read_bytes(), json.dumps(BODY).encode()], ids=["session", "body"])
def test_a_pipe_is_read_as_a_file_is(capsys: Screen, tmp_path: Path, content: bytes) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    file.write_bytes(content)
    writer = spill(pipe, content)
    data = report_of(capsys, pipe)
    writer.join()
    assert data == {**report_of(capsys, file), "source": str(pipe)}


def test_a_session_comes_from_standard_input(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SESSION.read_bytes())))
    data = report_of(capsys, "-")
    assert (data["source"], data["client"]) == ("-", "pi")


@pytest.mark.parametrize("content", [b"", b"plain text\n", b'{"hello": "world"}'])
def test_the_next_step_names_everything_that_could_be_given(capsys: Screen, tmp_path: Path, content: bytes) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    file.write_bytes(content)
    writer = spill(pipe, content)
    for path in (pipe, file):
        status, _, err = call(capsys, path)
        assert status == 1
        assert err.startswith(f"ullage: {path} is ")
        assert "Claude Code session" in err
        assert "A request body is one JSON object with `messages`, `input` or `contents`" in err
    writer.join()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc here")
@pytest.mark.parametrize("command", ["context", "count"])
def test_a_file_that_fails_while_it_is_read_has_a_next_step(capsys: Screen, command: str) -> None:
    assert main([command, "/proc/self/mem"]) == 1
    err = capsys.readouterr().err
    assert "/proc/self/mem cannot be read: " in err
    assert "yours to read" in err
    assert "ULLAGE_DEBUG" not in err


def test_a_captured_request_brings_its_facts_and_its_usage(capsys: Screen, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(BODY))
    (tmp_path / "meta.json").write_text(json.dumps({"provider": "openai", "client": "aider", "window": 128_000}))
    usage = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
    (tmp_path / "response.json").write_text(
        json.dumps(
            {
                "id": "r",
                "model": "gpt-4o",
                "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
                "usage": usage,
            }
        )
    )
    data = report_of(capsys, tmp_path)
    assert (data["total"], data["total_kind"], data["gap"], data["output"]) == (11, "usage", 2, 2)
    assert (data["provider"], data["client"], data["window"]) == ("openai", "aider", 128_000)


def test_a_folder_without_a_request_is_no_captured_request(capsys: Screen, tmp_path: Path) -> None:
    status, _, err = call(capsys, tmp_path)
    assert status == 1
    assert "request.json" in err


def test_without_a_source_the_newest_conversation_call_is_shown(capsys: Screen, data_dir: Path) -> None:
    meter = make_meter(dialect="openai-chat", provider="openai", model="gpt-4o", client="pi")
    message = Message(role="user", parts=(Part(kind="text", text="Hello world", wire_type="text"),))
    breakdown = report(account(Context(messages=(message,)), meter))
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 1_000)
    facts: dict[str, Any] = {
        "session": "s",
        "dialect": "openai-chat",
        "path": "/v1",
        "provider": "openai",
        "model": "gpt-4o",
    }
    store.put_call(CallRecord(id="old", created_ms=1, kind="conversation", outcome="ok", breakdown=breakdown, **facts))
    store.put_call(CallRecord(id="bare", created_ms=2, kind="conversation", outcome="unparsed", **facts))
    store.put_call(CallRecord(id="title", created_ms=3, kind="title", outcome="ok", breakdown=breakdown, **facts))
    store.close()
    data = report_of(capsys, "--window", "1M")
    assert (data["source"], data["total"], data["window"]) == ("call:old", 9, 1_000_000)


def test_without_any_call_the_next_step_is_said(capsys: Screen, data_dir: Path) -> None:
    SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 1).close()
    status, _, err = call(capsys)
    assert status == 1
    assert "ullage serve" in err


@pytest.mark.parametrize(
    ("content", "arguments", "status", "said"),
    [
        ("not json at all\n", [], 1, "no session of a known client"),
        ("", [], 1, "is empty"),
        ('{"hello": "world"}\n', [], 1, "no session of a known client"),
        (json.dumps(BODY), ["--dialect", "klingon"], 2, "no request shape 'klingon'"),
        (json.dumps(BODY), ["--call", "1"], 2, "--call picks a call of a session file"),
        (json.dumps(BODY), ["--window", "many"], 2, "no number of tokens"),
        (json.dumps(BODY), ["--window", "9" * 400], 2, "no number of tokens"),
        (json.dumps(BODY), ["--view", "huge"], 2, "huge"),
    ],
)
def test_a_wrong_source_or_call_ends_with_its_status_and_a_sentence(
    capsys: Screen, tmp_path: Path, content: str, arguments: list[str], status: int, said: str
) -> None:
    path = tmp_path / "source"
    path.write_text(content)
    got, out, err = call(capsys, path, *arguments)
    assert (got, out) == (status, "")
    assert said in err


def test_a_file_that_is_not_there_is_said_to_be_so(capsys: Screen, tmp_path: Path) -> None:
    status, _, err = call(capsys, tmp_path / "nowhere")
    assert status == 1
    assert "no file" in err


def test_standard_input_that_is_no_request_says_so(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    status, _, err = call(capsys, "-")
    assert status == 1
    assert "--dialect" in err


def test_a_live_report_needs_no_tokenizer(data_dir: Path) -> None:
    """The vocabulary costs time and memory that a command which counts nothing must not pay."""
    SqliteStore(data_dir / "ullage.db", clock_ms=lambda: 1).close()
    code = "import sys; from ullage.cli import main; main(['context']); sys.exit('splintr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


@pytest.mark.shared
def test_every_recorded_session_and_case_is_accounted_for(capsys: Screen, shared_data: Path) -> None:
    """Rows and gap are the total for each; the real sessions name their model."""
    files = [*sorted((shared_data / "sessions").glob("*/*.json*")), *sorted((shared_data / "cases").glob("*.json"))]
    assert len(files) == 27 + 12
    for file in files:
        data = report_of(capsys, file)
        assert data["total"] > 0, file
        assert data["dialect"] is not None, file


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "total", "kind"),
    [
        ("claude-code/episodic-memory-large-conversation.jsonl", 534_859, "usage"),
        ("claude-code/soltax.jsonl", 30_322, "usage"),
        ("codex/soulpass.jsonl", 22_361, "usage"),
        ("openhands/openhands-ponylang-ponyc-4595.json", 33_459, "usage"),
        ("pi/agent-complex-task-03-raddit-dashboard-pr.jsonl", 55_052, "usage"),
    ],
)
def test_a_session_that_ended_with_an_answer_shows_the_last_prompt(
    capsys: Screen, shared_data: Path, file: str, total: int, kind: str
) -> None:
    data = report_of(capsys, shared_data / "sessions" / file)
    assert (data["total"], data["total_kind"]) == (total, kind)


@pytest.mark.shared
def test_instruction_files_and_skills_of_recorded_sessions_are_found(capsys: Screen, shared_data: Path) -> None:
    data = report_of(capsys, shared_data / "sessions" / "codex" / "soul.jsonl")
    skills = next(section for section in data["sections"] if section["id"] == "skills")
    assert skills["title"] == "Skill frontmatter (97)"
    assert abs(data["gap"]) < 100
