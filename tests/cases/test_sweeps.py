"""The cases at every budget of the range that they name, and the others at all budgets that could matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ullage.core.accounting import make_meter
from ullage.core.planning import plan
from ullage.core.planning.assembling import (
    count_within,
    find_pinned,
    limit_budget,
    make_input,
    read_facts,
    render_plan,
)
from ullage.core.planning.shortening import offer_excerpts
from ullage.core.wire import parse_request
from ullage.settings import Settings
from ullage.settings.policy import make_caps

from .checks import CHECKS, Case, Judged, Outcome
from .doors import ESTIMATOR, as_outcome, by_batch, by_library, load_cases

CASES = load_cases()
ALWAYS = (
    "group_whole",
    "no_invented_result",
    "no_orphan_call",
    "no_orphan_result",
    "no_partial_thinking",
    "order_preserved",
    "valid_json",
    "within_budget",
)
"""What holds of every request at every budget, whatever its case is about."""

IDS = [case.id for case in CASES]


def checks_of(case: Case) -> list[str]:
    """Those that hold at every budget. What is kept entirely depends on the budget."""
    named = [
        check for check in case.checks if check in CHECKS and check not in ("identical_output", "no_message_removed")
    ]
    return sorted({*named, *ALWAYS})


def judge(case: Case, outcome: Outcome) -> None:
    judged = Judged(case, outcome)
    for check in checks_of(case):
        CHECKS[check](judged)


def budgets(case: Case) -> range:
    """Every budget of the case's sweep; others are swept as far as everything fits."""
    return case.sweep or range(3_400)


def telling(case: Case, step: int) -> list[int]:
    """Budgets at which a plan could change, those beside them, and every `step`-th."""
    meter = make_meter(dialect=case.dialect, provider=None, model=None, client=None, estimator=ESTIMATOR)
    facts = read_facts(parse_request(json.dumps(case.request).encode(), case.dialect), meter)
    edges, total = set(), 0
    for fact, tokens in reversed(list(zip(facts.facts, facts.tokens, strict=True))):
        total += 0 if fact.system else tokens
        edges |= {total - 1, total, total + 1}
    return sorted({*budgets(case)[::step], *(edge for edge in edges if edge in budgets(case)), budgets(case)[-1]})


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_all_holds_at_every_budget(case: Case) -> None:
    conversation = parse_request(json.dumps(case.request).encode(), case.dialect)
    meter = make_meter(dialect=case.dialect, provider=None, model=None, client=None, estimator=ESTIMATOR)
    facts = count_within(read_facts(conversation, meter), case.budget["scope"])
    caps = structs.replace(make_caps(Settings()), recent_tail=sum(facts.tokens))
    pinned = find_pinned(conversation, case.pins)
    seen: set[tuple[Any, ...]] = set()
    most = 0
    for limit in budgets(case):
        evidence = offer_excerpts(conversation, facts, meter, limit) if case.budget.get("excerpts") else ()
        made = plan(make_input(facts, budget=limit_budget(limit), caps=caps, evidence=evidence, pinned=pinned))
        if made.status != "refused":
            assert made.tokens <= limit
            assert len(made.kept) >= most, "a smaller limit never keeps more"
            most = len(made.kept)
        told = (made.status, made.kept, made.replaced, made.tokens)
        if told not in seen:
            seen.add(told)
            sent = None if made.status == "refused" else render_plan(conversation, made, evidence=evidence)
            judge(case, as_outcome(made, sent))
    assert seen


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_all_holds_in_the_library(case: Case) -> None:
    for limit in telling(case, 397):
        judge(case, by_library(case, limit))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_all_holds_in_a_batch(case: Case, tmp_path: Path, capfdbinary: Any) -> None:
    limits = telling(case, 211)
    for outcome in by_batch([(case, limit) for limit in limits], tmp_path, capfdbinary):
        judge(case, outcome)
