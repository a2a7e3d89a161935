"""`ullage why`: a call explained in sentences."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import pytest
from msgspec import structs, to_builtins

from ullage.cli import main, plan_text
from ullage.core.planning import Caps, PlanError, Reason, SliceFacts, Supplement, plan, plan_live
from ullage.core.planning.assembling import limit_budget
from ullage.core.planning.manifest import report_plan
from ullage.core.planning.request import PlanInput, Trim
from ullage.core.planning.tail_records import Rejected, TailChoice, TailReason
from ullage.stores import SqliteStore

from .conftest import AWARENESS, CALLS, NOW_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Golden = Callable[[str, str], None]
    Screen = pytest.CaptureFixture[str]

ASKS, SAYS = SliceFacts(role="user", opens_turn=True), SliceFacts(role="assistant")
CAPS = Caps(recent_tail=40_000, pinned=1_000, memory=100, history=100, project=100, summary=100)


def call(capsys: Screen, *arguments: str) -> tuple[int, str, str]:
    status = main(["why", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def record(data_dir: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    monkeypatch.setattr("ullage.cli.records.now_ms", lambda: NOW_MS)
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    store.put_call(structs.replace(CALLS[0], **changes))
    store.close()


def request(*tokens: int, limit: int, **changes: Any) -> PlanInput:
    return PlanInput(
        facts=tuple(ASKS if index % 2 == 0 else SAYS for index in range(len(tokens))),
        tokens=tokens,
        fixed_tokens=3_000,
        budget=limit_budget(limit),
        caps=CAPS,
        **changes,
    )


PIN = Supplement(id="pin:1", kind="pin", text="", tokens=60, score=950.0, source_ids=("x",), reason="pinned")
MEMORY = structs.replace(PIN, id="mem:7", kind="memory", tokens=500, score=90.5)


def test_a_managed_call_is_explained(
    capsys: Screen, golden: Golden, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        rejected=Rejected(first=2, tokens=50_400, expected_usd=0.2),
    )
    given = structs.replace(given, tail=4)
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given, cache=to_builtins(tail)))
    status, out, err = call(capsys)
    assert (status, err) == (0, "")
    golden("why.txt", out)


def test_what_was_shortened_and_kept_against_the_tail_is_told(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trim = Trim(index=1, ordinal=0, call_id=None, tokens_before=60_000, tokens_after=100, artifact="a")
    given = request(900, 60_900, 400, limit=70_000, trims=(trim,))
    given = structs.replace(given, budget=limit_budget(10_000))
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given))
    assert "Shortened, with a note of what is missing: the results in message 1." in call(capsys)[1]
    rescued = request(900, 50_000, 400, limit=70_000)
    record(data_dir, monkeypatch, plan=report_plan(plan(rescued), rescued))
    assert "The turn before the current one is kept although it is larger than the recent tail." in call(capsys)[1]


def test_what_lost_its_ground_is_told(capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = request(900, 400, limit=70_000)
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given, unbound=2, cut=(0,)))
    out = call(capsys)[1]
    assert "Without 2 blocks of thinking: its model takes it back only behind what it was made on" in out
    assert "Instructions alone of message 0: what was asked there has left with its answer." in out


def test_an_observed_call_went_as_it_came(
    capsys: Screen, golden: Golden, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(data_dir, monkeypatch)
    golden("why_observed.txt", call(capsys)[1])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            request(900, limit=2_000),
            "Prompt, tools and framing take 3,000 tokens: the limit is 2,000.",
        ),
        (request(900, limit=3_500), "What must be sent exceeds the limit of 3,500 tokens."),
        (
            request(9_000, 200, 900, 90_000, 400, limit=5_000, pinned=frozenset({0})),
            "The pins take more than planning.max_pinned_tokens allows. So the current turn and the newest that fits are sent",
        ),
    ],
)
def test_a_plan_that_failed_says_why(
    given: PlanInput, told: str, capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(data_dir, monkeypatch, plan=report_plan(plan_live(given), given))
    assert told in call(capsys)[1]


def test_what_was_withheld_is_told_and_no_plan_where_there_was_none(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    privacy = {
        "provider": "anthropic",
        "destination": "remote",
        "blocked_blocks": 2,
        "secret_redactions": 1,
        "excluded_sources": [{"kind": "pin", "id": "pin:1", "classification": "local-only"}],
    }
    record(data_dir, monkeypatch, plan={"privacy": privacy})
    out = call(capsys)[1]
    assert "It was observed" in out
    assert "From anthropic (remote): 2 texts withheld by class, 1 secret redacted.\n" in out
    assert "Not added: the pin pin:1, which is local-only.\n" in out


def test_a_manifest_says_in_a_line_what_was_planned(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = request(900, 45_000, 400, limit=10_000)
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given))
    assert main(["manifest"]) == 0
    assert "plan         managed: 1 of 3 messages, ~3.4k of at most 10.0k tokens\n" in capsys.readouterr().out
    assert main(["manifest", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["mode"]) == ("managed", "managed")


def test_a_call_of_which_no_plan_could_be_made_says_why(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(data_dir, monkeypatch, plan={"status": "unchanged", "error": None, "warnings": ["window_unknown"]})
    told = "No plan could be made, so the client's own request went out. The context window of the model is not known."
    assert told in call(capsys)[1]


def test_a_model_of_unknown_window_is_told_how_to_set_it(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = {**AWARENESS["profile"], "context_window": None}
    record(data_dir, monkeypatch, awareness={**AWARENESS, "profile": profile, "budget": None, "adaptive": None})
    assert "Set it under [models.overrides]." in call(capsys)[1]


@pytest.mark.usefixtures("recorded")
def test_a_call_is_named_by_the_beginning_of_its_id(capsys: Screen) -> None:
    _, out, _ = call(capsys, "019e6ffe")
    assert out.startswith("Call 019e6ffe0000c0ffee000 to anthropic/claude-opus-4-8, 20 min ago.")
    assert "The cache missed 70.0k: tools_changed at tool 3." in out
    assert call(capsys, "no-such")[0] == 1


@pytest.mark.usefixtures("recorded")
def test_a_call_of_which_little_is_known_is_told_as_well(capsys: Screen) -> None:
    status, out, _ = call(capsys, "019e6fff0003")
    assert status == 0
    assert out.startswith("Call 019e6fff0003c0ffee004 to openai, 3 d ago.")


def test_programs_get_the_plan_and_the_sentences(
    capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = request(900, 400, 300, limit=70_000)
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given))
    told = json.loads(call(capsys, "--json")[1])
    assert told["call"] == CALLS[0].id
    assert told["plan"]["status"] == "unchanged"
    assert told["sentences"][1].startswith("Everything fits")


@pytest.mark.parametrize("reason", get_args(TailReason))
def test_every_reason_of_a_tail_has_its_words(
    reason: TailReason, capsys: Screen, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = request(900, 400, 300, limit=4_000)
    tail = TailChoice(
        mode="auto",
        first=0,
        tokens=1_600,
        reason=reason,
        moved=False,
        warm_prefix_tokens=0,
        calls=1,
        expected_usd=0.01,
    )
    record(data_dir, monkeypatch, plan=report_plan(plan(given), given, cache=to_builtins(tail)))
    out = call(capsys)[1]
    assert "The tail begins at message 0: " in out
    assert "The next call should cost $0.0100 without the answers.\n" in out


@pytest.mark.parametrize(
    ("blocked", "told"), [(0, "the request goes out as it came"), (1, "goes out whole but for what privacy withheld")]
)
def test_what_privacy_has_edited_did_not_go_out_as_it_came(blocked: int, told: str) -> None:
    given = request(900, limit=9_000)
    privacy = {"blocked_blocks": blocked, "secret_redactions": 0}
    (opening, *_) = plan_text.tell_plan({**report_plan(plan(given), given), "privacy": privacy}, "wire-v1")
    assert told in opening


def test_every_reason_of_a_plan_has_its_words() -> None:
    sent = {
        "fixed",
        "current",
        "pin",
        "foremost",
        "recent-tail",
        "rescued-predecessor",
        "summary",
        "supplement",
        "labelled-pin",
    }
    assert set(get_args(Reason)) - sent == set(plan_text._REASONS)
    assert set(get_args(PlanError)) == set(plan_text._ERRORS)
