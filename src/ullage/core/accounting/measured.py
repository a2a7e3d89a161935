"""What usage proves about the parts of a prompt (accounting specification, sections 8 to 10), from plain records."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.content import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.profiles import Retention

CACHE_SLACK_TOKENS = 2_048
"""A prompt that goes on from another is read from cache but for its last tokens; more missing means something was replaced."""

PRELUDE_LIMIT_TOKENS = 4_096
"""A longer beginning is estimated too loosely to be subtracted."""


class CallFacts(Struct, frozen=True, kw_only=True):
    """One trusted call of a branch.

    `start` is how many messages it sent, `reply` the indexes of its answer's messages in what goes on from it. `turn` counts the
    user's messages before it. `carrier` says that its answer lets the provider replay hidden reasoning, `output_unsure` that the
    client logged too small an output: such a call anchors an estimate, but proves nothing about what followed it.
    """

    usage: Usage
    provider: str | None = None
    api: str | None = None
    model: str | None = None
    start: int = 0
    reply: tuple[int, ...] = ()
    turn: int = 0
    carrier: bool = False
    output_unsure: bool = False

    @property
    def identity(self) -> tuple[str | None, str | None, str | None]:
        """Who was called: figures of different ones never meet."""
        return self.provider, self.api, self.model

    @property
    def prompt(self) -> int:
        return self.usage.prompt or 0


def measured_growth(before: CallFacts, after: CallFacts) -> int | None:
    """Tokens by which the prompt grew beyond the replayed answer, or `None` where that proves nothing.

    It proves what lay between the calls if both are of one model and the second one read the first one's prompt from cache.
    """
    if before.output_unsure:
        return None
    grown = after.prompt - before.prompt - replayed(before)
    return grown if goes_on(before, after) and grown >= 0 else None


def measured_harness(calls: Sequence[CallFacts], prelude_tokens: int) -> int | None:
    """Tokens of system prompt and tools, from the first prompt; `None` where that is not proven.

    `calls` are the trusted calls from the conversation's beginning up to the anchor, without a compaction among them;
    `prelude_tokens` is the estimate of the messages that the first one sent.
    """
    if not calls or prelude_tokens > PRELUDE_LIMIT_TOKENS:
        return None
    if not all(goes_on(before, after) for before, after in itertools.pairwise(calls)):
        return None
    harness = calls[0].prompt - prelude_tokens
    return harness if harness >= 0 else None


class Reasoning(Struct, frozen=True, kw_only=True):
    """Reported reasoning that is part of a prompt; `calls` are the indexes of the calls it came from."""

    tokens: int
    calls: tuple[int, ...]


def retained_reasoning(calls: Sequence[CallFacts], retention: Retention, *, with_anchor: bool) -> Reasoning | None:
    """Reasoning of earlier calls that the prompt still holds. The last call is the anchor; `with_anchor` adds its own.

    `None` if no call of the anchor's model reported any. If the history exceeds the anchor's prompt, none of it is there.
    """
    if not calls:
        return None
    anchor = calls[-1]
    reported = {
        index: tokens for index, call in enumerate(calls) if (tokens := _reasoning_of(call, anchor)) is not None
    }
    if not reported:
        return None
    last = len(calls) - 1
    kept = [index for index in reported if index != last and _is_retained(calls[index], anchor, retention)]
    if sum(reported[index] for index in kept) > anchor.prompt:
        kept = []
    if with_anchor and last in reported:
        kept.append(last)
    return Reasoning(tokens=sum(reported[index] for index in kept), calls=tuple(kept))


def _reasoning_of(call: CallFacts, anchor: CallFacts) -> int | None:
    return call.usage.reasoning if call.identity == anchor.identity else None


def _is_retained(call: CallFacts, anchor: CallFacts, retention: Retention) -> bool:
    if not call.carrier or retention == "none_known":
        return False
    return retention == "all" or call.turn == anchor.turn


def replayed(call: CallFacts) -> int:
    """Tokens that a call's answer adds to the next prompt: its reported output but for reasoning that cannot be replayed."""
    dropped = 0 if call.carrier else (call.usage.reasoning or 0)
    return (call.usage.output or 0) - dropped


def goes_on(before: CallFacts, after: CallFacts) -> bool:
    """Whether the second call read the prompt of the first from cache, so that both are one prompt that grew."""
    unread = before.prompt - (after.usage.cache_read or 0)
    return before.identity == after.identity and unread <= CACHE_SLACK_TOKENS
