"""Recorded sessions as traces: every request in numbers, so that it can be sent again by another policy.

Messages are weighed by the model's own meter and scaled so that the prompts add up to those that the provider reported:
what came between two calls shares out what the prompt grew by.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from xxhash import xxh3_128_intdigest

from ullage.core.accounting import make_meter, measure_message
from ullage.core.content import Usage
from ullage.core.planning import SliceFacts, facts_of

from .replay_words import WordIndex, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.content import Message
    from ullage.sources import Call, Session

USUAL_HARNESS = 16_000
"""Tokens of system prompt and tools of a session whose beginning is missing: what recorded sessions of coding agents have
in the middle. The rest of its first prompt is history that the file does not hold."""

_encode = msgspec.json.Encoder().encode


class TraceCall(Struct, frozen=True, kw_only=True):
    """One request as it was sent, in the provider's tokens, and what came of it.

    `fixed` are the tokens of system prompt and tools, `unseen` those of history before the file begins; with `tokens` they
    are the whole prompt. `sources` are the messages that words of the recorded reply were taken from, with their number.
    """

    hashes: tuple[int, ...]
    facts: tuple[SliceFacts, ...]
    tokens: tuple[int, ...]
    fixed: int
    unseen: int
    usage: Usage
    time_ms: int
    long: bool
    sources: dict[int, int]

    @property
    def prompt(self) -> int:
        return self.fixed + self.unseen + sum(self.tokens)


class Trace(Struct, frozen=True, kw_only=True):
    """The calls of one file to one provider and model, on the main chain or of one sub-agent, in the order of the file."""

    path: str
    client: str
    provider: str | None
    model: str | None
    dialect: str | None
    agent: str
    headless: bool
    calls: tuple[TraceCall, ...]

    @property
    def largest(self) -> int:
        """Tokens of the largest prompt."""
        return max(call.prompt for call in self.calls)


class _Slice(NamedTuple):
    """One message in numbers."""

    hash: int
    facts: SliceFacts
    tokens: int
    words: frozenset[str]


def read_traces(session: Session) -> list[Trace]:
    """The traces of a session: of its calls whose usage can be trusted."""
    reading = _Reading(session)
    lines: dict[tuple[str | None, str | None, str | None, str], list[TraceCall]] = {}
    for call in session.calls:
        slices = reading.slices(call)
        if not call.trusted or call.usage is None or not slices:
            continue
        key = call.provider, call.model, call.dialect, (call.agent or "side chain") if call.sidechain else ""
        line = lines.setdefault(key, [])
        line.append(_weighed(session, call, slices, line, reading.sources(call)))
    return [
        Trace(
            path=session.path,
            client=session.client,
            provider=provider,
            model=model,
            dialect=dialect,
            agent=agent,
            headless=session.problems.headless,
            calls=tuple(calls),
        )
        for (provider, model, dialect, agent), calls in lines.items()
    ]


class _Reading:
    """Goes through the calls in order; what a call shares with the one it goes on from is read and weighed once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._slices: dict[int, tuple[_Slice, ...]] = {}
        self._followed = {call.previous: call.index for call in reversed(session.calls) if call.previous is not None}
        self._words = WordIndex()

    def slices(self, call: Call) -> tuple[_Slice, ...]:
        """The messages that a call sent. To be called in order, for every call."""
        start = 0
        before: tuple[_Slice, ...] = ()
        if call.previous is not None:
            start = self._session.calls[call.previous].messages
            before = self._slices[call.previous][:start]
        new = self._session.messages(call.index, start, call.messages)
        self._slices[call.index] = (*before, *(self._read(message, call) for message in new))
        return self._slices[call.index]

    def _read(self, message: Message, call: Call) -> _Slice:
        meter = make_meter(dialect=call.dialect, provider=call.provider, model=call.model, client=self._session.client)
        measure = measure_message(message, meter)
        return _Slice(
            hash=xxh3_128_intdigest(_encode(message)),
            facts=facts_of(message, call.dialect or "openai-chat"),
            tokens=measure.frame + sum(entry.tokens for entry in measure.entries) + measure.sealed_tokens,
            words=words_of(message),
        )

    def sources(self, call: Call) -> dict[int, int]:
        """Where the words of the reply come from; nothing where no later call holds the reply."""
        after = self._followed.get(call.index)
        if after is None or not call.reply:
            return {}
        spoken = self._session.messages(after, call.reply[0], call.reply[-1] + 1)
        said = frozenset().union(*map(words_of, spoken))
        return self._words.sources(said, [piece.words for piece in self._slices[call.index]])


def _weighed(
    session: Session, call: Call, slices: Sequence[_Slice], line: Sequence[TraceCall], sources: dict[int, int]
) -> TraceCall:
    assert call.usage is not None
    prompt = call.usage.prompt or 0
    hashes = tuple(piece.hash for piece in slices)
    before = next((one for one in reversed(line) if hashes[: len(one.hashes)] == one.hashes), None)
    raw = [piece.tokens for piece in slices]
    if before is None:
        tokens = raw if sum(raw) <= prompt else list(_share(raw, prompt))
        fixed = prompt - sum(tokens)
        unseen = max(0, fixed - USUAL_HARNESS) if session.problems.headless and not line else 0
        fixed -= unseen
    else:
        new, grown = raw[len(before.hashes) :], prompt - before.prompt
        # A prompt that shrank lost something in its middle: then what came is taken as it was weighed.
        tokens = [*before.tokens, *(_share(new, grown) if grown > 0 and sum(new) > 0 else new)]
        unseen = before.unseen
        fixed = prompt - unseen - sum(tokens)
        if fixed < 0:
            tokens, fixed = list(_share(tokens, prompt - unseen)), 0
    return TraceCall(
        hashes=hashes,
        facts=tuple(piece.facts for piece in slices),
        tokens=tuple(tokens),
        fixed=fixed,
        unseen=unseen,
        usage=call.usage,
        time_ms=call.time_ms or 0,
        long=bool(call.usage.cache_write_1h),
        sources=sources,
    )


def _share(weights: Sequence[int], whole: int) -> Iterator[int]:
    """Shares out the whole by weight, in whole tokens that add up to it."""
    total, done = sum(weights), 0
    for reached in accumulate(weights):
        upto = max(0, whole) * reached // total if total else 0
        yield upto - done
        done = upto
