"""Which part of a prompt the provider holds in its cache, and what a change at each place would break (accounting specification,
section 20, item 5): the figures of the last call, laid on the prompt as the calls before it measured it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage.core.accounting.measured import CACHE_SLACK_TOKENS
from ullage.core.accounting.options import NO_OPTIONS
from ullage.core.content import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.accounting.measure import Measure
    from ullage.core.accounting.meter import Meter

_TOOLS_FIRST = ("anthropic", "bedrock")

RowKind = Literal["harness", "tools", "system", "session", "turn"]


class CachedCall(Struct, frozen=True, kw_only=True):
    """One call of a branch: its usage, who was called, how many messages it sent. Times are epoch milliseconds."""

    call: int
    usage: Usage
    start: int = 0
    target: str | None = None
    time_ms: int | None = None

    @property
    def prompt(self) -> int:
        return self.usage.prompt or 0

    def held(self, *, automatic: bool) -> int:
        """Tokens of this prompt that the provider holds afterwards."""
        return self.prompt if automatic else (self.usage.cache_read or 0) + (self.usage.cache_write or 0)


class CacheMark(Struct, frozen=True, kw_only=True):
    """A place up to which the client asked the provider to cache; `index` counts within `kind`, `ttl` is as it wrote it."""

    kind: Literal["tool", "system", "message"]
    index: int
    ttl: str | None = None
    tokens: int | None = None


class CacheRow(Struct, frozen=True, kw_only=True):
    """A stretch of the prompt in the order in which the provider reads it.

    `start` is how many tokens stand before it, `cached` how many of its `tokens` are held, `behind` how many held tokens a change
    of this row would have the provider read anew, its own among them. A turn tells the messages it spans.
    """

    kind: RowKind
    title: str
    start: int
    tokens: int
    cached: int
    behind: int
    first_message: int | None = None
    last_message: int | None = None


class CacheLoss(Struct, frozen=True, kw_only=True):
    """A call that found less in the cache than the call before had left there. `idle_s` is the time between the two."""

    call: int
    expected: int
    read: int
    lost: int
    idle_s: int | None
    switched: bool


class Caching(Struct, frozen=True, kw_only=True):
    """The provider's cache after call number `call`.

    `read`, `written` and `fresh` are its usage and sum to its prompt; `held` is what the next call can read. `automatic` says
    that the provider caches by itself and does not tell what it writes: then `held` is the whole prompt, at most.
    `through_message` is the last message that lies in the cache whole. `read_share` is the part of all prompts of the branch that
    was read from cache. `marks` are `None` where the source does not tell them.
    """

    call: int | None = None
    read: int | None = None
    written: int | None = None
    fresh: int | None = None
    held: int | None = None
    automatic: bool = False
    through_message: int | None = None
    read_share: float | None = None
    rows: tuple[CacheRow, ...] = ()
    losses: tuple[CacheLoss, ...] = ()
    marks: tuple[CacheMark, ...] | None = None


class Harness(Struct, frozen=True):
    """What stands before the messages, piece by piece in the order of the prompt."""

    kind: RowKind
    title: str
    tokens: int


def harness_rows(dialect: str | None, *, tools: int, system: int) -> list[Harness]:
    """The harness in the order of the prompt: Anthropic reads tools before the system prompt; of others that is not known."""
    if dialect in _TOOLS_FIRST:
        return [Harness("tools", "tools", tools), Harness("system", "system prompt", system)]
    return [Harness("harness", "system prompt and tools", tools + system)]


def measured_harness_rows(meter: Meter, system: Sequence[Measure], tools: Sequence[Measure]) -> list[Harness]:
    """The harness as measured, with what stands around it once."""
    rule = meter.rule
    block = rule.tool_block(NO_OPTIONS) if tools else 0
    return harness_rows(
        meter.dialect,
        tools=block + sum(_tokens(measure) for measure in tools),
        system=rule.opening() + rule.hidden(NO_OPTIONS) + sum(_tokens(measure) for measure in system),
    )


def _tokens(measure: Measure) -> int:
    return measure.frame + sum(max(0, entry.tokens) for entry in measure.entries)


def find_caching(
    calls: Sequence[CachedCall],
    messages: Sequence[Measure],
    harness: Sequence[Harness],
    *,
    marks: Sequence[CacheMark] | None = None,
) -> Caching | None:
    """The cache of a branch whose calls are given oldest first; without calls, where the marks are and what they cover. `None` if
    neither a provider nor a client said anything of a cache.

    `harness` is what is known of system prompt and tools; what the first prompt had beyond it and the messages is added to it.
    """
    if marks is None and not any(_tells(call.usage) for call in calls):
        return None
    heads, ends = _lay_out(calls, messages, harness)
    last = calls[-1] if calls else None
    placed = tuple(_placed(mark, heads, ends) for mark in marks) if marks is not None else None
    automatic = _is_automatic(calls)
    held = max((mark.tokens or 0 for mark in placed or ()), default=None)
    held = last.held(automatic=automatic) if last is not None else held
    return Caching(
        call=last.call if last is not None else None,
        read=last.usage.cache_read if last is not None else None,
        written=last.usage.cache_write if last is not None else None,
        fresh=last.usage.input_fresh if last is not None else None,
        held=held,
        automatic=automatic,
        through_message=_through(ends, held or 0, last.start if last is not None else len(ends)),
        read_share=_read_share(calls),
        rows=tuple(_rows(heads, messages, ends, held or 0)),
        losses=tuple(_losses(calls, automatic=automatic)),
        marks=placed,
    )


def cache_without_messages(calls: Sequence[CachedCall], harness: Sequence[Harness]) -> Caching | None:
    """The cache of a branch whose messages are not known: the harness, and the whole conversation as one row."""
    if not any(_tells(call.usage) for call in calls):
        return None
    last, automatic = calls[-1], _is_automatic(calls)
    held = last.held(automatic=automatic)
    heads, top = _place_harness(harness, max(0, last.prompt - sum(piece.tokens for piece in harness)), last.prompt)
    rows = [_row(piece.kind, piece.title, start, start + piece.tokens, held) for piece, start in heads if piece.tokens]
    return Caching(
        call=last.call,
        read=last.usage.cache_read,
        written=last.usage.cache_write,
        fresh=last.usage.input_fresh,
        held=held,
        automatic=automatic,
        read_share=_read_share(calls),
        rows=(*rows, _row("session", "conversation", top, last.prompt, held)),
        losses=tuple(_losses(calls, automatic=automatic)),
    )


def _tells(usage: Usage) -> bool:
    return usage.cache_read is not None or usage.cache_write is not None


def _is_automatic(calls: Sequence[CachedCall]) -> bool:
    """Whether prompts were read from a cache that no call was said to write."""
    return any(call.usage.cache_read for call in calls) and not any(call.usage.cache_write for call in calls)


def _lay_out(
    calls: Sequence[CachedCall], messages: Sequence[Measure], harness: Sequence[Harness]
) -> tuple[list[tuple[Harness, int]], list[int]]:
    """Each piece of the harness with the tokens before it, and the tokens up to the end of each message.

    Every prompt of the branch fixes one place; between two of them the messages share the difference by their estimates. Where a
    later prompt is smaller, something in between was taken out: the earlier places are moved down to it.
    """
    weights = [_tokens(measure) for measure in messages]
    known = [(call.start, call.prompt) for call in calls if call.start <= len(messages)]
    for index in range(len(known) - 2, -1, -1):
        known[index] = known[index][0], min(known[index][1], known[index + 1][1])
    first, prompt = known[0] if known else (len(messages), None)
    heads, top = _place_harness(harness, sum(weights[:first]), prompt)
    ends: list[int] = []
    at, done = top, 0
    for start, upto in [(first, prompt), *known[1:]]:
        ends += _spread(at, upto, weights[done:start])
        at, done = ends[-1] if ends else top, max(done, start)
    return heads, ends + _spread(at, None, weights[done:])


def _place_harness(harness: Sequence[Harness], said: int, prompt: int | None) -> tuple[list[tuple[Harness, int]], int]:
    """The pieces of the harness, the last one with what the first prompt had beyond all that is known."""
    known = sum(piece.tokens for piece in harness)
    room = max(0, prompt - said) if prompt is not None else known
    pieces = list(harness) or [Harness("harness", "system prompt and tools", 0)]
    if room >= known:
        last = pieces[-1]
        pieces[-1] = Harness(last.kind, last.title, last.tokens + room - known)
    else:
        pieces = [Harness(piece.kind, piece.title, piece.tokens * room // known) for piece in pieces]
    starts = itertools.accumulate((piece.tokens for piece in pieces), initial=0)
    return list(zip(pieces, starts, strict=False)), sum(piece.tokens for piece in pieces)


def _spread(at: int, upto: int | None, weights: Sequence[int]) -> list[int]:
    """The ends of messages that begin at `at`, scaled so that the last one ends at `upto`."""
    whole = sum(weights)
    if upto is None or whole == 0:
        return [at + passed for passed in itertools.accumulate(weights)]
    room = max(0, upto - at)
    return [at + room * passed // whole for passed in itertools.accumulate(weights)]


def _rows(
    heads: Sequence[tuple[Harness, int]], messages: Sequence[Measure], ends: Sequence[int], held: int
) -> Iterator[CacheRow]:
    for piece, start in heads:
        if piece.tokens:
            yield _row(piece.kind, piece.title, start, start + piece.tokens, held)
    top = sum(piece.tokens for piece, _ in heads)
    for first, stop in itertools.pairwise([*_turn_starts(messages), len(messages)]):
        begin = ends[first - 1] if first else top
        title = f"message {first}" if stop - first == 1 else f"messages {first} to {stop - 1}"
        yield _row("turn", title, begin, ends[stop - 1], held, first, stop - 1)


def _turn_starts(messages: Sequence[Measure]) -> Iterator[int]:
    """Indexes of the messages that open a turn. What a client puts before and behind the user's words belongs to one turn."""
    answered = True
    for index, measure in enumerate(messages):
        if index == 0 or (measure.opens_turn and answered):
            yield index
            answered = False
        answered = answered or measure.role == "assistant"


def _row(
    kind: RowKind, title: str, start: int, end: int, held: int, first: int | None = None, last: int | None = None
) -> CacheRow:
    return CacheRow(
        kind=kind,
        title=title,
        start=start,
        tokens=end - start,
        cached=max(0, min(end, held) - start),
        behind=max(0, held - start),
        first_message=first,
        last_message=last,
    )


def _through(ends: Sequence[int], held: int, sent: int) -> int | None:
    whole = [index for index, end in enumerate(ends[:sent]) if end <= held]
    return whole[-1] if whole else None


def _placed(mark: CacheMark, heads: Sequence[tuple[Harness, int]], ends: Sequence[int]) -> CacheMark:
    """The mark with the tokens up to it: for one in the harness, to the end of that piece."""
    if mark.kind == "message":
        tokens = ends[mark.index] if mark.index < len(ends) else None
    else:
        kind = "tools" if mark.kind == "tool" else "system"
        tokens = next((start + piece.tokens for piece, start in heads if piece.kind in (kind, "harness")), None)
    return CacheMark(kind=mark.kind, index=mark.index, ttl=mark.ttl, tokens=tokens)


def _read_share(calls: Sequence[CachedCall]) -> float | None:
    reads = [call.usage.cache_read for call in calls if call.usage.cache_read is not None]
    prompts = sum(call.prompt for call in calls)
    return round(sum(reads) / prompts, 4) if reads and prompts else None


def _losses(calls: Sequence[CachedCall], *, automatic: bool) -> Iterator[CacheLoss]:
    for before, after in itertools.pairwise(calls):
        read = after.usage.cache_read
        expected = min(before.held(automatic=automatic), after.prompt)
        if read is None or expected - read <= CACHE_SLACK_TOKENS:
            continue
        times = before.time_ms, after.time_ms
        yield CacheLoss(
            call=after.call,
            expected=expected,
            read=read,
            lost=expected - read,
            idle_s=max(0, times[1] - times[0]) // 1000 if times[0] is not None and times[1] is not None else None,
            switched=before.target != after.target,
        )
