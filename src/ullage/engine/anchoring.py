"""The live estimate: each call of a session is expected before its usage is known, then learned from.

`growth-v1` of `core.calibration`, anchored on the last call of the same session whose usage can be trusted. What was learned
lasts as long as the daemon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ullage.core.calibration import (
    METHOD,
    Addition,
    Expectation,
    GrowthState,
    Key,
    addition_after,
    expect,
    learn,
    start_growth,
)
from ullage.core.content import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.accounting import Measure, Meter

    from .identity import Kinship
    from .measuring import Measures

_SESSIONS = 2_000
_STATES = 500


class _Anchor(Struct, frozen=True):
    """The last trusted call of a session: its usage, how many messages it sent, and what stood before them."""

    key: Key
    usage: Usage
    messages: int
    fixed_tokens: int
    turn_reasoning: int


class Outlook(Struct, frozen=True, kw_only=True):
    """What is known of a call before it is answered. Without an anchor there is nothing to expect, but one may come of it."""

    key: Key
    messages: int
    fixed_tokens: int
    addition: Addition | None = None
    expectation: Expectation | None = None


class Anchoring:
    """Remembers the anchor of each session and what was learned per provider, model, estimator and client.

    Used by one thread only.
    """

    def __init__(self) -> None:
        self._anchors: dict[str, _Anchor] = {}
        self._states: dict[Key, GrowthState] = {}

    @property
    def learned(self) -> int:
        """For how many providers, models, estimators and clients something was learned."""
        return len(self._states)

    def look_ahead(self, meter: Meter, measures: Measures, kinship: Kinship) -> Outlook:
        """What the call will be said to have sent, if it goes on from one that is known."""
        outlook = Outlook(
            key=Key(
                method=METHOD,
                provider=meter.provider or "",
                model=meter.model or "",
                estimator=meter.estimator,
                client=meter.client or "",
            ),
            messages=len(measures.messages),
            fixed_tokens=sum(map(_tokens, (*measures.system, *measures.tools))),
        )
        anchor = self._anchors.get(kinship.session)
        if anchor is None or anchor.key != outlook.key or kinship.shared < anchor.messages:
            return outlook
        addition = _addition(anchor, outlook, measures.messages[anchor.messages :])
        return replace(outlook, addition=addition, expectation=expect(self._state(outlook.key, meter), addition))

    def settle(self, session: str, meter: Meter, outlook: Outlook, usage: Usage | None) -> None:
        """Learns from what the provider reported, and takes it as the session's anchor."""
        if usage is None or not usage.prompt:
            return
        addition = outlook.addition
        turn_reasoning = 0
        if addition is not None:
            self._keep_state(outlook.key, learn(self._state(outlook.key, meter), addition, usage.prompt))
            turn_reasoning = 0 if addition.ends_turn else addition.turn_reasoning
        self._anchors.pop(session, None)
        self._anchors[session] = _Anchor(outlook.key, usage, outlook.messages, outlook.fixed_tokens, turn_reasoning)
        if len(self._anchors) > _SESSIONS:
            del self._anchors[next(iter(self._anchors))]

    def _keep_state(self, key: Key, state: GrowthState) -> None:
        """Keeps what was learned from at least one pair; the names of models come from clients, so their number is bounded."""
        self._states.pop(key, None)
        if state.pairs:
            self._states[key] = state
        if len(self._states) > _STATES:
            del self._states[next(iter(self._states))]

    def _state(self, key: Key, meter: Meter) -> GrowthState:
        known = self._states.get(key)
        return known or start_growth(meter.growth, meter.retention, own_tokens=meter.counts_the_wire)


def _addition(anchor: _Anchor, outlook: Outlook, added: Sequence[Measure]) -> Addition:
    """What stands behind the anchor: its answer, which is what the model said first, then all that is new."""
    said = next((index for index, measure in enumerate(added) if measure.role != "assistant"), len(added))
    changed = outlook.fixed_tokens - anchor.fixed_tokens
    addition = addition_after(
        anchor.usage,
        reply=added[:said],
        new=added[said:],
        turn_reasoning=anchor.turn_reasoning,
        # Other tools or another system prompt are counted in, but such a pair proves nothing about growth.
        trap="unrecorded" if changed else None,
    )
    return replace(addition, prompt=addition.prompt + changed)


def _tokens(measure: Measure) -> int:
    return sum(entry.tokens for entry in measure.entries)
