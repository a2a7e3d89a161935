"""Rules and scenarios: conditions with a name and an action; the first that holds applies (routing specification, section 14)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .identity import matches
from .pattern_cost import search_length
from .thinking import Level
from .weights import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .task import TaskProfile

Trigger = Literal["user", "extension"]
KnownTier = Literal["light", "mid", "strong", "frontier"]

KIND_NAMES = (
    "explain",
    "code-edit",
    "generate",
    "debug",
    "refactor",
    "review",
    "test",
    "plan",
    "architecture",
    "ops",
    "research",
)
SCENARIOS = ("vision", "longContext", "background", *KIND_NAMES)
"""Names of scenarios: the first three are checked first, kinds in the order in which the user lists them."""
LONG_CONTEXT_TOKENS = 100_000

FIRST = ("vision", "longContext", "background")


class When(Struct, frozen=True, kw_only=True):
    """The conditions of a rule, all of which must hold. Bounds are inclusive, contexts in tokens; `None` asks for nothing."""

    kinds: tuple[str, ...] | None = None
    min_complexity: float | None = None
    max_complexity: float | None = None
    min_context_tokens: int | None = None
    max_context_tokens: int | None = None
    has_images: bool | None = None
    trigger: Trigger | None = None
    prompt_matches: str | None = None


class Action(Struct, frozen=True, kw_only=True):
    """What a rule does: keeps or removes targets by pattern, raises the least tier, prefers, or changes policy and thinking."""

    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    minimum_tier: str | None = None
    prefer: tuple[str, ...] = ()
    policy: Policy | None = None
    thinking: Level | None = None


class Rule(Struct, frozen=True, kw_only=True):
    """A named condition with its action. A scenario is one whose condition its name says."""

    name: str
    then: Action
    when: When = When()
    scenario: bool = False


class Rules(Struct, frozen=True, kw_only=True):
    """All rules and scenarios in the order in which they are checked."""

    entries: tuple[Rule, ...] = ()


class Verdict(Struct, frozen=True, kw_only=True):
    """What became of one entry that was checked. `reason` is the condition that decided."""

    name: str
    matched: bool
    reason: str


class Facts(Struct, frozen=True, kw_only=True):
    """What conditions are held against, beside the task."""

    prompt: str
    context: int
    images: bool
    trigger: Trigger = "user"


def find_rule(rules: Rules, task: TaskProfile, facts: Facts) -> tuple[Rule | None, tuple[Verdict, ...]]:
    """The first entry that holds, and a verdict for each that was checked."""
    verdicts = []
    for entry in rules.entries:
        failed = _fails(entry, task, facts)
        verdicts.append(Verdict(name=entry.name, matched=failed is None, reason=failed or "all conditions hold"))
        if failed is None:
            return entry, tuple(verdicts)
    return None, tuple(verdicts)


def unwanted(action: Action, target: str, *, rank: int, ranks: Mapping[str, int]) -> str | None:
    """Why an action removes a target; `None` where it does not."""
    if action.only and not _any_matches(action.only, target):
        return "the rule allows others only"
    if _any_matches(action.exclude, target):
        return "the rule excludes it"
    if action.minimum_tier is not None and rank < ranks[action.minimum_tier]:
        return f"the rule asks for {action.minimum_tier} at least"
    return None


def prefers(action: Action, target: str) -> bool:
    return _any_matches(action.prefer, target)


def _any_matches(patterns: Iterable[str], target: str) -> bool:
    """By the whole target, or by its model's bare id."""
    bare = target.partition("/")[2]
    return any(matches(pattern, target) or matches(pattern, bare) for pattern in patterns)


def _fails(entry: Rule, task: TaskProfile, facts: Facts) -> str | None:
    if entry.scenario:
        return None if _scenario_holds(entry.name, task, facts) else f"it is no task of {entry.name}"
    return next((told for check in _CHECKS if (told := check(entry.when, task, facts)) is not None), None)


def _scenario_holds(name: str, task: TaskProfile, facts: Facts) -> bool:
    if name == "vision":
        return facts.images
    if name == "longContext":
        return facts.context >= LONG_CONTEXT_TOKENS
    if name == "background":
        return facts.trigger == "extension"
    return name in task.kinds


def _check_kinds(when: When, task: TaskProfile, facts: Facts) -> str | None:
    if when.kinds is None or not set(when.kinds).isdisjoint(task.kinds):
        return None
    return f"kinds: none of {', '.join(when.kinds)}"


def _check_complexity(when: When, task: TaskProfile, facts: Facts) -> str | None:
    return _outside("complexity", task.complexity, when.min_complexity, when.max_complexity)


def _check_context(when: When, task: TaskProfile, facts: Facts) -> str | None:
    return _outside("context", facts.context, when.min_context_tokens, when.max_context_tokens)


def _check_images(when: When, task: TaskProfile, facts: Facts) -> str | None:
    return None if when.has_images in (None, facts.images) else f"hasImages: it is {str(facts.images).lower()}"


def _check_trigger(when: When, task: TaskProfile, facts: Facts) -> str | None:
    return None if when.trigger in (None, facts.trigger) else f"trigger: it is {facts.trigger}"


def _check_prompt(when: When, task: TaskProfile, facts: Facts) -> str | None:
    pattern = when.prompt_matches
    if pattern is None or compile_prompt_pattern(pattern).search(facts.prompt[: search_length(pattern) or 0]):
        return None
    return "promptMatches: it is not found"


_CHECKS: tuple[Callable[[When, TaskProfile, Facts], str | None], ...] = (
    _check_kinds,
    _check_complexity,
    _check_context,
    _check_images,
    _check_trigger,
    _check_prompt,
)


def _outside(name: str, value: float, least: float | None, most: float | None) -> str | None:
    if least is not None and value < least:
        return f"{name}: {value:g} is below {least:g}"
    if most is not None and value > most:
        return f"{name}: {value:g} is above {most:g}"
    return None


@lru_cache(maxsize=256)
def compile_prompt_pattern(pattern: str) -> re.Pattern[str]:
    """A condition on the prompt; case does not count. Raises `re.error`."""
    return re.compile(pattern, re.IGNORECASE)
