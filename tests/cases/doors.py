"""The ways by which a case is planned: the library, and `ullage plan --batch`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

import ullage
from ullage.cli import main
from ullage.cli.plan_text import describe_error

from .checks import Case, Outcome

ESTIMATOR = "o200k-base-v1"
PROFILE = ullage.resolve_profile("example", "any-model")


def load_cases() -> list[Case]:
    """The cases of `tests/data/cases`."""
    folder = Path(__file__).resolve().parents[1] / "data" / "cases"
    return [msgspec.json.decode(path.read_bytes(), type=Case) for path in sorted(folder.glob("*.json"))]


def by_library(case: Case, limit: int) -> Outcome:
    """One plan through `import ullage`."""
    conversation = ullage.parse_request(json.dumps(case.request).encode(), case.dialect)
    within = {"input_limit": limit, "scope": case.budget["scope"], "estimator": ESTIMATOR}
    evidence = ullage.shorten_results(conversation, PROFILE, **within) if case.budget.get("excerpts") else ()
    plan = ullage.plan(conversation, PROFILE, evidence=evidence, pins=case.pins, **within)
    sent = None if plan.status == "refused" else ullage.render(conversation, plan, evidence=evidence)
    return as_outcome(plan, sent)


def as_outcome(plan: ullage.Plan, sent: bytes | None) -> Outcome:
    """A plan as it is judged."""
    return Outcome(
        limit=plan.limit,
        status=plan.status,
        kept=list(plan.kept),
        tokens=plan.tokens,
        sent=sent,
        error=describe_error(plan) if plan.error else None,
        replaced=[one.index for one in plan.replaced],
    )


def by_batch(asked: Iterable[tuple[Case, int]], tmp_path: Path, capfdbinary: object) -> list[Outcome]:
    """All plans through one run of `ullage plan --batch`."""
    lines = tmp_path / "batch.jsonl"
    asked = list(asked)
    lines.write_text("".join(json.dumps(_line(case, limit)) + "\n" for case, limit in asked))
    assert main(["plan", "--batch", str(lines)]) == 0
    answers = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]  # type: ignore[attr-defined]
    assert [answer["id"] for answer in answers] == [f"{case.id}@{limit}" for case, limit in asked]
    return [
        Outcome(
            limit=answer["limit"],
            status=answer["status"],
            kept=answer["kept"],
            tokens=answer["tokens"],
            sent=json.dumps(answer["request"]).encode() if "request" in answer else None,
            error=answer.get("error"),
            replaced=[one["index"] for one in answer["replaced"]],
        )
        for answer in answers
    ]


def _line(case: Case, limit: int) -> dict[str, object]:
    return {
        "id": f"{case.id}@{limit}",
        "protocol": case.protocol,
        "request": case.request,
        "input_limit": limit,
        "scope": case.budget["scope"],
        "counts": case.budget["counts"],
        "pins": case.pins,
        "excerpts": bool(case.budget.get("excerpts")),
    }
