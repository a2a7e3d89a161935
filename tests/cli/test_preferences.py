"""How commands are told to count: by a flag, else by the settings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.cli.preferences import ESTIMATORS, STYLES
from ullage.core import tokens
from ullage.settings import catalog

REQUEST = {
    "model": "claude-opus-4-8",
    "max_tokens": 100,
    "system": "x" * 260,
    "messages": [{"role": "user", "content": "y" * 130}],
}
SETTINGS = """
[accounting]
estimator = "inspector-v2"
number_style = "coarse"
[accounting.profiles.mine]
text_denominator = 1
[[accounting.rules]]
profile = "mine"
label = "Mine"
match.model = "claude-*"
"""


@pytest.fixture
def request_file(tmp_path: Path) -> str:
    file = tmp_path / "request.json"
    file.write_bytes(msgspec.json.encode(REQUEST))
    return str(file)


@pytest.fixture
def user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, int]:
    report: Any = msgspec.json.decode(call(capsys, *arguments, "--json")[1])
    return {row["id"]: row["tokens"] for row in report["sections"]}


def test_the_flags_take_what_the_settings_take() -> None:
    assert ESTIMATORS == tokens.ESTIMATORS
    assert catalog()["accounting.estimator"].allowed == "one of " + ", ".join(ESTIMATORS)
    assert catalog()["accounting.number_style"].allowed == "one of " + ", ".join(STYLES)


@pytest.mark.parametrize("command", ["context", "count"])
@pytest.mark.parametrize("estimator", ["inspector-v1", "inspector-v2"])
def test_an_inspector_divides_characters(
    command: str, estimator: str, request_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(capsys, command, request_file, "--estimator", estimator) == {"system": 100, "messages": 50}


@pytest.mark.parametrize("command", ["context", "count"])
def test_without_a_flag_the_whole_request_is_counted(
    command: str, request_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "framing" in rows(capsys, command, request_file)


def test_settings_say_how_to_count_and_a_flag_wins(
    request_file: str, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(SETTINGS)
    assert rows(capsys, "context", request_file) == {"system": 260, "messages": 50}
    assert "framing" in rows(capsys, "context", request_file, "--estimator", "wire-v1")


def test_a_project_s_rules_count_too(
    request_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".ullage.toml").write_text("[[accounting.rules]]\nsession_denominator = 13\n")
    monkeypatch.chdir(tmp_path)
    assert rows(capsys, "context", request_file, "--estimator", "inspector-v2")["messages"] == 10


def test_the_view_names_the_rule_and_follows_the_style(
    request_file: str, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text(SETTINGS)
    _, shown, said = call(capsys, "context", request_file)
    assert "counts ch ÷ 1 · session ÷ 2.6 · tools ÷ 2.6 (Mine)" in shown
    assert said == ""


def test_a_style_can_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.json"
    file.write_bytes(msgspec.json.encode({**REQUEST, "system": "x" * 26_000}))
    _, shown, _ = call(capsys, "context", str(file), "--estimator", "inspector-v2", "--numbers", "coarse")
    assert "~10k tokens   (26.0k ch)" in shown


def test_what_cannot_be_used_of_the_settings_is_told(
    request_file: str, user_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.write_text("server.prot = 1\n[[accounting.rules]]\ntext_denominator = 0\n")
    status, _, said = call(capsys, "count", request_file)
    assert status == 0
    asked = "accounting.rules[].text_denominator must be a number above 0 and at most 1000000, not 0."
    assert said.splitlines() == [f"ullage: {user_file}:3: {asked} Correct it, or take it out."]


def test_a_batch_is_counted_the_same_way(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [
        {"provider": "anthropic", "model": "claude-opus-4-8", "api": "anthropic", "payload": REQUEST},
        {"provider": "anthropic", "model": "claude-opus-4-8", "api": "tokenize-text", "payload": {"text": "z" * 27}},
    ]
    file = tmp_path / "batch.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    assert main(["count", "--batch", str(file), "--estimator", "inspector-v2"]) == 0
    answers = [msgspec.json.decode(line) for line in capsysbinary.readouterr().out.splitlines()]
    assert [answer["tokens"] for answer in answers] == [150, math.ceil(27 / 2.6)]
    assert answers[0]["method"] == "inspector-v2: Claude 4.7+ heuristic"


def test_what_the_daemon_recorded_is_not_counted_anew(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, said = call(capsys, "context", "--estimator", "inspector-v2")
    assert status == 2
    assert "what the daemon recorded is counted already" in said
