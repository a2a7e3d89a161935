"""What is typed in Pi becomes calls of ours, for the session that asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ullage.cli import main
from ullage.cli.pi.asked import Asked, Group, Row, Table
from ullage.cli.pi.typed import answer_typed
from ullage.cli.pi.words import AUTO_MODEL, CONTEXT
from ullage.core.errors import CallError

OF = ("--session", "s1")
ASKED = Asked(session="s1", model="anthropic/claude-opus-5")
COMMANDS = Path(__file__).parents[3] / "extensions" / "pi" / "commands.ts"

CONTEXT_LIST = """
status tokens model manifest explain included excluded retrieved project pins pin unpin memory privacy artifacts summaries
compaction compact-preview continuation ranking quality storage health rebuild-index config history rebase adapter
"""
AUTO_MODEL_LIST = """
on off status why plan task outcome models providers history metrics quota budget pool rules export doctor mode pin unpin thinking
feedback
"""
LISTED = {"context": CONTEXT_LIST.split(), "auto-model": AUTO_MODEL_LIST.split()}


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The calls of ours that are made, which do nothing."""
    calls: list[tuple[str, ...]] = []

    def note(arguments: list[str]) -> int:
        calls.append(tuple(arguments))
        return 0

    monkeypatch.setattr("ullage.cli.answer", note)
    return calls


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("model", ("model", "anthropic/claude-opus-5")),
        ("model openai/gpt-5.5 --json", ("model", "--json", "openai/gpt-5.5")),
        ("pin never push", ("pin", "add", *OF, "--", "never push")),
        ('pin "never  push" -- --force', ("pin", "add", *OF, "--", "never  push --force")),
        (
            "pin --scope project --classification=internal --source e1 --source e2 --file a.md --supersedes pin_1 x",
            (
                *("pin", "add", *OF, "--scope", "project", "--class", "internal", "--source", "e1", "--source", "e2"),
                *("--file", "a.md", "--supersedes", "pin_1", "--", "x"),
            ),
        ),
        ("unpin pin_1", ("pin", "remove", "pin_1")),
        ("unpin pin_1 it was wrong", ("pin", "remove", "pin_1", "--reason", "it was wrong")),
        (
            "memory add Build runner = vitest",
            ("memory", "add", *OF, "--scope", "project", "--", "Build runner = vitest"),
        ),
        ("memory add --scope session x", ("memory", "add", *OF, "--scope", "session", "--", "x")),
        ("memory supersede mem_1 --key k a b", ("memory", "supersede", "--key", "k", "--", "mem_1", "a b")),
        ("memory invalidate mem_1", ("memory", "invalidate", "mem_1")),
        ("memory expire mem_1 over", ("memory", "expire", "mem_1", "--reason", "over")),
        ("config", ("config", "show", "--defaults")),
        ("config show planning", ("config", "show", "--defaults", "planning")),
        ("config set mode managed", ("config", "set", "--project", "--", "mode", "managed")),
        ("config set --global mode managed", ("config", "set", "--", "mode", "managed")),
        ("config set routing.models a/* , b/*", ("config", "set", "--project", "--", "routing.models", "a/* , b/*")),
        ("config unset --global mode", ("config", "unset", "--", "mode")),
        ("metrics", ("metrics",)),
    ],
)
def test_context(called: list[tuple[str, ...]], line: str, call: tuple[str, ...]) -> None:
    assert answer_typed("context", CONTEXT, line, ASKED) == 0
    assert called == [call]


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("", [("auto", "status", *OF, "--")]),
        ("on", [("auto", "on", *OF, "--")]),
        ("mode", [("auto", "mode", *OF)]),
        ("mode cost", [("auto", "mode", "--default", "--", "cost"), ("auto", "mode", *OF, "--", "cost")]),
        ("pin Anthropic/Claude-Opus-5", [("auto", "pin", *OF, "--", "Anthropic/Claude-Opus-5")]),
        ("plan Why doesn't 'it --work", [("auto", "plan", *OF, "--", "Why doesn't 'it --work")]),
        ("thinking fixed high", [("auto", "thinking", *OF, "--", "fixed", "high")]),
        ("thinking auto", [("auto", "thinking", *OF, "--", "auto")]),
        ("why --json", [("auto", "why", "--json", *OF, "--")]),
        ("history", [("history", "--limit", "50")]),
        ("history session", [("history", "--limit", "50", *OF)]),
        ("outcome success", [("outcome", "success", *OF)]),
        ("feedback good", [("feedback", *OF, "--", "good")]),
        ("feedback bad it's shallow", [("feedback", "--reason", "it's shallow", *OF, "--", "bad")]),
        ("feedback bad a/b too slow", [("feedback", "--reason", "too slow", *OF, "--", "bad", "a/b")]),
    ],
)
def test_auto_model(called: list[tuple[str, ...]], line: str, calls: list[tuple[str, ...]]) -> None:
    assert answer_typed("auto-model", AUTO_MODEL, line, ASKED) == 0
    assert called == calls


def test_an_export_goes_into_a_file_of_the_data_folder(called: list[tuple[str, ...]], data_dir: Path) -> None:
    answer_typed("auto-model", AUTO_MODEL, "export json", ASKED)
    (call,) = called
    assert call[:5] == ("export", "calls", "--format", "json", "--out") and call[6:] == OF
    assert Path(call[5]).parent == data_dir / "exports" and call[5].endswith(".json")


def test_an_export_goes_there_whatever_a_session_calls_itself(called: list[tuple[str, ...]], data_dir: Path) -> None:
    answer_typed("auto-model", AUTO_MODEL, "export json", Asked(session="../../x/y", model="anthropic/claude-opus-5"))
    assert Path(called[0][5]).parent == data_dir / "exports"


@pytest.mark.parametrize(("name", "table"), [("context", CONTEXT), ("auto-model", AUTO_MODEL)])
def test_every_command_of_the_lists_is_there_and_is_completed(name: str, table: Table) -> None:
    assert set(LISTED[name]) <= table.keys()
    block = re.search(rf'\n\t"?{name}"?: {{\n(.*?)\n\t}},', COMMANDS.read_text(), re.DOTALL)
    assert block is not None
    completed = dict(re.findall(r'^\t\t"?([a-z-]+)"?: \[(.*)\],$', block[1], re.MULTILINE))
    assert completed.keys() == {*table, "help"}
    for word, entry in table.items():
        if isinstance(entry, Group):
            assert {second for second in entry.rows if f'"{second}"' not in completed[word]} == set()


@pytest.mark.parametrize(
    ("name", "line"),
    [("context", "nonsense"), ("context", "memory nonsense"), ("auto-model", "nonsense"), ("context", "config write")],
)
def test_an_unknown_command_is_told_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str], name: str, line: str
) -> None:
    assert main(["pi", "command", name, line]) == 2
    told = capsys.readouterr().out
    assert told.splitlines()[-1].startswith(f"There is no /{name} {line}.")
    assert all(f"\n  {word}" in told for word in LISTED[name])


@pytest.mark.parametrize(
    ("name", "line", "meant"),
    [("context", "modle", "model"), ("context", "memory lst", "memory list"), ("auto-model", "stauts", "status")],
)
def test_a_near_miss_is_told(capsys: pytest.CaptureFixture[str], name: str, line: str, meant: str) -> None:
    main(["pi", "command", name, line])
    assert capsys.readouterr().out.rstrip().endswith(f"Did you mean /{name} {meant}?")


def test_help_is_told_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pi", "command", "context", "help"]) == 0
    assert capsys.readouterr().out.startswith("/context is followed by:")


@pytest.mark.parametrize(
    "line",
    [
        *(
            'pin "never',
            "pin --scope",
            "pin --nope x",
            "pin",
            "unpin",
            "tokens all",
            "included some",
            "memory supersede x",
        ),
        *("config set mode", "tokens --json", "rebase --recover now", "history read", "artifacts 'x"),
    ],
)
def test_what_makes_no_sense_does_nothing(called: list[tuple[str, ...]], line: str) -> None:
    with pytest.raises(CallError):
        answer_typed("context", CONTEXT, line, ASKED)
    assert not called


def rows(table: Table) -> Iterator[tuple[str, Row]]:
    for first, entry in table.items():
        if isinstance(entry, Group):
            yield from ((f"{first} {second}", row) for second, row in entry.rows.items())
        else:
            yield first, entry


@pytest.mark.parametrize("line", [line for line, row in rows(CONTEXT) if not row.least])
def test_where_nothing_is_recorded_every_command_says_so(capsys: pytest.CaptureFixture[str], line: str) -> None:
    status = main(["pi", "command", "context", line, "--session", "s1"])
    printed = capsys.readouterr()
    assert status in (0, 1) and (printed.out or printed.err)
    assert "Internal error" not in printed.err
