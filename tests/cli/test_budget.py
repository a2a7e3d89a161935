"""`ullage budget`: what is shown, what is set for a session, and what is taken over from Pi Auto Model."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.cli.conftest import NOW_MS
from ullage.cli import main
from ullage.core.spend import NO_LIMITS, Spend
from ullage.engine.pricing import local_day
from ullage.pi.address import Address, write_address
from ullage.stores import SessionRecord, SqliteStore

USD = 1_000_000_000
DAY = local_day(NOW_MS)
HOUR_MS = 3_600_000
SETTINGS = """
[budget]
daily_usd = 5
task_usd = 0.5
on_exceed = "block"

[budget.providers.anthropic]
monthly_usd = 40
on_exceed = "avoid"
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(SETTINGS)
    return file


def spend(name: str, usd: float, **fields: Any) -> Spend:
    common: dict[str, Any] = {
        "at_ms": NOW_MS,
        "day": DAY,
        "provider": "openai",
        "model": "gpt-5",
        "session": "s1-long-id",
    }
    return Spend(id=name, estimate=round(usd * USD), **(common | fields))


@pytest.fixture
def spent(config: Path, data_dir: Path) -> None:
    """A database in which one call has cost 1.25 USD, another may have cost half a dollar, and a third is being answered."""
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_session(SessionRecord(id="s1-long-id", client="pi", identity="client", started_ms=NOW_MS, last_ms=NOW_MS))
    store.ledger.book(spend("a", 2.0, at_ms=NOW_MS - HOUR_MS), 5 * USD // 4, at_ms=NOW_MS)
    store.ledger.reserve(NO_LIMITS, spend("b", 0.5))
    store.ledger.settle("b", None, at_ms=NOW_MS)
    store.ledger.reserve(NO_LIMITS, spend("c", 1.0, provider="anthropic", model="claude-x"))
    store.ledger.book(Spend(id="d", at_ms=NOW_MS, day=DAY, provider="openai", model="new"), None, at_ms=NOW_MS)
    store.close()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def rows(run: Run) -> dict[str, dict[str, Any]]:
    status, out, _ = run("budget", "--json")
    assert status == 0
    return {one["name"]: one for one in json.loads(out)["rows"]}


@pytest.mark.usefixtures("spent")
def test_every_limit_is_shown_with_what_is_spent_and_reserved(run: Run) -> None:
    status, out, _ = run("budget")
    assert status == 0
    shown = {line.split("  ")[0]: line.split() for line in out.splitlines()}
    assert shown["task"][1:] == [
        "each",
        "turn",
        "-",
        "-",
        "-",
        "/",
        "$0.50",
        "-",
        "block",
        "with",
        "your",
        "next",
        "prompt",
    ]
    assert shown["session"][1:7] == ["s1-long-", "~$1.75", "$1.00", "$2.75", "/", "-"]
    tomorrow = ["at", "2026-05-29", "00:00"]
    assert shown["daily"][1:] == [DAY, "~$1.75", "$1.00", "$2.75", "/", "$5.00", "$2.25", "block", *tomorrow]
    assert shown["anthropic monthly"][2:] == [
        *("2026-05", "$0.00", "$1.00", "$1.00", "/", "$40.00", "$39.00", "avoid", "at", "2026-06-01", "00:00")
    ]
    assert "Reserved for calls that are being answered:" in out
    assert "anthropic/claude-x" in out
    assert "1 call of this month has no known price: no limit can hold for that." in out
    assert "Days and months are those of " in out


@pytest.mark.usefixtures("spent")
def test_hours_in_which_something_was_spent_are_told(run: Run) -> None:
    status, out, _ = run("budget", "--json")
    told = json.loads(out)
    assert status == 0
    assert [one["usd"] for one in told["hours"]] == [1.25, 1.5]
    assert [one["target"] for one in told["reserved"]] == ["anthropic/claude-x"]
    assert (told["session"], told["on_exceed"]) == ("s1-long-id", "block")


@pytest.mark.usefixtures("config")
def test_where_nothing_was_spent_the_limits_are_shown(run: Run) -> None:
    told = rows(run)
    assert told["daily"]["left_usd"] == 5.0
    assert "session" not in told


class Daemon(BaseHTTPRequestHandler):
    """Says what holds where somebody asks with its token."""

    asked: ClassVar[list[tuple[str, str | None]]] = []
    told: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["authorization"]))
        body = json.dumps(self.told).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.usefixtures("spent")
def test_the_limits_that_are_shown_are_those_of_the_running_daemon(run: Run, config: Path, data_dir: Path) -> None:
    """It may have been started with other settings than those of the user's file, here with `--config`."""
    config.write_text("")
    assert f"No limit is set by {config};" in run("budget")[1]
    Daemon.told = {**json.loads(run("budget", "--json")[1]), "on_exceed": "block", "rows": []}
    daily = {"name": "daily", "window": DAY, "limit_usd": 7.0, "on_exceed": "block", "frees": "at night"}
    Daemon.told["rows"] = [{**daily, "used_usd": 1.0, "spent_usd": 1.0, "estimated_usd": 0.0, "reserved_usd": 0.0}]
    Daemon.told["rows"][0] |= {"imported_usd": 0.0, "left_usd": 6.0, "calls": 1, "unpriced": 0}
    token = data_dir / "token"
    token.write_text("secret\n")
    with HTTPServer(("127.0.0.1", 0), Daemon) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        write_address(data_dir, Address(url=f"http://127.0.0.1:{server.server_port}", token_file=str(token)))
        status, out, _ = run("budget")
        server.shutdown()
    assert (status, "$1.00 / $7.00" in out, "No limit is set" in out) == (0, True, False)
    assert Daemon.asked == [("/ullage/v1/budget?session=s1-long-id", "Bearer secret")]
    assert f"No limit is set by {config};" in run("budget")[1]


@pytest.mark.usefixtures("spent")
def test_a_session_may_have_limits_of_its_own_and_lose_them_again(run: Run) -> None:
    assert run("budget", "set", "--usd", "2")[1] == "session s1-long-: session_usd = 2.0.\n"
    assert run("budget", "set", "--session", "s1-l", "--on-exceed", "warn")[0] == 0
    assert (rows(run)["session"]["limit_usd"], rows(run)["session"]["on_exceed"]) == (2.0, "warn")
    assert "Session s1-long- has its own: session_usd = 2.0, on_exceed = warn." in run("budget")[1]
    assert run("budget", "clear")[1] == "session s1-long-: the settings hold.\n"
    assert rows(run)["session"]["limit_usd"] is None


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "arguments", [("set",), ("set", "--usd", "-1"), ("set", "--on-exceed", "stop"), ("set", "--usd", "1")]
)
def test_what_makes_no_sense_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    status, _, err = run("budget", *arguments)
    assert status == 2
    assert err.startswith("ullage: ")


BUDGET_FILE: dict[str, Any] = {
    "version": 1,
    "updatedAt": NOW_MS,
    "usage": {
        "dayKey": DAY,
        "monthKey": DAY[:7],
        "sessionKey": "pi-1",
        "sessionUsd": 0.5,
        "sessions": {"pi-1": 0.5, "pi-2": "much"},
        "dailyUsd": 2.5,
        "monthlyUsd": 12.25,
        "providers": {"anthropic": {"dailyUsd": 2, "monthlyUsd": 10}, "broken": 3},
        "history": [
            {"startAt": NOW_MS // HOUR_MS * HOUR_MS, "usd": 0.75, "providers": {"anthropic": 0.75}},
            {"startAt": "yesterday", "usd": 1},
        ],
    },
}
METRICS_FILE: dict[str, Any] = {
    "version": 3,
    "targets": {},
    "buckets": {
        str(start): {"startAt": start, "estimatedCostUsd": usd}
        for start, usd in ((NOW_MS // HOUR_MS * HOUR_MS, 9.0), (NOW_MS // HOUR_MS * HOUR_MS - HOUR_MS, 0.25))
    },
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    names = tmp_path / "budget.json", tmp_path / "metrics.json"
    for file, content in zip(names, (BUDGET_FILE, METRICS_FILE), strict=True):
        file.write_text(json.dumps(content))
    return str(names[0]), str(names[1])


@pytest.mark.usefixtures("spent")
def test_what_pi_auto_model_has_spent_counts_beside_what_is_spent_here(run: Run, files: tuple[str, str]) -> None:
    status, out, _ = run("budget", "import", *files)
    assert status == 0
    assert out.splitlines() == [
        "7 sums are taken over, 7 of them new; `ullage budget` shows them.",
        f"Left out: {files[0]}: usage.sessions.pi-2 'much' is no amount.",
        f"Left out: {files[0]}: usage.providers.broken is no object.",
        f"Left out: {files[0]}: usage.history[1] is no hour.",
    ]
    told = rows(run)
    assert (told["daily"]["used_usd"], told["daily"]["imported_usd"], told["daily"]["left_usd"]) == (5.25, 2.5, 0.0)
    assert told["monthly"]["imported_usd"] == 12.25
    assert told["anthropic monthly"]["used_usd"] == 11.0
    hours = json.loads(run("budget", "--json")[1])["hours"]
    assert [one["usd"] for one in hours] == [1.5, 2.25]


@pytest.mark.usefixtures("spent")
def test_what_is_imported_again_is_not_counted_twice(run: Run, files: tuple[str, str]) -> None:
    run("budget", "import", *files)
    assert run("budget", "import", *files)[1].startswith("All 7 sums are known already.")
    assert rows(run)["daily"]["imported_usd"] == 2.5


@pytest.mark.usefixtures("config")
def test_without_a_name_the_files_of_its_own_folder_are_read(run: Run) -> None:
    status, _, err = run("budget", "import")
    assert status == 1
    assert "There is no budget.json in " in err
    folder = Path(os.environ["HOME"]) / ".pi" / "agent" / "auto-model"
    folder.mkdir(parents=True)
    (folder / "budget.json").write_text(json.dumps(BUDGET_FILE))
    assert json.loads(run("budget", "import", "--json")[1])["sums"] == 6


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not JSON"),
        ("[]", "holds no JSON object"),
        ('{"policy": "cost"}', "is neither a budget.json nor a metrics.json"),
    ],
)
def test_a_file_that_is_none_of_its_is_refused(run: Run, tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "file.json"
    file.write_text(text)
    status, _, err = run("budget", "import", str(file))
    assert status == 1
    assert told in err


@pytest.mark.usefixtures("config")
def test_a_version_that_nobody_knows_is_left_out_and_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "budget.json"
    file.write_text(json.dumps({**BUDGET_FILE, "version": 7}))
    told = json.loads(run("budget", "import", str(file), "--json")[1])
    assert told == {"sums": 0, "changed": 0, "notes": [f"{file}: version 7 is not known"]}


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize(
    "usage", [{"dayKey": "someday", "monthKey": None, "dailyUsd": 1}, {"dayKey": DAY, "dailyUsd": -1}]
)
def test_sums_without_a_day_or_below_zero_are_left_out(run: Run, tmp_path: Path, usage: dict[str, Any]) -> None:
    file = tmp_path / "budget.json"
    file.write_text(json.dumps({"version": 1, "usage": usage}))
    told = json.loads(run("budget", "import", str(file), "--json")[1])
    assert told["sums"] == 0
    assert len(told["notes"]) == 2


@pytest.mark.usefixtures("spent")
def test_the_doctor_says_where_no_limit_can_hold(run: Run, config: Path) -> None:
    _, out, _ = run("doctor")
    (line,) = [line for line in out.splitlines() if line.split()[1:2] == ["Budget"]]
    assert line.startswith("warn")
    assert "task 0.50 USD (block); daily 2.75 of 5.00 USD (block); anthropic monthly 1.00 of 40.00 USD (avoid)" in line
    assert "1 of this month's calls had no known price" in out
    config.write_text("[budget]\ndaily_usd = 2\n")
    assert "Used up: daily. `ullage budget` says when it frees." in run("doctor")[1]
    config.write_text("")
    assert "Budget" not in run("doctor")[1]
