"""Five scenarios on the context that a real Pi builds, each reported by itself: `python -m tests.pi.validation [VERSION]`.

Long sessions, tools, what is brought back, calibration, auto-tuning. The provider is the fake one; it counts tokens by a
vocabulary, and is strict.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.pi.host import NEWEST, Host, find_pi
from ullage.testing import FakeProvider, run_in_thread

TOOL = "Please use the tool: list the files of this folder."
MODEL, OTHER = "anthropic/anthropic-model", "openai/openai-model"
WINDOW = 12_000
LIMITS = f"""
mode = "managed"
[models.overrides."*"]
context_window = {WINDOW}
max_output_tokens = 1000
safety_margin_tokens = 0
"""


@dataclass
class Report:
    """What a scenario showed. `unverified` is what it could not show."""

    name: str
    checks: list[tuple[str, bool, str]] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)

    def check(self, what: str, passed: bool, detail: object = "") -> None:
        self.checks.append((what, passed, str(detail)))

    @property
    def passed(self) -> bool:
        return all(passed for _, passed, _ in self.checks)

    def lines(self) -> Iterator[str]:
        yield f"== {self.name}"
        for what, passed, detail in self.checks:
            yield f"{'ok' if passed else 'FAILED':8}{what}" + (f": {detail}" if detail else "")
        for what in self.unverified:
            yield f"{'not verified':14}{what}"


@dataclass
class Stage:
    """A Pi of its own, and the provider that it talks to."""

    host: Host
    provider: FakeProvider

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(one.body) for one in self.provider.requests]

    def calls(self) -> list[dict[str, Any]]:
        """The manifests of the newest session, the oldest first; the daemon has ended by then."""
        self.host.stop()
        session = self.host.newest_session()["id"]
        shown = json.loads(self.host.ullage("sessions", "show", session, "--limit", "200", "--json"))
        ids = [one["id"] for one in shown["newest_calls"] if one["kind"] == "conversation"]
        return [json.loads(self.host.ullage("manifest", one, "--json")) for one in reversed(ids)]


def long_sessions(stage: Stage, report: Report) -> None:
    """Many turns in a small window, with a compaction in the middle."""
    settings = {"compaction": {"enabled": False, "keepRecentTokens": 2_000}, "retry": {"enabled": False}}
    (stage.host.agent / "settings.json").write_text(json.dumps(settings))
    turns = 24
    with stage.host.open("--model", MODEL) as pi:
        for turn in range(turns):
            pi.ask("prompt", message=f"MARK-TURN-{turn}. {'some words that fill the window ' * 120}")
            if turn == turns // 2:
                report.check("Pi compacts in the middle", pi.ask("compact")["success"])
    sent = [json.dumps(one["messages"][-1]) for one in stage.bodies() if one.get("tools")]
    report.check(
        "every request ends with its own prompt", all(f"MARK-TURN-{n}." in sent[n] for n in range(turns)), turns
    )
    prompts = [one.usage.prompt or 0 for one in stage.provider.requests if one.usage is not None]
    report.check(f"no prompt exceeds the window of {WINDOW:,}", max(prompts) <= WINDOW, f"largest {max(prompts):,}")
    calls = stage.calls()
    left_out = max(one["plan"]["messages"]["excluded"] for one in calls)
    report.check("what is old is left out", left_out > 0, f"{left_out} messages at most")
    history = next(stage.host.agent.glob("sessions/*/*.jsonl")).read_text()
    report.check("the session's file has all of it", all(f"MARK-TURN-{n}." in history for n in range(turns)))


def tools(stage: Stage, report: Report) -> None:
    """Results that do not fit."""
    for number in range(600):
        (stage.host.project / f"a-file-with-a-long-name-{number}.txt").touch()
    with stage.host.open("--model", MODEL) as pi:
        for _ in range(4):
            report.check("the exchange is answered", pi.ask("prompt", message=TOOL)["success"])
    pairs = [_pairs(body) for body in stage.bodies()]
    report.check(
        "calls and results are sent together or not at all", all(a == b for a, b in pairs), f"{len(pairs)} requests"
    )
    newest = json.dumps(stage.bodies()[-1])
    report.check("a large result is kept aside, and referred to", "artifact" in newest)
    samples = [one["sample"] for one in stage.calls() if "estimated" in (one["sample"] or {})]
    ratios = [one["actual"] / one["estimated"] for one in samples]
    report.check("estimates are near what is reported", all(0.5 < one < 2 for one in ratios), _spread(ratios))


def brought_back(stage: Stage, report: Report) -> None:
    """What is kept outlives the tail."""
    with stage.host.open("--model", MODEL) as pi:
        pi.ask("prompt", message="Begin.")
        pi.type("/context pin MARK-PIN Never touch generated files.")
        pi.type('/context memory add "Build runner = MARK-VITEST"')
        for turn in range(10):
            pi.ask("prompt", message=f"Turn {turn}. {'some words that fill the window ' * 200}")
        pi.ask("prompt", message="Which build runner do we use?")
    body = json.dumps(stage.bodies()[-1])
    report.check("a pin is in the newest request", "MARK-PIN" in body)
    report.check("a memory that bears on the prompt is", "MARK-VITEST" in body)
    report.check("the first prompt is not", "Begin." not in body)
    report.unverified += ["retrieval from the session's own history", "retrieval from the project's files"]


def calibration(stage: Stage, report: Report) -> None:
    """Turns of one model, then of another."""
    with stage.host.open("--model", MODEL) as pi:
        for turn in range(6):
            pi.ask("prompt", message=f"Turn {turn}. {'a few words ' * 30 * (turn + 1)}")
        provider, model = OTHER.split("/")
        pi.ask("set_model", provider=provider, modelId=model)
        pi.ask("prompt", message="Turn at another model.")
    calls = stage.calls()
    first, other = (json.loads(stage.host.ullage("model", one, "--json"))["calibration"] for one in (MODEL, OTHER))
    report.check("each answer is a sample of its model", first["observed"] >= 5 and other["observed"] == 1)
    report.check("samples are accepted", first["accepted"] >= 3, f"{first['accepted']} of {first['observed']}")
    applied = [one["awareness"]["calibration"]["applied_ratio"] for one in calls if one["target"] == MODEL]
    report.check(
        "what was learned is applied", applied[0] == 1 or first["calibrated"], f"{applied[0]} to {applied[-1]}"
    )
    report.check("the other model begins by itself", not other["calibrated"], f"{other['accepted']} accepted")
    switch = next(one["awareness"]["switch"] for one in calls if one["target"] == OTHER)
    report.check(
        "the switch is recorded as cold", switch["cache_disposition"] == "cold-model-switch", switch["previous"]
    )


def auto_tuning(stage: Stage, report: Report) -> None:
    """Only where it is asked for, and within limits."""
    with stage.host.open("--model", MODEL) as pi:
        for turn in range(14):
            pi.ask("prompt", message=f"MARK-TURN-{turn}. {'a few words ' * 20}")
    calls = stage.calls()
    tuned = [one["awareness"]["auto_tune"] for one in calls]
    statuses = list(dict.fromkeys(one["status"] for one in tuned))
    report.check("it waits for evidence, then expands", statuses == ["insufficient-samples", "expanded"], statuses)
    factors = {one["factor"] for one in tuned}
    report.check("its factor is an eighth at most", factors == {1, 1.125}, max(factors))
    hard = [one["awareness"]["budget"]["hard"] for one in calls]
    report.check("the hard limit holds", all(one <= WINDOW for one in hard), f"at most {max(hard):,}")
    newest = json.dumps(stage.bodies()[-1])
    report.check("nothing is lost while there is room", all(f"MARK-TURN-{n}." in newest for n in range(14)))


SCENARIOS: dict[str, tuple[Callable[[Stage, Report], None], str]] = {
    "1 long sessions": (long_sessions, LIMITS),
    "2 tools and large results": (tools, LIMITS),
    "3 what is brought back": (brought_back, LIMITS),
    "4 calibration": (calibration, LIMITS),
    "5 auto-tuning": (auto_tuning, f"{LIMITS}[calibration]\nauto_tune = true\n"),
}


def run(name: str, version: str, folder: Path) -> Report:
    """One scenario, in a folder of its own."""
    play, settings = SCENARIOS[name]
    report = Report(name)
    with run_in_thread(FakeProvider(strict=True)) as provider:
        host = Host(folder, find_pi(version), provider.url, settings=settings)
        try:
            play(Stage(host, provider), report)
        finally:
            host.stop()
    return report


def _pairs(body: dict[str, Any]) -> tuple[set[str], set[str]]:
    """The ids of calls and of results in a request."""
    blocks = [block for one in body["messages"] if isinstance(one["content"], list) for block in one["content"]]
    calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    return calls, {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}


def _spread(ratios: list[float]) -> str:
    return f"{len(ratios)} samples, {min(ratios):.2f} to {max(ratios):.2f}" if ratios else "none"


def main() -> int:
    version = sys.argv[1] if len(sys.argv) > 1 else NEWEST
    reports = []
    for name in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            reports.append(run(name, version, Path(folder) / "pi"))
        print("\n".join(reports[-1].lines()), flush=True)
    return 0 if all(one.passed for one in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
