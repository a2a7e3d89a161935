"""What would be sent of a recorded request by each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.planning import (
    Budget,
    Caps,
    Limits,
    PlanInput,
    TailContext,
    TailMemory,
    choose_tail,
    draw_budget,
    plan_live,
)
from ullage.core.spend import CallPrices

if TYPE_CHECKING:
    from ullage.core.planning.tail_records import TailPolicy
    from ullage.core.profiles import ModelProfile

    from .replay_traces import TraceCall

PolicyName = Literal["as-recorded", "sliding", "epoch-v1", "auto"]

POLICIES: tuple[PolicyName, ...] = ("as-recorded", "sliding", "epoch-v1", "auto")

DEFAULT_WINDOW = 200_000
"""Context window of a model of which nothing is known."""

DEFAULT_TAIL = 64_000

_TAILS: dict[PolicyName, TailPolicy] = {"sliding": "off", "epoch-v1": "epoch-v1", "auto": "auto"}


class Setting(Struct, frozen=True, kw_only=True):
    """What plans of one trace go by: the input limits, the tail's limit, prices, and how long its provider holds a prefix."""

    budget: Budget
    tail: int
    prices: CallPrices
    ttl_ms: int
    target: str


class Sent(Struct, frozen=True, kw_only=True):
    """What was sent: the numbers of the messages kept, and whether history that the file does not hold went along."""

    kept: tuple[int, ...]
    unseen: bool = False


class Player(Protocol):
    """A policy at work on one trace."""

    def send(self, call: TraceCall) -> Sent:
        """What of the next request is sent."""
        ...

    def learn(self, *, prompt: int, read: int) -> None:
        """Takes in what the provider read of it."""
        ...


def make_player(policy: PolicyName, setting: Setting) -> Player:
    """A policy at the beginning of a trace."""
    return Recorded() if policy == "as-recorded" else Planned(_TAILS[policy], setting)


class Recorded:
    """Sends what was recorded."""

    def send(self, call: TraceCall) -> Sent:
        return Sent(kept=tuple(range(len(call.hashes))), unseen=True)

    def learn(self, *, prompt: int, read: int) -> None:
        """Nothing depends on it."""


class Planned:
    """Sends what the planner makes of it, as managed mode does, with a tail by one policy."""

    def __init__(self, policy: TailPolicy, setting: Setting) -> None:
        self._policy = policy
        self._setting = setting
        self._memory: TailMemory | None = None
        self._prompts = self._reads = self._samples = 0

    def send(self, call: TraceCall) -> Sent:
        given = PlanInput(
            facts=call.facts,
            tokens=call.tokens,
            fixed_tokens=call.fixed,
            budget=self._setting.budget,
            caps=_caps(self._setting.tail),
        )
        choice, self._memory = choose_tail(given, self._context(call), self._memory, self._policy)
        if choice is not None:
            given = replace(given, tail=choice.first)
        return Sent(kept=plan_live(given).kept)

    def learn(self, *, prompt: int, read: int) -> None:
        self._prompts += prompt
        self._reads += read
        self._samples += 1

    def _context(self, call: TraceCall) -> TailContext:
        return TailContext(
            hashes=call.hashes,
            prices=self._setting.prices,
            target=self._setting.target,
            now_ms=call.time_ms,
            ttl_ms=self._setting.ttl_ms,
            cache_share=self._reads / self._prompts if self._prompts else None,
            samples=self._samples,
        )


def draw_limits(profile: ModelProfile, window: int | None) -> Budget:
    """The limits of a model with default settings; `window` goes before what is known of it."""
    known = window or profile.context_window or DEFAULT_WINDOW
    output = profile.max_output_tokens
    return draw_budget(
        window=known,
        max_input=None if window is not None else profile.max_input_tokens,
        max_output=None if output is None else min(output, known),
        safety_margin=profile.safety_margin_tokens,
        limits=Limits(),
    )


def _caps(tail: int) -> Caps:
    """Room for the tail alone: a replay has nothing to add."""
    return Caps(recent_tail=tail, pinned=0, memory=0, history=0, project=0, summary=12_000)
