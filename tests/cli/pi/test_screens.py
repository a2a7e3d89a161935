"""The screens of `/context …`, over a request that was planned and a session in which Pi has compacted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

from tests.cli.conftest import CALLS, NOW_MS, SESSIONS
from tests.cli.test_why import MEMORY, PIN, request
from ullage import __version__
from ullage.cli import main
from ullage.core.planning import plan
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.tail_records import TailChoice
from ullage.pi.address import Address, write_address
from ullage.sources.artifacts import ArtifactFiles, artifact_folder
from ullage.stores import ArtifactRecord, SqliteStore

SESSION = SESSIONS[0].id
MODEL = "anthropic/claude-opus-4-8"
PRIVACY = {
    "enabled": True,
    "destination": "remote",
    "provider": "anthropic",
    "allowed_classifications": ["normal", "internal"],
    "selected_classifications": {"normal": 5, "local-only": 1},
    "blocked_blocks": 1,
    "secret_redactions": 2,
    "excluded_sources": [{"kind": "pin", "id": "pin:1", "classification": "local-only"}],
    "provider_checks": 1,
    "enforcement": "context-and-provider",
}
PI_MODEL = {
    "provider": "anthropic",
    "id": "claude-opus-4-8",
    "api": "anthropic-messages",
    "context_window": 200_000,
    "max_tokens": 64_000,
    "input": 5.0,
    "output": 25.0,
    "cache_read": 0.5,
    "cache_write": 6.25,
}
CHEAP = {**PI_MODEL, "id": "claude-haiku-4-5", "input": 1.0, "output": 5.0, "cache_read": 0.1, "cache_write": 1.25}
SMALL = {**PI_MODEL, "id": "small", "context_window": 8_000}
HOST: dict[str, Any] = {
    "version": "1.6.0",
    "mode": "print",
    "apis": {"registerVirtualModel": True, "getSettings": True, "setWidget": False, "somethingNew": True},
    "trusted": True,
    "file": "/home/ada/.pi/agent/sessions/x.jsonl",
    "entries": 40,
    "branch": 31,
    "tokens": 84_512,
    "window": 200_000,
    "compaction": {"told": True, "enabled": True, "reserve_tokens": 16_384, "keep_recent_tokens": 20_000},
    "failed": {"at": "2026-05-28T20:16:40.000Z", "reason": "threshold", "message": "overloaded"},
    "summaries": [
        {"id": "bb22", "kind": "branch_summary", "at": "2026-05-28T20:22:40.000Z", "chars": 900, "on_branch": False},
        {
            "id": "aa11",
            "kind": "compaction",
            "at": "2026-05-28T20:20:40.000Z",
            "before": 181_000,
            "kept": "e30",
            "chars": 5_120,
            "cost": 0.0123,
        },
    ],
    "models": [PI_MODEL, CHEAP, SMALL],
}
Typed = Callable[..., str]


@pytest.fixture
def typed(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """What a line is answered with, in Pi as `HOST` has it."""
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    monkeypatch.setenv("COLUMNS", "100")

    def ask(line: str, *, name: str = "context", model: str = MODEL, status: int = 0, **more: Any) -> str:
        stdin = TextIOWrapper(BytesIO(json.dumps({**HOST, **more}).encode()))
        monkeypatch.setattr("sys.stdin", stdin)
        line_of = ["pi", "command", name, "--session", SESSION, "--model", model, "--host", "--", line]
        assert main(line_of) == status
        printed = capsys.readouterr()
        told = (printed.out + printed.err).replace(str(tmp_path), "").replace(__version__, "VERSION")
        return re.sub(r"schema \d+", "schema N", told)

    return ask


@pytest.fixture
def planned(data_dir: Path) -> None:
    """The newest request was managed; what it was about is recorded."""
    given = request(900, 45_000, 8_000, 21_000, 12_000, 9_000, 400, limit=70_000, supplements=(PIN, MEMORY))
    tail = TailChoice(
        mode="auto",
        first=4,
        tokens=21_400,
        reason="new-turn",
        moved=True,
        warm_prefix_tokens=5_100,
        calls=12,
        expected_usd=0.1234,
        rejected=None,
    )
    report = report_plan(
        plan(structs.replace(given, tail=4)), given, cache=to_builtins(tail), timings_ms={"plan": 3.25}
    )
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_session(SESSIONS[0])
    for call in (structs.replace(CALLS[0], breakdown=None, plan={**report, "privacy": PRIVACY}), *CALLS[1:3]):
        store.put_call(call)
    store.close()


@pytest.fixture
def kept_aside(data_dir: Path) -> None:
    """Two tool results were kept aside, one of which is lost."""
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    files = ArtifactFiles(artifact_folder(data_dir, None))
    for number, text in enumerate((b"kept" * 5_000, b"lost")):
        digest = files.put(text) if number == 0 else hashlib.sha256(text).hexdigest()
        store.put_artifact(
            ArtifactRecord(
                id=f"{number}a" * 16,
                session=SESSION,
                used_ms=NOW_MS - number,
                sha256=digest,
                size_bytes=len(text),
                chars=len(text),
                tool="bash",
                tokens_before=12_523,
                tokens_after=1_456,
            )
        )
    store.close()


@pytest.mark.usefixtures("planned")
@pytest.mark.parametrize(
    "line",
    ["status", "tokens", "explain", "included", "excluded", "summaries", "compaction", "compact-preview", "adapter"],
)
def test_a_screen(typed: Typed, golden: Callable[[str, str], None], line: str) -> None:
    golden(f"pi_{line.replace('-', '_')}.txt", typed(line))


@pytest.mark.usefixtures("planned")
def test_a_manifest_ends_with_the_plan_in_figures(typed: Typed) -> None:
    *_, limits, composition, inventory = typed("manifest").splitlines()
    assert limits.split() == ["limits", "target", "70,000,", "hard", "70,000"]
    assert "current 1 (~400)" in composition and "pin 1 (~60)" in composition
    assert inventory.split() == ["inventory", "complete"]
    assert json.loads(typed("manifest --json"))["id"] == CALLS[0].id


@pytest.mark.usefixtures("planned")
def test_privacy_tells_destination_classes_counts_and_where_it_is_enforced(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Privacy is off" in typed("privacy")
    monkeypatch.setenv("ULLAGE_PRIVACY__ENABLED", "true")
    told = typed("privacy")
    for part in (
        "destination  anthropic, remote",
        "allowed      normal, internal",
        "classes      normal 5, local-only 1",
        "withheld     1 texts by class, 2 secrets, 1 not added",
        "enforcement  context-and-provider, 1 checks of what left",
    ):
        assert part in told
    assert "privacy         on, context-and-provider: 1 withheld, 2 redacted" in typed("status")


@pytest.mark.usefixtures("planned", "kept_aside")
def test_artifacts_are_told_with_those_that_are_lost(typed: Typed) -> None:
    told = typed("artifacts")
    assert "objects     2, 19.5 KiB" in told and "references  2" in told and "missing     1 or corrupt" in told
    assert "latest      ~12,523 tokens became ~1,456" in told
    assert [line.split()[5] for line in told.splitlines()[-2:]] == ["ok", "missing"]
    assert "WARN: 1 tool result kept aside cannot be read any more" in typed("health")


@pytest.mark.usefixtures("planned")
def test_storage_and_health_tell_of_the_databases(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    told = typed("storage")
    assert "0 to look at, 0 broken" in told and "Records stay for 90 days" in told
    assert typed("health").startswith("OK\n")
    monkeypatch.setenv("ULLAGE_MODE", "sometimes")
    assert typed("health").startswith("WARN: $ULLAGE_MODE: mode must be")


@pytest.mark.usefixtures("planned")
def test_who_writes_a_summary_is_told_by_the_rules_of_routes(typed: Typed) -> None:
    own, chosen = typed("compact-preview"), typed("compact-preview", model="ullage/auto")
    # 64,512 tokens and a summary of 4,096: at 5 and 25 USD per million, and at 1 and 5
    assert "anthropic/claude-opus-4-8 would write it for $0.4250 at most" in own
    assert "anthropic/claude-haiku-4-5 would write it for $0.0850 at most" in chosen
    assert "anthropic/claude-opus-4-8 would for $0.4250" in chosen
    assert "No model has room" in typed("compact-preview", model="ullage/auto", models=[SMALL])
    assert "Pi has not told" in typed("compact-preview", models=[])
    assert "whichever fitting model" in typed("compaction", model="ullage/auto")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"tokens": 12_000}, "nothing to compact"),
        ({"tokens": None}, "not known yet"),
        ({"compaction": {}}, "does not say how much it keeps"),
    ],
)
def test_nothing_is_made_up_of_a_compaction(typed: Typed, more: dict[str, Any], told: str) -> None:
    assert told in typed("compact-preview", **more)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"compacting": True}, "under way"),
        ({"compaction": {"enabled": False, "reserve_tokens": 1}}, "does not compact by itself"),
        ({"compaction": {}}, "does not say when"),
        ({"tokens": None}, "does not know yet"),
        ({"tokens": 190_000}, "due with the next prompt"),
    ],
)
def test_whether_a_compaction_is_due_is_told(typed: Typed, more: dict[str, Any], told: str) -> None:
    assert told in typed("compaction", **more)


def test_an_older_pi_does_not_tell_its_settings(typed: Typed) -> None:
    told = typed("compaction", compaction={**HOST["compaction"], "told": False}, failed=None, summaries=[])
    assert "these are Pi's defaults" in told and "none since Pi began" in told
    assert "Nothing is summarised" in typed("summaries", summaries=[])


def test_what_pi_says_may_make_no_sense(typed: Typed) -> None:
    assert "of an unknown version" in typed("adapter", entries="many")
    assert "cannot be read" in typed("models", name="auto-model", status=2, models=[{"no": "model"}])


@pytest.mark.usefixtures("planned")
def test_the_models_of_pi_are_those_that_may_be_chosen_and_pinned(typed: Typed) -> None:
    assert typed("models", name="auto-model").splitlines()[0].startswith("anthropic/")
    assert typed("providers", name="auto-model").splitlines() == ["anthropic"]
    assert f"{MODEL} is pinned" in typed(f"pin {MODEL}", name="auto-model")
    assert "There is no target" in typed("pin openai/gpt-5", name="auto-model", status=2)
    assert "Nothing was sent." in typed("plan it's a test", name="auto-model")
    assert typed("doctor", name="auto-model").splitlines()[-2:] == [
        "apis        anthropic-messages (3)",
        "retries     Pi, which asks for another target when it repeats a request",
    ]
    assert "ullage, within the same request" in typed("doctor", name="auto-model", apis={})


def test_routes_are_not_said_to_be_on_where_a_model_was_selected(typed: Typed) -> None:
    assert f"activation  off (manual): {MODEL} is selected; /auto-model on" in typed("status", name="auto-model")
    assert "activation  on" in typed("status", name="auto-model", model="ullage/auto")
    for line in (f"pin {MODEL}", "thinking pi", "pool off"):
        assert f"Nothing is routed while {MODEL} is selected" in typed(line, name="auto-model")
        assert "Nothing is routed" not in typed(line, name="auto-model", model="ullage/auto")
    assert "Nothing is routed" not in typed("thinking", name="auto-model")


def test_the_mode_is_that_of_the_daemon_whatever_the_settings_of_the_folder_say(typed: Typed, data_dir: Path) -> None:
    write_address(data_dir, Address(url="http://127.0.0.1:9", token_file="", mode="managed"))
    assert "active, mode managed; settings here say observe" in typed("status")
    assert "degraded, extension and daemon do not fit" in typed("status", problem="extension and daemon do not fit")


def test_a_request_that_was_not_sent_is_told_as_such(typed: Typed, data_dir: Path) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_session(SESSIONS[0])
    store.put_call(structs.replace(CALLS[0], usage=None, outcome="answered", status=402))
    store.close()
    assert re.search(r"newest request .* tokens, not sent$", typed("status"), re.MULTILINE)


@pytest.mark.usefixtures("planned")
def test_pins_and_memory_of_session_and_project_are_told(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cellar"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert "Nothing is pinned here" in typed("pins")
    typed("pin never push")
    typed("pin --scope project --classification internal --source e1 --file a.md 'use  tabs'")
    rows = typed("pins").splitlines()
    assert sorted(row.split()[1:5] for row in rows[1:]) == [
        ["active", "project", "-", "internal"],
        ["active", "session", "-", "normal"],
    ]
    assert any("e1, a.md" in row for row in rows)
    typed("memory add Build runner = vitest")
    assert "build-runner" in typed("memory")
    sources = typed("memory sources").splitlines()
    assert sources[1].startswith(f"{SESSION}  told to others")
    assert "is excluded" in typed(f"memory exclude {SESSION[:9]} it was a test")
    assert "excluded: it was a test" in typed("memory sources")
    assert "is told to others" in typed(f"memory include {SESSION[:9]}")
    monkeypatch.chdir(tmp_path)
    assert len(typed("pins").splitlines()) == 2, "of another folder only the session's own are told"
    typed(f"unpin {typed('pins').splitlines()[1].split()[0]} it was wrong")
    assert "1 item that ended: /context pins all" in typed("pins")
    assert "it was wrong" in typed("pins all")
    assert "2 pins" not in typed("status")
