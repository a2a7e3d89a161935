"""`--exact` of `ullage count` and `ullage context` against the fake provider over real sockets."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli import main
from ullage.core.wire import Dialect
from ullage.testing import FakeProvider, Fault, Reply, Rule, make_prose, make_request, make_tools, run_in_thread

Screen = pytest.CaptureFixture[str]
SECRET = "sk-ant-very-secret-key-0123456789"
SESSION = Path(__file__).parents[1] / "golden" / "views" / "session.in.jsonl"
COUNTED: tuple[tuple[str, Dialect, str], ...] = (
    ("openai", "openai-responses", "OPENAI_API_KEY"),
    ("anthropic", "anthropic", "ANTHROPIC_API_KEY"),
    ("google", "gemini", "GEMINI_API_KEY"),
)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the machine that runs the tests are out of reach."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """The upstream of every dialect, as the user's environment names it."""
    with run_in_thread(FakeProvider()) as provider:
        for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
            monkeypatch.setenv(f"ULLAGE_UPSTREAMS__{name}", provider.url)
        yield provider


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)


def write(tmp_path: Path, dialect: Dialect = "anthropic", **more: Any) -> Path:
    request = make_request(
        dialect,
        model="m-1",
        turns=(make_prose(300),),
        tools=make_tools(3),
        system=make_prose(800, 1),
        stream=True,
        extra=more,
    )
    path = tmp_path / f"{dialect}.json"
    path.write_bytes(request.body)
    return path


@pytest.fixture
def body(tmp_path: Path) -> Path:
    return write(tmp_path)


def call(capsys: Screen, *arguments: str | Path) -> tuple[int, str, str]:
    status = main([*map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(("name", "dialect", "variable"), COUNTED)
def test_a_request_is_counted_by_each_provider(
    capsys: Screen,
    provider: FakeProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    dialect: Dialect,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, SECRET)
    arguments = ("count", write(tmp_path, dialect), "--exact", "--provider", name, "--model", "m-1", "--json")
    status, out, err = call(capsys, *arguments)
    data: dict[str, Any] = msgspec.json.decode(out)
    assert status == 0
    assert (data["tokens"], data["low"], data["high"]) == (data["exact"]["tokens"],) * 3
    assert data["method"] == f"preflight: {name}"
    exact = data["exact"]
    assert (exact["provider"], exact["method"], exact["coverage"]) == (name, "preflight", "full-request")
    assert exact["estimate"]["tokens"] == sum(section["tokens"] for section in data["sections"])
    assert len(provider.requests) == 1
    assert re.search(rf"with \${variable} for 1 count \(of at most 64\), [\d,]+ characters$", err, re.MULTILINE)


def test_a_count_is_told_for_people_beside_the_estimate(
    capsys: Screen, provider: FakeProvider, key: None, body: Path
) -> None:
    status, out, _ = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert status == 0
    assert re.match(r"[\d,]+ tokens for m-1, counted by anthropic\nestimated here: ~[\d,]+ \([\d.]+ % too ", out)
    assert "left out, since the endpoint does not take it: max_tokens, stream" in out


def test_every_section_of_a_context_is_counted(capsys: Screen, provider: FakeProvider, key: None, body: Path) -> None:
    status, out, _ = call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")
    data: dict[str, Any] = msgspec.json.decode(out)
    assert status == 0
    assert sum(section["tokens"] for section in data["sections"]) + data["gap"] == data["total"]
    assert (data["total"], data["total_method"]) == (data["exact"]["tokens"], "preflight")
    isolation = data["exact"]["isolation"]
    rows = {section["id"]: section["tokens"] for section in data["sections"]}
    assert (rows["system"], rows["tools"]) == (isolation["system"], isolation["tools"])
    assert isolation["system"] + isolation["tools"] + isolation["rest"] == isolation["full"] == data["total"]
    assert [cost["name"] for cost in isolation["tool_costs"]] == ["bash", "tool_1", "tool_2"]
    assert isolation["denominators"]["text"] == pytest.approx(4, abs=0.1)
    assert (data["exact"]["counts"], data["exact"]["cached"]) == (7, 0)


def test_a_counted_context_is_drawn_with_its_counts(
    capsys: Screen, provider: FakeProvider, key: None, body: Path
) -> None:
    status, out, err = call(capsys, "context", body, "--exact", "--provider", "anthropic")
    assert status == 0
    assert "Total session" in out
    assert "counted" in out
    assert re.search(r"^Counted by anthropic +tokens$", out, re.MULTILINE)
    assert re.search(r"^System prompt +20\d  ", out, re.MULTILINE)
    assert "for 7 counts (of at most 64), " in err


def test_what_was_counted_is_not_asked_again_and_needs_no_key(
    capsys: Screen, provider: FakeProvider, key: None, body: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    again = call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")
    assert len(provider.requests) == 7
    assert again[2] == "ullage: nothing is sent: 7 counts known from before\n"
    one, two = (msgspec.json.decode(shown[1]) for shown in (first, again))
    assert two["exact"].pop("cached") == 7
    assert one["exact"].pop("cached") == 0
    assert one == two


def test_the_cache_is_the_users_alone_and_holds_no_text(
    capsys: Screen, provider: FakeProvider, key: None, tmp_path: Path
) -> None:
    call(capsys, "count", write(tmp_path), "--exact", "--provider", "anthropic")
    file = Path(os.environ["XDG_CACHE_HOME"]) / "ullage" / "counts.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"parser" not in file.read_bytes()


def test_without_the_flag_nothing_is_asked(capsys: Screen, provider: FakeProvider, key: None, body: Path) -> None:
    assert call(capsys, "count", body, "--provider", "anthropic")[0] == 0
    assert call(capsys, "context", body, "--provider", "anthropic")[0] == 0
    assert len(provider.requests) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["count", "{body}", "--exact"], 2, "the shape of a request does not tell which one"),
        (["context", "{body}", "--exact"], 2, "the shape of a request does not tell which one"),
        (["count", "{body}", "--exact", "--provider", "openai"], 2, "openai counts openai-responses requests only"),
        (
            ["count", "{body}", "--exact", "--provider", "mistral"],
            2,
            "'mistral' has no count endpoint that is known here",
        ),
        (["count", "--batch", "{body}", "--exact"], 2, "--exact and --batch exclude each other"),
        (["context", "{session}", "--exact", "--provider", "anthropic"], 1, "--exact needs a request as it was sent"),
        (["context", "--exact", "--provider", "anthropic"], 1, "--exact needs a request as it was sent"),
    ],
)
def test_what_cannot_be_counted_is_told(
    capsys: Screen, provider: FakeProvider, key: None, body: Path, arguments: list[str], status: int, words: str
) -> None:
    names = {"{body}": str(body), "{session}": str(SESSION)}
    code, out, err = call(capsys, *(names.get(argument, argument) for argument in arguments))
    assert (code, out) == (status, "")
    assert words in err
    assert "hint: " in err
    assert len(provider.requests) == 0


def test_a_missing_key_is_told_before_anything_is_sent(capsys: Screen, provider: FakeProvider, body: Path) -> None:
    status, out, err = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert (status, out) == (2, "")
    assert err == "ullage: There is no key of anthropic.\nhint: Set ANTHROPIC_API_KEY.\n"
    assert len(provider.requests) == 0


def test_a_missing_model_is_told(capsys: Screen, provider: FakeProvider, tmp_path: Path) -> None:
    path = write(tmp_path, "gemini")
    status, _, err = call(capsys, "count", path, "--exact", "--provider", "google")
    assert (status, "hint: Name it with --model." in err) == (2, True)


def test_a_key_is_not_sent_to_another_provider(
    capsys: Screen, key: None, body: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAMS__ANTHROPIC", "https://openrouter.ai/api")
    status, _, err = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert status == 2
    assert "openrouter.ai is openrouter, and a key of anthropic is not sent there" in err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(status=400, message="messages: bad"), "rejects the request (400): messages: bad"),
        (Fault(status=401), "does not accept $ANTHROPIC_API_KEY (401)"),
        (Fault(status=403), "does not allow this with $ANTHROPIC_API_KEY (403)"),
        (Fault(status=404), "does not know this endpoint or this model (404)"),
        (Fault(status=429, retry_after_s=9), "hint: It names 9 s."),
        (Fault(status=500), "answers with status 500"),
        (Fault(hang_up=True), "closed the connection before its answer was whole"),
        (Fault(empty=True), "answered, but not with a count"),
    ],
    ids=["400", "401", "403", "404", "429", "500", "hang up", "empty"],
)
@pytest.mark.parametrize("command", ["count", "context"])
def test_every_fault_of_the_provider_is_told_in_a_line(
    capsys: Screen, provider: FakeProvider, key: None, body: Path, command: str, fault: Fault, words: str
) -> None:
    provider.script.add(Rule(route="count", fault=fault))
    status, out, err = call(capsys, command, body, "--exact", "--provider", "anthropic")
    assert (status, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_a_provider_that_stays_silent_is_given_up(
    capsys: Screen, provider: FakeProvider, key: None, body: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_UPSTREAM__IDLE_TIMEOUT_S", "0.2")
    provider.script.add(Rule(route="count", fault=Fault(delay_ms=5_000)))
    status, _, err = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert (status, "did not answer in time" in err) == (1, True)


def test_an_answer_that_cannot_be_true_is_shown_as_refused(
    capsys: Screen, provider: FakeProvider, key: None, body: Path
) -> None:
    """Accounting specification, section 19, item 28: the estimate stays what it is."""
    provider.script.add(Rule(route="count", reply=Reply(body=b'{"input_tokens":1}')))
    status, out, _ = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert status == 1
    assert out.startswith("~")
    assert "! anthropic's count is refused (full): a count of 1 is too low for" in out
    status, out, _ = call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")
    data = msgspec.json.decode(out)
    assert (status, data["total_kind"], data["exact"]["tokens"]) == (1, "estimate", None)
    assert {row["id"] for row in data["exact"]["refused"]} >= {"full", "tools", "tool:bash"}


def test_a_request_that_the_endpoint_takes_only_in_part_gets_no_total(
    capsys: Screen, provider: FakeProvider, key: None, tmp_path: Path
) -> None:
    body = write(tmp_path, mcp_servers=[{"type": "url", "url": "https://example.com"}])
    status, out, _ = call(capsys, "count", body, "--exact", "--provider", "anthropic")
    assert status == 0
    assert out.startswith("~")
    assert re.search(
        r"^! Counted without `mcp_servers`: [\d,]+ tokens, which is no count of the whole request\.$", out, re.MULTILINE
    )
    status, out, _ = call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")
    data = msgspec.json.decode(out)
    assert (data["total_kind"], data["exact"]["coverage"]) == ("estimate", "partial-request")


def test_bedrock_is_built_and_not_sent(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "bedrock.json"
    path.write_bytes(b'{"messages":[{"role":"user","content":[{"text":"Hello."}]}],"inferenceConfig":{"maxTokens":9}}')
    arguments = ("count", path, "--exact", "--provider", "bedrock", "--model", "anthropic.claude-opus-4-8-v1:0")
    status, out, err = call(capsys, *arguments)
    assert (status, err) == (0, "")
    assert "! Built and not sent:" in out
    data = msgspec.json.decode(call(capsys, *arguments, "--json")[1])
    assert data["exact"]["sent"] is False
    assert data["exact"]["request"]["path"] == "/model/anthropic.claude-opus-4-8-v1%3A0/count-tokens"
    assert list(data["exact"]["request"]["body"]["input"]["converse"]) == ["messages"]


def test_the_key_is_shown_nowhere(
    capsys: Screen,
    provider: FakeProvider,
    key: None,
    body: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not in output, errors, tracebacks, logs or any file, also where the provider repeats it."""
    monkeypatch.setenv("ULLAGE_DEBUG", "1")
    caplog.set_level(logging.DEBUG)
    shown = [call(capsys, "context", body, "--exact", "--provider", "anthropic", "--json")]
    message = f"invalid x-api-key {SECRET}"
    provider.script.add(Rule(route="count", fault=Fault(status=401, message=message)))
    shown.append(call(capsys, "count", body, "--exact", "--provider", "anthropic", "--model", "m-2"))
    assert [status for status, _, _ in shown] == [0, 1]
    assert all(received.header("x-api-key") == SECRET for received in provider.requests)
    assert "invalid x-api-key [key]" in shown[1][2]
    assert SECRET not in str(shown) + caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "counts.db" for path in files)
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
    assert not any(SECRET.encode() in received.body for received in provider.requests)
