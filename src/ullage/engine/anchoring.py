"""The live estimate: each call of a session is expected before its usage is known, then learned from.

`growth-v1` of `core.calibration`, anchored on the last call of the same session whose usage can be trusted. What is learned is
given back as pairs, for a store to keep; it is taken up from there when a key is first needed.
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
    Pair,
    addition_after,
    convert_growth,
    expect,
    pair_of,
    start_growth,
    take_pairs,
)
from ullage.core.content import Usage
from ullage.core.planning import Anchored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ullage.core.accounting import Measure, Meter

    from .measuring import Measures

_SESSIONS = 2_000
_STATES = 500


class Anchor(Struct, frozen=True, kw_only=True):
    """The last trusted call of a session: its usage, the canonical hashes of the messages it sent, and what stood before them.
    `local_tokens` is what the estimator made of the whole of it."""

    key: Key
    usage: Usage
    hashes: tuple[int, ...]
    fixed_tokens: int
    local_tokens: int
    turn_reasoning: int


class Outlook(Struct, frozen=True, kw_only=True):
    """What is known of a call before it is answered. Without an anchor there is nothing to expect, but one may come of it.

    `hashes` are the canonical ones of its messages; `local_tokens` is what the estimator makes of the whole request, as limits
    and plans weigh it."""

    key: Key
    hashes: tuple[int, ...]
    fixed_tokens: int
    local_tokens: int = 0
    sent_ms: int = 0
    state: GrowthState
    anchor: Anchor | None = None
    addition: Addition | None = None
    expectation: Expectation | None = None


class Anchoring:
    """Remembers the anchor of each session and what was learned per provider, model, estimator and client.

    `recall` gives the pairs that were kept of a key. Used by one thread only.
    """

    def __init__(self, recall: Callable[[Key], Sequence[Pair]] = lambda key: ()) -> None:
        self._recall = recall
        self._anchors: dict[str, Anchor] = {}
        self._states: dict[Key, GrowthState] = {}

    @property
    def learned(self) -> int:
        """For how many providers, models, estimators and clients something was learned."""
        return sum(bool(state.pairs) for state in self._states.values())

    def look_ahead(
        self, session: str, meter: Meter, measures: Measures, hashes: tuple[int, ...], sent_ms: int = 0
    ) -> Outlook:
        """What the call will be said to have sent, if it goes on from the session's anchor. `hashes` are the canonical ones of
        its messages, `sent_ms` is when it is sent."""
        key = _key(meter)
        fixed_tokens = sum(measure.weight for measure in (*measures.system, *measures.tools))
        anchor = self._anchor(session, key)
        outlook = Outlook(
            key=key,
            hashes=hashes,
            fixed_tokens=fixed_tokens,
            sent_ms=sent_ms,
            state=self._state(key, meter),
            anchor=anchor,
        )
        # The call before need not be the anchor: another one, sent at the same time, may have been answered later.
        if anchor is None or hashes[: len(anchor.hashes)] != anchor.hashes:
            return replace(outlook, local_tokens=fixed_tokens + sum(measure.weight for measure in measures.messages))
        added = measures.messages[len(anchor.hashes) :]
        addition = _addition(anchor, outlook, added)
        return replace(
            outlook,
            local_tokens=anchor.local_tokens
            + fixed_tokens
            - anchor.fixed_tokens
            + sum(measure.weight for measure in added),
            addition=addition,
            expectation=expect(outlook.state, addition),
        )

    def line(self, session: str, meter: Meter) -> Anchored | None:
        """What the session's anchor and the law of growth make of local tokens; `None` without an anchor."""
        key = _key(meter)
        anchor = self._anchor(session, key)
        if anchor is None:
            return None
        state = self._state(key, meter)
        conversion = convert_growth(
            state.law, anchor_prompt=anchor.usage.prompt or 0, anchor_tokens=anchor.local_tokens
        )
        return Anchored(conversion=conversion, pairs=len(state.pairs))

    def _anchor(self, session: str, key: Key) -> Anchor | None:
        anchor = self._anchors.get(session)
        return anchor if anchor is not None and anchor.key == key else None

    def settle(self, session: str, outlook: Outlook, usage: Usage | None) -> Pair | None:
        """Learns from what the provider reported, and takes it as the session's anchor; the pair, if it is a sample."""
        if usage is None or not usage.prompt:
            return None
        addition, pair = outlook.addition, None
        turn_reasoning = 0
        if addition is not None:
            pair = self._learn(outlook, addition, usage.prompt)
            turn_reasoning = 0 if addition.ends_turn else addition.turn_reasoning
        self._anchors.pop(session, None)
        self._anchors[session] = Anchor(
            key=outlook.key,
            usage=usage,
            hashes=outlook.hashes,
            fixed_tokens=outlook.fixed_tokens,
            local_tokens=outlook.local_tokens,
            turn_reasoning=turn_reasoning,
        )
        if len(self._anchors) > _SESSIONS:
            del self._anchors[next(iter(self._anchors))]
        return pair

    def _learn(self, outlook: Outlook, addition: Addition, prompt: int) -> Pair | None:
        expected = outlook.expectation.tokens if outlook.expectation is not None else None
        pair = pair_of(outlook.state, addition, prompt, expected=expected, at_ms=outlook.sent_ms)
        if pair is not None:
            self._keep_state(outlook.key, take_pairs(self._states.get(outlook.key, outlook.state), (pair,)))
        return pair

    def _keep_state(self, key: Key, state: GrowthState) -> None:
        """Keeps what is known of a key; the names of models come from clients, so their number is bounded."""
        self._states.pop(key, None)
        self._states[key] = state
        if len(self._states) > _STATES:
            del self._states[next(iter(self._states))]

    def _state(self, key: Key, meter: Meter) -> GrowthState:
        known = self._states.get(key)
        if known is None:
            known = start_growth(meter.growth, meter.retention, own_tokens=meter.counts_the_wire)
            if kept := self._recall(key):
                known = take_pairs(known, kept)
            self._keep_state(key, known)
        return known


def _key(meter: Meter) -> Key:
    return Key(
        method=METHOD,
        provider=meter.provider or "",
        model=meter.model or "",
        estimator=meter.estimator,
        client=meter.client or "",
    )


def _addition(anchor: Anchor, outlook: Outlook, added: Sequence[Measure]) -> Addition:
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
