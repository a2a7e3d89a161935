"""When a task goes on with a stronger target: the current one misuses a tool again and again (routing specification, section 21).

No tool is run again, and everything else that limits a choice holds as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .mistakes import MistakeKind, find_mistake, judge_outcome, tool_of
from .thinking import LEVELS, Level, fit_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .mistakes import ToolOutcome
    from .models import ModelRecord
    from .scoring import RouteScore

MISTAKES = 2
"""So many mistakes of one tool in a row, without a success of it between them."""
REPEATS = 3
"""So many times the very same failing call in a row (ours)."""


class Escalation(Struct, frozen=True, kw_only=True):
    """Why a task needs more: the tool, and what went wrong with it. `kinds` are empty for a call that was merely repeated."""

    tool: str
    why: Literal["mistakes", "repeated-call"]
    kinds: tuple[MistakeKind, ...] = ()

    @property
    def reason(self) -> str:
        """A few words for people."""
        if self.why == "repeated-call":
            return f"{self.tool} failed {REPEATS} times with the same arguments"
        return f"{len(self.kinds)} mistakes of {self.tool} in a row: {', '.join(self.kinds)}"


class Step(Struct, frozen=True, kw_only=True):
    """What an escalation does: another target, or the same one thinking more."""

    target: str
    thinking: Level
    raised: Literal["target", "thinking"]


def find_escalation(outcomes: Sequence[ToolOutcome], *, pinned: bool = False, done: bool = False) -> Escalation | None:
    """Whether the calls of the current task so far, oldest first, ask for more. Never where a target or a tier is `pinned`, and
    once in a task: `done` says that it has been."""
    if pinned or done or not outcomes:
        return None
    return _by_mistakes(outcomes) or _by_repeats(outcomes)


def step_up(ranked: Sequence[RouteScore], current: str, level: Level) -> Step | None:
    """What to do about it: the best ranked target of a strictly higher tier, else one more level of thinking.

    `ranked` are the eligible targets, the best first, with the current one among them; `level` is the one that it thinks at.
    `None` where there is neither.
    """
    here = next((one for one in ranked if one.target == current), None)
    if here is None:
        return None
    stronger = next((one for one in ranked if one.rank > here.rank > 0), None)
    if stronger is not None:
        return Step(target=stronger.target, thinking=_fit(level, stronger.candidate.model), raised="target")
    more = _next_level(level, here.candidate.model)
    return None if more is None else Step(target=current, thinking=more, raised="thinking")


def _by_mistakes(outcomes: Sequence[ToolOutcome]) -> Escalation | None:
    """Mistakes of each tool since its last success. What other tools do neither counts nor resets, nor does trouble."""
    streaks: dict[str, list[MistakeKind]] = {}
    for outcome in outcomes:
        tool = tool_of(outcome)
        mistake = find_mistake(outcome)
        if mistake is not None:
            streaks.setdefault(tool, []).append(mistake.kind)
        elif tool in streaks and judge_outcome(outcome) == "success":
            del streaks[tool]
    found = next((tool for tool, kinds in streaks.items() if len(kinds) >= MISTAKES), None)
    return None if found is None else Escalation(tool=found, why="mistakes", kinds=tuple(streaks[found]))


def _by_repeats(outcomes: Sequence[ToolOutcome]) -> Escalation | None:
    last = outcomes[-REPEATS:]
    first = last[0]
    same = all(one.tool == first.tool and one.arguments == first.arguments for one in last)
    if len(last) < REPEATS or not same or not first.arguments:
        return None
    failed = all(judge_outcome(one) in ("mistake", "failure") for one in last)
    return Escalation(tool=tool_of(first), why="repeated-call") if failed else None


def _next_level(level: Level, model: ModelRecord) -> Level | None:
    """The least level above this one that the model has."""
    for higher in LEVELS[LEVELS.index(level) + 1 :]:
        if _fit(higher, model) == higher:
            return higher
    return None


def _fit(level: Level, model: ModelRecord) -> Level:
    return fit_level(level, reasoning=model.reasoning is not False, levels=model.thinking_levels)
