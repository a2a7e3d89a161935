"""The next prompt of a recorded session, by what its own calls teach (`growth-v1`, accounting specification, section 24)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ullage.core.accounting import Total
from ullage.core.calibration import METHOD, TUNING, Addition, addition_after, expect, learn, start_growth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.accounting import Measure, Meter
    from ullage.sources import Call


def expect_next(meter: Meter, chain: Sequence[Call], messages: Sequence[Measure]) -> Total | None:
    """The prompt that `messages` make, anchored on the last call of `chain` and learned from the pairs before it.

    `chain` are the trusted calls that lead here, oldest first; `None` without one, or if another model is spoken to now.
    """
    if not chain or chain[-1].model != meter.model:
        return None
    state = start_growth(meter.growth, meter.retention, own_tokens=meter.counts_the_wire)
    turn_reasoning = 0
    recent = chain[-TUNING.window - 1 :]
    for before, after in itertools.pairwise(recent):
        addition = _addition(before, messages[before.messages : after.messages], turn_reasoning, lossy=after.lossy)
        turn_reasoning = 0 if addition.ends_turn else addition.turn_reasoning
        if before.model == after.model == meter.model and after.usage is not None:
            state = learn(state, addition, after.usage.prompt or 0)
    anchor = chain[-1]
    behind = _addition(anchor, messages[anchor.messages :], turn_reasoning, lossy=False)
    expected = expect(state, behind)
    return Total(tokens=expected.tokens, low=expected.low, high=expected.high, kind="estimate", method=METHOD)


def _addition(before: Call, between: Sequence[Measure], turn_reasoning: int, *, lossy: bool) -> Addition:
    assert before.usage is not None, "a trusted call has usage"
    reply = set(before.reply)
    placed = list(enumerate(between, before.messages))
    return addition_after(
        before.usage,
        reply=[measure for index, measure in placed if index in reply],
        new=[measure for index, measure in placed if index not in reply],
        turn_reasoning=turn_reasoning,
        short_output=before.output_unsure,
        trap="lossy" if lossy else None,
    )
