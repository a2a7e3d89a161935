"""When a task goes on with a stronger target: the current one misuses a tool again and again (routing specification, section 21).

No tool is run again, and everything else that limits a choice holds as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import xxhash
from msgspec import Struct, field

from .mistakes import MistakeKind, judge_outcome, tool_of
from .thinking import LEVELS, Level, fit_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .mistakes import ToolOutcome
    from .models import ModelRecord
    from .scoring import RouteScore

MISTAKES = 2
"""So many mistakes of one tool in a row, without a success of it between them."""
REPEATS = 3
"""So many times the very same failing call in a row (ours)."""
_TOLD = 5


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


class Streaks(Struct, frozen=True, kw_only=True):
    """What the calls of a task so far come to, without a word of them.

    `mistakes` are those of each tool since its last success, the newest few. `last` is a hash of the newest call, `failures` how
    often it has failed in a row.
    """

    mistakes: dict[str, tuple[MistakeKind, ...]] = field(default_factory=dict)
    last: str = ""
    last_tool: str = ""
    failures: int = 0


NO_STREAKS = Streaks()


def follow(streaks: Streaks, outcomes: Iterable[ToolOutcome]) -> Streaks:
    """The streaks after further calls, oldest first.

    What other tools do neither counts nor resets; trouble and unknown failures of the same tool do not either.
    """
    mistakes = dict(streaks.mistakes)
    last, last_tool, failures = streaks.last, streaks.last_tool, streaks.failures
    for outcome in outcomes:
        tool, (result, mistake) = tool_of(outcome), judge_outcome(outcome)
        if mistake is not None:
            mistakes[tool] = (*mistakes.pop(tool, ()), mistake.kind)[-_TOLD:]
        elif result == "success":
            mistakes.pop(tool, None)
        call = _hash(outcome)
        failed = result in ("mistake", "failure") and bool(outcome.arguments)
        failures = (failures + 1 if call == last else 1) if failed else 0
        last, last_tool = call, tool
    return Streaks(mistakes=mistakes, last=last, last_tool=last_tool, failures=failures)


def find_escalation(streaks: Streaks, *, pinned: bool = False, done: bool = False) -> Escalation | None:
    """Whether the calls of the current task ask for more. Never where a target or a tier is `pinned`, and once in a task: `done`
    says that it has been."""
    if pinned or done:
        return None
    for tool, kinds in streaks.mistakes.items():
        if len(kinds) >= MISTAKES:
            return Escalation(tool=tool, why="mistakes", kinds=kinds)
    if streaks.failures >= REPEATS:
        return Escalation(tool=streaks.last_tool, why="repeated-call")
    return None


def step_up(ranked: Sequence[RouteScore], current: str, level: Level, *, settled: bool = False) -> Step | None:
    """What to do about it: the best ranked target of a strictly higher tier, else one more level of thinking.

    `ranked` are the eligible targets, the best first, with the current one among them; `level` is the one that it thinks at,
    which stays where the user has `settled` it. `None` where there is neither.
    """
    here = next((one for one in ranked if one.target == current), None)
    if here is None:
        return None
    stronger = next((one for one in ranked if one.rank > here.rank > 0), None)
    if stronger is not None:
        return Step(target=stronger.target, thinking=_fit(level, stronger.candidate.model), raised="target")
    more = None if settled else _next_level(level, here.candidate.model)
    return None if more is None else Step(target=current, thinking=more, raised="thinking")


def _hash(outcome: ToolOutcome) -> str:
    text = f"{outcome.tool}\n{outcome.arguments}"
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))


def _next_level(level: Level, model: ModelRecord) -> Level | None:
    """The least level above this one that the model has."""
    for higher in LEVELS[LEVELS.index(level) + 1 :]:
        if _fit(higher, model) == higher:
            return higher
    return None


def _fit(level: Level, model: ModelRecord) -> Level:
    return fit_level(level, reasoning=model.reasoning is not False, levels=model.thinking_levels)
