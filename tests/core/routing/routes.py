"""The three models of the worked examples, and short ways to weigh them (routing specification, section 10.5)."""

from __future__ import annotations

from typing import Any

from ullage.core.profiles import Prices
from ullage.core.routing.filtering import Candidate, make_candidate
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.scoring import RouteScore, Situation, score
from ullage.core.routing.selection import Selection, Weighing, select
from ullage.core.routing.task import TaskProfile, analyze_task
from ullage.core.routing.weights import Policy

OPUS, SONNET, HAIKU = "anthropic/claude-opus-5", "anthropic/claude-sonnet", "anthropic/claude-haiku"

DEBUG = "Debug this failing test"
SUMMARY = "Summarize this paragraph in three bullets."
CHINESE = "审查这个系统架构，并且给出分阶段迁移方案和取舍。"
REFACTOR = "Refactor this module, preserve behavior, and add coverage for the edge cases."
PRODUCTION = "Fix this production error and add regression tests. Error: boom at run (app.ts:12:3)"
REVIEW = "Review the architecture, identify trade-offs, then propose a migration plan."


def model(
    target: str,
    fresh: float | None = None,
    output: float | None = None,
    cache_read: float | None = None,
    cache_write: float | None = None,
    **facts: Any,
) -> ModelRecord:
    provider, _, name = target.partition("/")
    known: dict[str, Any] = {
        "reasoning": True,
        "inputs": ("text", "image"),
        "context_window": 200_000,
        "max_output_tokens": 8_192,
    }
    prices = Prices(input=fresh, output=output, cache_read=cache_read, cache_write=cache_write)
    return ModelRecord(provider=provider, id=name, prices=prices, **(known | facts))


MODELS = (
    model(OPUS, 15, 75, 1.5, 18.75),
    model(SONNET, 3, 15, 0.3, 3.75),
    model(HAIKU, 0.8, 4, 0.08, 1),
)
THREE = tuple(make_candidate(one) for one in MODELS)


def task_of(prompt: str, *, context: int = 0) -> TaskProfile:
    """By the analyzer of the worked examples."""
    return analyze_task(prompt, context_tokens=context, analyzer="v1")


def scores(
    prompt: str,
    policy: Policy = "balanced",
    *,
    candidates: tuple[Candidate, ...] = THREE,
    situation: Situation | None = None,
) -> dict[str, RouteScore]:
    situation = situation or Situation(cache_model="v1")
    found = score(candidates, task_of(prompt, context=situation.context), policy, situation)
    return {one.target: one for one in found}


def choose(
    prompt: str,
    policy: Policy = "balanced",
    *,
    candidates: tuple[Candidate, ...] = THREE,
    situation: Situation | None = None,
    **weighing: Any,
) -> Selection:
    situation = situation or Situation(cache_model="v1")
    task = task_of(prompt, context=situation.context)
    found = score(candidates, task, policy, situation)
    return select(found, Weighing(task=task, policy=policy, situation=situation, **weighing))
