"""What one call adds to the next prompt, and which pairs of calls prove how much (accounting specification, section 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.accounting import Measure
    from ullage.core.content import Usage

Trap = Literal["short_output", "media", "lossy", "broken_off", "switched", "shrunk", "cut", "unrecorded"]
"""Why a pair of calls proves nothing about growth.

Known before the second call: `short_output`, the client logged the answer's first chunk; `media`, a picture or document came in,
which other rules size; `lossy`, a text is no longer in the record; `broken_off`, a failed answer lies between; `switched`, the
model changed. Seen in its usage: `shrunk`, the prompt fell (old results were cleared); `cut`, it grew by less than any tokenizer
makes of the new text (an output was cut for the model, or others were cleared); `unrecorded`, it grew by more (reminders and
tools that are not in the record).
"""

Replay = Literal["all", "turn", "never"]
"""Which hidden reasoning comes back in the next prompt: of all turns, of the current turn only, none at all."""

REPLAYS: tuple[Replay, ...] = ("all", "turn", "never")


class Addition(Struct, frozen=True, kw_only=True):
    """What comes to a prompt before the next call, in tokens and known before that call is sent.

    `prompt` is the last one reported. `output` is what the answer to it can bring back, hidden reasoning included: as logged, or
    counted where the log is short. `reasoning` is the part of it that the answer does not show, `turn_reasoning` the same of all
    calls of the turn up to now; `ends_turn` says that the user speaks again, without results of tools. `new_tokens` are tool
    results, user text and attachments by the estimator, `items` how many they are. `trap` is set where this cannot be a sample.
    """

    prompt: int
    output: int
    new_tokens: float
    items: int = 1
    reasoning: int = 0
    turn_reasoning: int = 0
    ends_turn: bool = False
    trap: Trap | None = None


def addition_after(
    usage: Usage,
    *,
    reply: Sequence[Measure],
    new: Sequence[Measure],
    turn_reasoning: int = 0,
    short_output: bool = False,
    trap: Trap | None = None,
) -> Addition:
    """The addition behind a call of this `usage`: its `reply`, then the `new` messages, all measured by the model's meter.

    `turn_reasoning` is that of the turn's earlier calls. Reasoning is what the provider reported, else what is left of the output
    without the visible answer if that holds a thinking part. Reported reasoning that no part carries cannot come back at all.
    """
    visible = _visible_tokens(reply)
    output = max(usage.output or 0, visible) if short_output else usage.output or 0
    reasoning = min(usage.reasoning or 0, output)
    if not _thinks(reply):
        output -= reasoning
        reasoning = 0
    elif usage.reasoning is None and not short_output:
        reasoning = max(0, output - visible)
    return Addition(
        prompt=usage.prompt or 0,
        output=output,
        new_tokens=sum(entry.tokens for measure in new for entry in measure.entries),
        items=sum(map(_items, new)),
        reasoning=reasoning,
        turn_reasoning=turn_reasoning + reasoning,
        ends_turn=any(measure.opens_turn for measure in new) and not any(map(_has_results, new)),
        trap=trap or ("short_output" if short_output else None),
    )


def dropped_reasoning(addition: Addition, replay: Replay) -> int:
    """Tokens of earlier answers that the next prompt leaves out (accounting specification, section 10).

    With `turn` they stay until the user speaks again; then those of the whole turn go.
    """
    match replay:
        case "all":
            return 0
        case "turn":
            return addition.turn_reasoning if addition.ends_turn else 0
        case "never":
            return addition.reasoning


def _visible_tokens(reply: Sequence[Measure]) -> int:
    shown = [entry.tokens for measure in reply for entry in measure.entries if entry.section != "thinking_summaries"]
    return sum(shown) + sum(measure.frame for measure in reply)


def _thinks(reply: Sequence[Measure]) -> bool:
    return any(
        measure.carries or any(entry.section == "thinking_summaries" for entry in measure.entries) for measure in reply
    )


def _items(measure: Measure) -> int:
    return max(1, sum(entry.section == "tool_outputs" for entry in measure.entries))


def _has_results(measure: Measure) -> bool:
    return any(entry.section == "tool_outputs" for entry in measure.entries)
