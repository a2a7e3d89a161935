"""`ullage probe` against the fake provider over real sockets: what is said before, what is asked, what comes out."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from ullage.cli import INTERRUPTED, main
from ullage.core.content import Usage
from ullage.engine.probe import RUNAWAY_TOKENS
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_prose, make_request, make_tools, run_in_thread

Screen = pytest.CaptureFixture[str]
SECRET = "sk-or-very-secret-key-0123456789"
SESSION = Path(__file__).parents[1] / "golden" / "views" / "session.in.jsonl"


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with run_in_thread(FakeProvider()) as provider:
        yield provider


@pytest.fixture
def body(tmp_path: Path) -> Path:
    request = make_request(
        "openai-chat",
        model="m-1",
        turns=("PRIVATE WORDS " + make_prose(200),),
        tools=make_tools(3),
        system=make_prose(800, 1),
        stream=True,
    )
    path = tmp_path / "request.json"
    path.write_bytes(request.body)
    return path


@pytest.fixture
def probe(capsys: Screen, provider: FakeProvider) -> Callable[..., tuple[int, str, str]]:
    """Calls the command at the fake provider."""

    def call(*arguments: str | Path, dialect: str = "openai-chat") -> tuple[int, str, str]:
        status = main(["probe", *map(str, arguments), "--upstream", f"{dialect}={provider.url}"])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


Probe = Callable[..., tuple[int, str, str]]


def test_the_sections_are_measured_for_people(probe: Probe, body: Path, provider: FakeProvider) -> None:
    status, out, _ = probe(body, "--yes")
    assert status == 0
    assert re.search(r"^System prompt +20[0-9]  3\.9\d? characters a token$", out, re.MULTILINE)
    assert re.search(r"^Tools +\d+  \d", out, re.MULTILINE)
    assert re.search(r"^  tool block, once +\d$", out, re.MULTILINE)
    assert f"\n{len(provider.requests)} calls, " in out


def test_the_report_holds_sizes_and_names_and_no_text(probe: Probe, body: Path) -> None:
    status, out, _ = probe(body, "--yes", "--json")
    data: dict[str, Any] = msgspec.json.decode(out)
    assert status == 0
    assert (data["method"], data["coverage"], data["answered_by"]) == ("usage-delta", "full-request", "m-1")
    isolation = data["isolation"]
    assert isolation["system"] + isolation["tools"] + isolation["rest"] == isolation["full"]
    assert [cost["name"] for cost in isolation["tool_costs"]] == ["bash", "tool_1", "tool_2"]
    assert data["spent"]["calls"] == 7
    assert data["left_out"] == ["stream"]
    assert "PRIVATE" not in out
    assert "You said" not in out
    assert "Runs a command" not in out


def test_calls_tokens_and_characters_are_told_before_anything_is_sent(
    probe: Probe, body: Path, provider: FakeProvider
) -> None:
    """Without a yes nothing leaves."""
    status, out, err = probe(body)
    assert (status, out) == (2, "")
    assert len(provider.requests) == 0
    assert re.search(
        r"sends at most 8 calls to 127\.0\.0\.1:\d+ without a key, for m-1, each with its answer capped at 1", err
    )
    assert re.search(r"at most [\d,]+ characters and, by our estimate, [\d,]+ tokens; nothing .* 200,000 tokens", err)
    assert "hint: Add --yes." in err


@pytest.mark.parametrize(("allowed", "sent"), [(True, 7), (False, 0)])
def test_a_person_is_asked(
    probe: Probe,
    body: Path,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    allowed: bool,
    sent: int,
) -> None:
    def confirm(*_: object, **__: object) -> bool:
        if not allowed:
            raise click.Abort
        return True

    stdin = io.StringIO()
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr("click.confirm", confirm)
    assert probe(body)[0] == (0 if allowed else INTERRUPTED)
    assert len(provider.requests) == sent


def test_the_limits_of_the_call_hold(probe: Probe, body: Path, provider: FakeProvider) -> None:
    status, out, err = probe(body, "--yes", "--max-calls", "4")
    assert status == 0
    assert len(provider.requests) == 4
    line = "not measured: tool:bash, tool:tool_1, tool:tool_2 (6 calls would be needed, 4 are allowed)"
    assert line in err
    assert line in out


def test_limits_without_room_are_a_wrong_call(probe: Probe, body: Path, provider: FakeProvider) -> None:
    assert probe(body, "--yes", "--max-tokens", "20")[0] == 2
    assert len(provider.requests) == 0


def test_a_key_goes_along_only_for_a_named_provider(
    probe: Probe, body: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", SECRET)
    assert probe(body, "--yes")[0] == 0
    assert all(received.header("authorization") is None for received in provider.requests)
    provider.requests.clear()
    status, _, err = probe(body, "--yes", "--provider", "openrouter")
    assert status == 0
    assert all(received.header("authorization") == f"Bearer {SECRET}" for received in provider.requests)
    assert "with $OPENROUTER_API_KEY" in err


def test_a_provider_without_a_key_is_told(
    probe: Probe, body: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    status, _, err = probe(body, "--yes", "--provider", "openai")
    assert status == 2
    assert "hint: Set OPENAI_API_KEY." in err
    assert len(provider.requests) == 0


def test_the_key_is_shown_nowhere(
    probe: Probe,
    body: Path,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """Also where the provider repeats it, with tracebacks on."""
    monkeypatch.setenv("OPENROUTER_API_KEY", SECRET)
    monkeypatch.setenv("ULLAGE_DEBUG", "1")
    caplog.set_level(logging.DEBUG)
    shown = [probe(body, "--yes", "--provider", "openrouter", "--json")]
    provider.script.add(Fault(status=401, message=f"Incorrect API key provided: {SECRET}"))
    shown.append(probe(body, "--yes", "--provider", "openrouter"))
    assert [status for status, _, _ in shown] == [0, 1]
    assert "Incorrect API key provided: [key]" in shown[1][2]
    assert SECRET not in str(shown) + caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


def test_another_model_is_discarded(probe: Probe, body: Path, provider: FakeProvider) -> None:
    provider.script.add(Rule(reply=Reply(model="another")))
    status, out, err = probe(body, "--yes")
    assert (status, out) == (1, "")
    assert "asked for m-1, but another answered" in err


def test_a_probe_that_ended_early_says_so_and_shows_what_it_has(
    probe: Probe, body: Path, provider: FakeProvider
) -> None:
    provider.script.add(Rule(times=3), Rule(fault=Fault(status=429)))
    status, out, _ = probe(body, "--yes")
    assert status == 1
    assert "System prompt" in out
    assert "! ended early: 127.0.0.1" in out


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 529])
def test_a_provider_that_refuses_is_told_in_a_line(
    probe: Probe, body: Path, provider: FakeProvider, status: int
) -> None:
    provider.script.add(Rule(fault=Fault(status=status)))
    code, out, err = probe(body, "--yes")
    assert (code, out) == (1, "")
    assert f"({status})" in err
    assert "hint: " in err


def test_an_upstream_that_is_not_there_is_told(capsys: Screen, body: Path) -> None:
    status = main(["probe", str(body), "--yes", "--upstream", "openai-chat=http://127.0.0.1:1"])
    assert status == 1
    assert "127.0.0.1 refused the connection" in capsys.readouterr().err


def test_the_request_comes_from_a_captured_folder_standard_input_or_a_file(
    probe: Probe, body: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "captured"
    folder.mkdir()
    (folder / "request.json").write_bytes(body.read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body.read_bytes())))
    assert probe(folder, "--yes")[0] == 0
    assert probe("-", "--yes")[0] == 0
    assert probe("--request", body, "--yes")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 2, "Give one request to measure"),
        (["{body}", "--request", "{body}"], 2, "Give one request to measure"),
        (["{session}"], 1, "is no request body"),
        (["{missing}"], 1, "There is no file"),
        (["{body}", "--dialect", "bedrock"], 2, "No upstream takes bedrock requests"),
        (
            ["{body}", "--dialect", "gemini", "--model", "m"],
            2,
            "The request is gemini, the upstream is given for openai-chat",
        ),
    ],
    ids=["nothing", "twice", "a session", "no file", "a shape without upstream", "another dialect"],
)
def test_what_cannot_be_measured_is_told(
    probe: Probe, body: Path, provider: FakeProvider, arguments: list[str], status: int, words: str
) -> None:
    names = {"{body}": str(body), "{session}": str(SESSION), "{missing}": str(body) + ".not"}
    code, _, err = probe(*(names.get(argument, argument) for argument in arguments), "--yes")
    assert code == status
    assert words in err
    assert len(provider.requests) == 0


def test_a_request_without_a_model_needs_one(probe: Probe, tmp_path: Path) -> None:
    path = tmp_path / "gemini.json"
    path.write_bytes(make_request("gemini", system="Be brief.").body)
    assert probe(path, "--yes", dialect="gemini")[0] == 2
    assert probe(path, "--yes", "--model", "gemini-3-flash", dialect="gemini")[0] == 0


def test_the_configured_upstream_is_asked_where_none_is_given(
    capsys: Screen, body: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__OPENAI_CHAT", provider.url)
    assert main(["probe", str(body), "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spent"]["calls"] == len(provider.requests) == 7


def test_a_name_that_would_steer_the_terminal_does_not(probe: Probe, tmp_path: Path) -> None:
    tools = [
        {"type": "function", "function": {"name": f"a\x1b[31m{number}", "parameters": {"type": "object"}}}
        for number in range(2)
    ]
    path = tmp_path / "odd.json"
    path.write_bytes(make_request("openai-chat", extra={"tools": tools}).body)
    status, out, err = probe(path, "--yes")
    assert status == 0
    assert "\x1b" not in out + err
    assert "\x1b" not in str(probe(path, "--yes", "--max-calls", "3"))


def test_the_tokens_told_before_hold_also_where_the_cap_is_ignored(
    probe: Probe, body: Path, provider: FakeProvider
) -> None:
    """Eight calls, the repeated first one included, each with as long an answer as is let pass."""
    *_, err = probe(body)
    told = re.search(r"by our estimate, ([\d,]+) tokens", err)
    assert told is not None
    assert int(told[1].replace(",", "")) > 8 * RUNAWAY_TOKENS
    provider.script.add(Rule(reply=Reply(text="word " * 150)))
    _, out, _ = probe(body, "--yes", "--json")
    spent = json.loads(out)["spent"]
    assert spent["output_tokens"] > spent["calls"] * 100
    assert spent["prompt_tokens"] + spent["output_tokens"] <= int(told[1].replace(",", ""))


@pytest.mark.parametrize("second", [5, 10])
def test_an_impossible_measurement_is_no_result(probe: Probe, body: Path, provider: FakeProvider, second: int) -> None:
    """No section is above the baseline: none is printed, and the status says so."""
    for prompt in (100, 100 - 10 + second, 100, 100, 100, 100, 900):
        provider.script.add(Rule(times=1, reply=Reply(usage=Usage(input_fresh=prompt, output=1))))
    status, out, _ = probe(body, "--yes")
    assert status == 1
    assert not re.search(r"System prompt +-?\d", out)
    assert "below the baseline" in out
    assert "! ended early: no section was measured" in out


def test_a_probe_pays_no_further_where_usage_is_missing(probe: Probe, body: Path, provider: FakeProvider) -> None:
    answer = b'{"object":"chat.completion","model":"m-1","choices":[]}'
    provider.script.add(Rule(times=1), Rule(reply=Reply(body=answer)))
    status, out, _ = probe(body, "--yes")
    assert status == 1
    assert len(provider.requests) == 2
    assert "! ended early: it reports no usage" in out
