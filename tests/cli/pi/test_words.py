"""What is typed in Pi becomes calls of ours, for the session that asks."""

from __future__ import annotations

import pytest

from ullage.cli import main
from ullage.cli.pi.typed import split
from ullage.cli.pi.words import AUTO_MODEL, CONTEXT, Asked

OF = ("--session", "s1")


def asked(line: str) -> Asked:
    return Asked(session="s1", model="anthropic/claude-opus-5", words=tuple(split(line)))


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("model", ("model", "anthropic/claude-opus-5")),
        ("model openai/gpt-5.5", ("model", "openai/gpt-5.5")),
        ("pins", ("pin", "list", *OF)),
        ("pin never push", ("pin", "add", *OF, "--", "never push")),
        ('pin "never  push"', ("pin", "add", *OF, "--", "never  push")),
        (
            "pin --scope project --classification=internal x",
            ("pin", "add", *OF, "--scope", "project", "--class", "internal", "--", "x"),
        ),
        ("unpin pin_1", ("pin", "remove", "pin_1")),
        ("memory list", ("memory", "list")),
        ("storage", ("db", "check")),
        ("health", ("doctor",)),
        ("config show", ("config", "show", "--sources")),
    ],
)
def test_context(line: str, call: tuple[str, ...]) -> None:
    assert tuple(CONTEXT[line.split(maxsplit=1)[0]](asked(line))) == call


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("on", ("auto", "on", *OF)),
        ("mode cost", ("auto", "mode", "cost", *OF)),
        ("pin Anthropic/Claude-Opus-5", ("auto", "pin", "Anthropic/Claude-Opus-5", *OF)),
        ("plan Review this design", ("auto", "plan", "Review this design", *OF)),
        ("thinking fixed high", ("auto", "thinking", "high", *OF)),
        ("thinking auto", ("auto", "thinking", "auto", *OF)),
        ("history", ("history", *OF)),
        ("outcome success", ("outcome", "success", *OF)),
        ("feedback good", ("feedback", "good", *OF)),
        ("feedback bad too shallow", ("feedback", "bad", "--reason", "too shallow", *OF)),
        ("feedback bad a/b too slow", ("feedback", "bad", "a/b", "--reason", "too slow", *OF)),
        ("export", ("export", "calls", "--format", "jsonl", *OF)),
    ],
)
def test_auto_model(line: str, call: tuple[str, ...]) -> None:
    assert tuple(AUTO_MODEL[line.split(maxsplit=1)[0]](asked(line))) == call


def test_an_unknown_command_is_told_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "command", "context", "nonsense"]) == 2
    told = capsys.readouterr().err
    assert "/context nonsense" in told and "tokens" in told


def test_a_quote_that_does_not_end_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "command", "context", 'pin "never']) == 2
    assert "Close the quote" in capsys.readouterr().err


def test_a_session_without_a_request_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "command", "context", "tokens", "--session", "s1"]) == 1
    assert capsys.readouterr().err
