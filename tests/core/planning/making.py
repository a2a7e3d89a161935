"""Made requests for tests of plans: facts and sizes without any text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from ullage.core.planning import (
    Budget,
    Caps,
    Plan,
    PlanInput,
    SliceFacts,
    Supplement,
    SupplementKind,
    Trim,
    facts_of,
)
from ullage.core.wire import parse_request, read_message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.wire import Dialect

Sized = tuple[SliceFacts, int]
"""A message by its facts and tokens."""

CAPS = Caps(recent_tail=500, pinned=16_000, memory=8_000, history=16_000, project=20_000, summary=12_000)
ROOMY = structs.replace(CAPS, recent_tail=1_000_000)

LISTS = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages", "gemini": "contents"}


def budget(hard: int, active: int | None = None) -> Budget:
    """A budget with these limits; every other figure is the hard limit, too."""
    return Budget(
        context_window=hard,
        output_reserve=0,
        safety_margin=0,
        model_input_hard=hard,
        nominal_hard=hard,
        nominal_soft=hard,
        nominal_preferred=hard,
        ratio=1.0,
        offset=0.0,
        hard=hard,
        soft=hard,
        preferred=hard if active is None else active,
    )


def user(tokens: int = 10) -> Sized:
    return SliceFacts(role="user", opens_turn=True), tokens


def assistant(tokens: int = 10, *calls: str, **more: Any) -> Sized:
    return SliceFacts(role="assistant", calls=calls, **more), tokens


def result(tokens: int = 10, *answers: str, **more: Any) -> Sized:
    return SliceFacts(role="tool", answers=answers, **more), tokens


def system(tokens: int = 10) -> Sized:
    return SliceFacts(role="system"), tokens


def summary(tokens: int = 10) -> Sized:
    return SliceFacts(role="user", summary=True), tokens


def exchange(call: str, tokens: int = 10, **more: Any) -> tuple[Sized, Sized]:
    """A call and its result, which share the tokens."""
    return assistant(tokens - tokens // 2, call, **more), result(tokens // 2, call)


def given(
    *messages: Sized | Iterable[Sized], hard: int = 1_500, active: int | None = None, caps: Caps = CAPS, **more: Any
) -> PlanInput:
    """A request of these messages and exchanges."""
    sized = list(_flat(messages))
    defaults: dict[str, Any] = {"fixed_tokens": 0}
    return PlanInput(
        facts=tuple(fact for fact, _ in sized),
        tokens=tuple(tokens for _, tokens in sized),
        budget=budget(hard, active),
        caps=caps,
        **defaults | more,
    )


def _flat(messages: Iterable[Any]) -> Iterable[Sized]:
    for one in messages:
        if isinstance(one[0], SliceFacts):
            yield one
        else:
            yield from _flat(one)


def supplement(name: str, kind: SupplementKind, tokens: int, score: float = 80.0, **more: Any) -> Supplement:
    sources = {"source_ids": (f"source of {name}",)}
    return Supplement(id=name, kind=kind, text=name, tokens=tokens, score=score, reason="test", **sources | more)


def trim(index: int, before: int, after: int, ordinal: int = 0) -> Trim:
    return Trim(
        index=index,
        ordinal=ordinal,
        call_id=None,
        tokens_before=before,
        tokens_after=after,
        artifact=f"artifact:{index}/{ordinal}",
    )


def read(dialect: Dialect, *messages: Any) -> tuple[SliceFacts, ...]:
    """The facts of messages as they stand on the wire."""
    conversation = parse_request(msgspec.json.encode({LISTS[dialect]: list(messages)}), dialect)
    return tuple(facts_of(read_message(piece, dialect), dialect) for piece in conversation.messages)


def rows(made: Plan) -> dict[str, tuple[bool, str]]:
    """Whether each part of a plan is sent, and why."""
    return {row.id: (row.selected, row.reason) for row in made.groups}


def reasons(made: Plan) -> dict[int, str]:
    """Why each message that is left out is."""
    return {drop.index: drop.reason for drop in made.dropped}


def chosen(made: Plan) -> list[str]:
    """The supplements that are sent, in order."""
    return [placed.supplement_id for placed in made.supplements]


def sizes(made: Plan, given: PlanInput) -> int:
    """What a plan sends, counted anew from its parts."""
    replaced = {(one.index, one.ordinal): one.tokens for one in made.replaced}
    saved = sum(
        trim.tokens_before - replaced[trim.index, trim.ordinal]
        for trim in given.trims
        if (trim.index, trim.ordinal) in replaced
    )
    native = sum(given.tokens[index] for index in made.kept)
    return given.fixed_tokens + native - saved + sum(placed.tokens for placed in made.supplements)
