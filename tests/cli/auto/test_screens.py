"""Screens of `ullage auto`, `history` and `quota` over a database of routed calls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.cli.auto.routed import ATTIC, CELLAR, DEBUG, RULES, routed_call, weighed
from tests.cli.conftest import NOW_MS
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.cli import main
from ullage.core.health import classify
from ullage.engine.health import Health, Outcome, no_spread
from ullage.engine.key_names import keep_key_names
from ullage.engine.quota import KEPT_UNDER
from ullage.settings.credentials import Credential
from ullage.settings.providers import Provider
from ullage.stores import RouteOverride, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Run, Tell

    Golden = Callable[[str, str], None]

QUOTAS = """
[routing.quota.providers.anthropic]
max_usd = 10
max_requests = 40
[routing.quota.providers.openai]
max_usd = 5
"""
SCREENS = {
    "auto_status": ("auto",),
    "auto_status_of_all": ("auto", "status", "--default"),
    "auto_why": ("auto", "why"),
    "auto_task": ("auto", "task"),
    "auto_models": ("auto", "models"),
    "auto_providers": ("auto", "providers"),
    "auto_pool": ("auto", "pool"),
    "auto_mode": ("auto", "mode"),
    "auto_thinking": ("auto", "thinking"),
    "auto_rules": ("auto", "rules"),
    "auto_plan": ("auto", "plan", "Debug this failing test"),
    "auto_metrics": ("auto", "metrics"),
    "auto_doctor": ("auto", "doctor"),
    "history": ("history",),
}


@pytest.mark.parametrize("name", SCREENS)
def test_screens(name: str, run: Run, routed: None, config: Path, golden: Golden) -> None:
    config.write_text(config.read_text() + RULES)
    status, out, err = run(*SCREENS[name])
    assert (status, err) == (0, "")
    golden(f"{name}.txt", out)


def test_quotas_are_a_table(run: Run, tell: Tell, routed: None, config: Path, data_dir: Path, golden: Golden) -> None:
    config.write_text(config.read_text() + QUOTAS)
    window = NOW_MS - NOW_MS % 86_400_000
    known = {
        "anthropic": {"tallies": {"a": {"window_start_ms": window, "requests": 36, "usd": 4.5}}},
        "google": {"retry_at_ms": NOW_MS + 600_000, "refused_ms": NOW_MS, "reason": "rate-limit"},
    }
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    for provider, value in known.items():
        store.put_route_override(RouteOverride(session=KEPT_UNDER, key=provider, value=value, at_ms=NOW_MS))
    store.close()
    golden("quota.txt", run("quota")[1])
    assert [one["provider"] for one in tell("quota")["providers"]] == ["anthropic", "google", "openai"]


def test_doctors_tell_circuits(run: Run, tell: Tell, routed: None, config: Path, data_dir: Path) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    health = Health(store, store, jitter=no_spread)
    for target, status, count in ((LIGHT, 429, 1), (STRONG, 503, 1), (FRONTIER, 503, 2)):
        for _ in range(count):
            asked_ms = NOW_MS - 90_000 * (target == FRONTIER)
            health.note(Outcome(target=target, asked_ms=asked_ms, at_ms=asked_ms, failure=classify(status)))
    health.note_sent(FRONTIER, NOW_MS)
    store.close()
    lines = [line for line in run("auto", "doctor")[1].splitlines() if line.startswith("circuit ")]
    assert lines == [
        f"circuit     {LIGHT}: open until 2026-05-28T20:27:40.000Z; it opened once",
        f"circuit     {FRONTIER}: a request is trying it; it opened once",
        f"circuit     {STRONG}: closed, it failed lately",
    ]
    told = tell("auto", "doctor")
    assert [one["state"] for one in told["circuits"]] == ["open", "half-open", "closed"]
    codes = {one["target"]: (one["excluded"] or {}).get("code") for one in told["candidates"]}
    assert codes == {LIGHT: "circuit-open", FRONTIER: "circuit-open", STRONG: None}
    assert tell("auto", "models")["models"] == [STRONG]


def test_what_staying_and_leaving_cost_is_told_as_why_tells_it(
    data_dir: Path, config: Path, run: Run, tell: Tell
) -> None:
    switch = {"current": STRONG, "other": LIGHT, "stay_usd": 0.3, "switch_usd": 0.1, "cache_loss_usd": 0.01}
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_call(routed_call(1, DEBUG, STRONG, 4, route={**weighed(STRONG, LIGHT), "switch": switch}))
    store.put_call(routed_call(2, DEBUG, STRONG, 3, route={"reason": "continuation", "kept": True}))
    store.close()
    line = f"Staying at {STRONG} was taken to cost $0.3000 for the rest of the task, leaving for {LIGHT} $0.1000"
    assert f"{line}, of which $0.0100 fill its cache." in run("auto", "why")[1].splitlines()
    assert tell("auto", "why")["route"]["switch"] == switch


def test_without_quotas_that_is_said(run: Run, config: Path) -> None:
    assert run("quota")[:2] == (0, "Nothing is known of any provider's quota yet.\n")
    config.write_text(config.read_text().replace("[routing]", "[routing.quota]\nenabled = false\n[routing]"))
    assert "not watched" in run("quota")[1]


def test_before_anything_was_routed_screens_say_so(run: Run, tell: Tell, config: Path, data_dir: Path) -> None:
    assert tell("auto")["session"] is None
    assert run("auto", "why")[:2] == (0, "No decision yet.\n")
    assert run("history")[:2] == (0, "No decision yet.\n")
    assert run("auto", "metrics")[1] == "No call was routed in that time.\n"
    assert run("auto", "shadow")[1].startswith("No task was watched in that time")
    status, out, err = run("auto", "task")
    assert (status, out) == (1, "") and "No task is over yet" in err
    assert not data_dir.exists()


def test_a_session_is_named_by_the_beginning_of_its_id(tell: Tell, routed: None) -> None:
    assert tell("auto")["session"] == CELLAR
    told = tell("auto", "--session", ATTIC[:6])
    assert (told["session"], told["current"], told["last_route"]["policy"]) == (ATTIC, FRONTIER, "best")
    assert [one["session"] for one in tell("history", "--session", ATTIC[:6])["decisions"]] == [ATTIC]


def test_programs_are_told_the_same(tell: Tell, routed: None) -> None:
    why = tell("auto", "why")["route"]
    assert (why["target"], why["kept"], why["utility"]) == (STRONG, True, 0.72)
    assert tell("auto", "task")["task_id"] == DEBUG
    assert tell("auto", "models") == {"session": CELLAR, "models": [LIGHT, FRONTIER, STRONG], "stop": None}
    plan = tell("auto", "plan", "Debug this failing test")
    assert plan["sent"] is False and plan["target"] in (LIGHT, STRONG, FRONTIER)
    metrics = tell("auto", "metrics")
    assert metrics["total"]["attempts"] == 5 and metrics["quota"] == []
    assert {one["target"]: one["success_rate"] for one in metrics["targets"]} == {
        LIGHT: 1.0,
        STRONG: 1.0,
        FRONTIER: 0.0,
    }
    assert [one["target"] for one in tell("history")["decisions"]] == [STRONG, LIGHT, FRONTIER]
    assert {one["target"]: one["excluded"] for one in tell("auto", "doctor")["candidates"]} == dict.fromkeys(
        [LIGHT, STRONG, FRONTIER]
    )


def test_where_nobody_may_be_chosen_the_code_is_told(run: Run, routed: None, config: Path) -> None:
    constraints = '\n[routing.constraints]\nprovider_deny = ["anthropic"]\n'
    config.write_text(config.read_text() + constraints)
    status, out, _ = run("auto", "models")
    assert status == 1 and out.startswith("filtered-by-constraints: the constraints leave no model")
    assert run("auto", "plan", "x")[0] == 1
    assert "Nobody may take a request: filtered-by-constraints" in run("auto", "doctor")[1]


def test_without_any_provider_it_is_said_what_is_missing(run: Run, config: Path, data_dir: Path) -> None:
    config.write_text("[models]\nrefresh = false\n")
    for arguments in (("models",), ("providers",), ("plan", "x")):
        status, out, err = run("auto", *arguments)
        assert (
            (status, out) == (1, "") and err.startswith("ullage: No provider can be reached") and "--models" not in err
        )
    assert "Nobody may take a request: No provider can be reached" in run("auto", "doctor")[1]
    assert run("feedback", "good", "corp/opus")[0] == 2


CORP = """
[providers.corp]
url = "https://llm.corp.example"
dialects = ["anthropic"]
key = "env:CORP_LLM_KEY"
models = ["claude-opus-5"]
"""


def told_keys(data_dir: Path, *variables: str) -> None:
    """What a daemon leaves that has keys in these variables."""
    providers = [
        Provider(name="any", root="https://a.example", dialects=(), credential=Credential(name, "k"))
        for name in variables
    ]
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    keep_key_names(store, providers, NOW_MS)
    store.close()


def test_commands_choose_among_those_whom_the_daemon_can_reach_whatever_the_shells_keys_are(
    run: Run, tell: Tell, routed: None, config: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("[models]\nrefresh = false\n" + CORP)
    monkeypatch.setenv("OPENAI_API_KEY", "of-this-shell")
    monkeypatch.setenv("ULLAGE_ROUTING__MODELS", "corp/*,openai/gpt-5")
    assert tell("auto", "models", "--default")["models"] == ["openai/gpt-5"]
    told_keys(data_dir, "CORP_LLM_KEY")
    assert tell("auto", "models", "--default")["models"] == ["corp/claude-opus-5"]
    assert run("auto", "pin", "corp/claude-opus-5")[0] == 0
    assert tell("auto", "status")["pin"]["value"] == "corp/claude-opus-5"


def test_a_target_may_be_pinned_whose_key_only_the_daemon_has(
    run: Run, routed: None, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no daemon has told of its keys."""
    config.write_text("[models]\nrefresh = false\n" + CORP)
    assert run("auto", "pin", "corp/claude-opus-5")[0] == 0


def test_where_nobody_can_be_reached_it_is_said_that_only_those_are_weighed_that_are_known(
    run: Run, tell: Tell, routed: None, config: Path
) -> None:
    text = config.read_text()
    config.write_text(
        text.replace('key = "none"', 'key = "env:NOT_SET"').replace("http://127.0.0.1:9", "https://a.example")
    )
    status, out, err = run("auto", "models")
    assert (status, sorted(out.split())) == (0, sorted([LIGHT, STRONG, FRONTIER]))
    assert err.startswith("ullage: Note: no provider can be reached with a key of yours")
    assert {one["authenticated"] for one in tell("auto", "doctor")["candidates"]} == {None}
    assert f"{STRONG}  ?" in run("auto", "doctor")[1]


def test_a_mistake_in_the_settings_is_told_with_the_rules(run: Run, routed: None, config: Path) -> None:
    config.write_text(config.read_text() + '\n[[routing.rules]]\nname = "odd"\nthen = { policy = "cheap" }\n')
    assert "Problem: " in run("auto", "rules")[1]


def test_what_was_watched_is_added_up(run: Run, tell: Tell, routed: None, data_dir: Path) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_call(routed_call(20, "watched", LIGHT, 1, route={**weighed(LIGHT, STRONG), "shadow": STRONG}))
    store.close()
    out = run("auto", "shadow")[1]
    assert out.startswith("1 task was watched; for 1 another target was selected.")
    assert "how well it would have worked is not known" in out
    assert tell("auto", "shadow")["pairs"][0]["selected"] == STRONG


def test_a_request_that_nobody_was_let_take_is_told_before_older_decisions(
    run: Run, tell: Tell, routed: None, data_dir: Path
) -> None:
    stop = {
        "stage": "pin",
        "code": "unmatched-pin",
        "message": "the pinned x/y cannot be used",
        "hint": "Clear the pin.",
    }
    call = routed_call(30, None, STRONG, 1, route={"target": None, "stop": stop})
    assert call.route is not None
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_call(msgspec.structs.replace(call, outcome="answered", route={"target": None, "stop": stop}))
    store.close()
    assert run("auto", "why")[1] == "none  the pinned x/y cannot be used (unmatched-pin)\nhint: Clear the pin.\n"
    assert "stopped     the newest request: the pinned x/y cannot be used (unmatched-pin)\n" in run("auto")[1]
    told = tell("auto")
    assert (told["current"], told["stop"]["code"]) == (STRONG, "unmatched-pin")
    assert tell("auto", "why")["route"]["stop"] == stop


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("ullage auto un", ["unpin"]),
        ("ullage auto mode b", ["balanced", "best"]),
        ("ullage auto thinking fixed x", ["xhigh"]),
        ("ullage auto pool ", ["pair", "off"]),
        ("ullage auto pin anthropic/claude-h", [LIGHT]),
        ("ullage feedback bad anthropic/claude-s", [STRONG]),
        ("ullage outcome f", ["failure"]),
    ],
)
def test_shells_complete_names(
    words: str,
    completed: list[str],
    routed: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_ULLAGE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == [f"plain,{word}" for word in completed]
