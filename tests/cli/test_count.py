"""`ullage count`: one request, and batches."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main

Screen = pytest.CaptureFixture[str]
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello world"}]}


def batch(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, *lines: Any) -> list[dict[str, Any]]:
    path = tmp_path / "batch.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    assert main(["count", "--batch", str(path)]) == 0
    return [msgspec.json.decode(line) for line in capsysbinary.readouterr().out.splitlines()]


def row(**more: Any) -> dict[str, Any]:
    return {
        "provider": "openai",
        "model": "gpt-4o",
        "api": "openai-chat",
        "payload": {"messages": BODY["messages"]},
        **more,
    }


def test_a_request_is_counted_for_people(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps(BODY))
    assert main(["count", str(path)]) == 0
    assert capsys.readouterr().out == "~9 tokens for gpt-4o, by wire-v1\n"


def test_a_request_is_counted_for_programs(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"messages": BODY["messages"]}))
    assert (
        main(["count", str(path), "--dialect", "openai-chat", "--provider", "openai", "--model", "gpt-4o", "--json"])
        == 0
    )
    data = msgspec.json.decode(capsys.readouterr().out)
    assert (data["tokens"], data["low"], data["high"]) == (9, 9, 9)
    assert sum(section["tokens"] for section in data["sections"]) == 9
    assert data["method"] == "wire-v1: gpt-4o"


def test_a_request_comes_from_standard_input(capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BODY).encode())))
    assert main(["count"]) == 0
    assert capsys.readouterr().out.startswith("~9 tokens")


@pytest.mark.parametrize("more", ['"temperature": 1e999', '"user": "\\ud800"', '"metadata": {"type": []}'])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["", "byte-order mark"])
def test_a_body_that_is_legal_on_the_wire_is_counted(capsys: Screen, tmp_path: Path, more: str, start: bytes) -> None:
    """Design, section 11."""
    path = tmp_path / "body.json"
    path.write_bytes(start + f"{{{more}, {json.dumps(BODY)[1:]}".encode())
    assert main(["count", str(path)]) == 0
    assert capsys.readouterr().out == "~9 tokens for gpt-4o, by wire-v1\n"


def test_a_line_of_a_batch_may_hold_what_is_legal_on_the_wire(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    line = json.dumps(row())[:-1] + ', "n": 1e999, "note": "\\ud800"}'
    assert [answer["tokens"] for answer in batch(capsysbinary, tmp_path, line)] == [9]


def test_an_estimate_shows_its_interval_and_what_makes_it_weak(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Hello world " * 40}]}))
    assert main(["count", str(path)]) == 0
    out = capsys.readouterr().out
    assert " to " in out
    assert "no tokenizer family is known" in out


def test_a_batch_answers_each_line_in_order(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    anthropic = {"messages": [{"role": "user", "content": "Hello world"}]}
    answers = batch(
        capsysbinary,
        tmp_path,
        row(),
        row(provider="anthropic", model="claude-opus-4-8", api="anthropic", payload=anthropic),
        row(provider="xai", model="grok-4.3", api="tokenize-text", payload={"text": "Hello world"}),
    )
    exact, estimated, bare = (answer["tokens"] for answer in answers)
    assert (exact, bare) == (9, 2)
    assert 5 < estimated < 12
    assert set(answers[0]) == {"tokens", "low", "high", "method", "sections"}
    assert set(answers[0]["sections"][0]) == {"id", "title", "tokens", "low", "high", "chars", "method"}


def test_a_bad_line_gives_an_error_on_its_line_and_ends_nothing(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    answers = batch(
        capsysbinary,
        tmp_path,
        row(),
        "{ not json",
        "[1, 2]",
        row(api="klingon"),
        row(payload="text"),
        row(kind="component-sizes", payload={"component_sizes": {"system_chars": 5}}),
        row(api="tokenize-text", payload={}),
        row(kind="tool-delta"),
        row(payload={"messages": 7}),
        row(),
    )
    errors = [answer.get("error", "")[:40] for answer in answers]
    assert len(answers) == 10
    assert errors[0] == errors[9] == ""
    assert all(errors[1:8])
    assert answers[9]["tokens"] == 9


def test_a_tool_delta_is_the_net_cost_of_its_tools(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"host": {"type": "string", "description": "Target host"}},
        "required": ["host"],
    }
    tool = {"type": "function", "name": "ping", "description": "Send a ping.", "parameters": schema}
    answer = batch(
        capsysbinary,
        tmp_path,
        row(
            provider="openai-codex",
            model="gpt-6-sol",
            api="openai-responses",
            kind="tool-delta",
            payload={"tools": [tool]},
        ),
    )[0]
    assert answer["tokens"] == 21
    assert [(section["id"], section["tokens"]) for section in answer["sections"]] == [("tools", 21)]


def test_a_file_and_a_batch_exclude_each_other(capsys: Screen, tmp_path: Path) -> None:
    assert main(["count", "x.json", "--batch", "y.jsonl"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["count", "/no/such/file"], ["count", "--batch", "/no/such/file"]])
def test_a_file_that_is_not_there_is_said_to_be_so(capsys: Screen, arguments: list[str]) -> None:
    assert main(arguments) == 1
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("option", [[], ["--batch"]])
def test_a_folder_is_said_to_be_one_with_what_reads_it(capsys: Screen, tmp_path: Path, option: list[str]) -> None:
    assert main(["count", *option, str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert f"{tmp_path} is a folder." in err
    assert f"`ullage context {tmp_path}`" in err


@pytest.mark.parametrize(("content", "status"), [("{", 1), ('{"a": 1}', 1)])
def test_what_is_no_request_ends_with_status_one(capsys: Screen, tmp_path: Path, content: str, status: int) -> None:
    path = tmp_path / "body.json"
    path.write_text(content)
    assert main(["count", str(path)]) == status
    assert capsys.readouterr().err.startswith("ullage: ")


@pytest.mark.parametrize("content", ["", "plain text", '{"type": "session"}\n{"type": "message"}\n'])
def test_what_another_command_reads_is_said_with_that_command(capsys: Screen, tmp_path: Path, content: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert main(["count", str(path)]) == 1
    assert "`ullage context` reads sessions" in capsys.readouterr().err


@pytest.mark.shared
def test_every_counted_payload_gets_an_answer_or_has_no_text(
    capsysbinary: pytest.CaptureFixture[bytes], shared_data: Path
) -> None:
    rows = [json.loads(line) for line in (shared_data / "token_ground_truth.jsonl").read_text().splitlines()]
    assert main(["count", "--batch", str(shared_data / "token_ground_truth.jsonl")]) == 0
    answers = [msgspec.json.decode(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert len(answers) == len(rows)
    for asked, answer in zip(rows, answers, strict=True):
        assert ("error" in answer) == (asked["kind"] == "component-sizes"), (asked["source"], answer)
        if "error" not in answer:
            assert sum(section["tokens"] for section in answer["sections"]) == answer["tokens"], asked


def test_a_batch_answers_line_for_line_whatever_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = '{"provider":"openai","model":"gpt-5.5","api":"openai-chat","payload":%s}'
    good = request % '{"messages":[{"role":"user","content":"hi"}]}'
    lines = [good, "", "not json", request % '"words"', request % "5", good]
    file = tmp_path / "batch.jsonl"
    file.write_text("\n".join(lines) + "\n")
    assert main(["count", "--batch", str(file)]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == len(lines)
    assert answers[0] == answers[5]
    assert answers[1]["error"] == "The line is empty."
    assert "malformed" in answers[2]["error"] or "invalid" in answers[2]["error"]
    assert answers[3]["error"] == answers[4]["error"] == "`payload` is no JSON object."


def test_a_section_is_never_below_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "r", "schema": schema}}
    payload = {"messages": [{"role": "user", "content": "x"}], "response_format": form}
    file = tmp_path / "batch.jsonl"
    line = {"model": "mistral-small-latest", "provider": "mistral", "api": "openai-chat", "payload": payload}
    file.write_text(json.dumps(line) + "\n")
    assert main(["count", "--batch", str(file)]) == 0
    sections = json.loads(capsys.readouterr().out)["sections"]
    assert all(0 <= section["low"] <= section["tokens"] <= section["high"] for section in sections)
