"""What came of a replay, in figures that add up over files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.caching import Miss
    from ullage.core.content import Usage

    from .replay_policies import Sent
    from .replay_traces import TraceCall

AGREEMENT = 0.05
"""How far the reads of a played cache may be from those that were reported."""


class Figures(Struct, frozen=True, kw_only=True):
    """A policy over some calls. Tokens are the provider's.

    `prompt_tokens` were sent, of which `read_tokens` came from the cache, for `usd`. `kept_tokens` are those of messages,
    `kept` and `sliding` count the messages that the sliding tail kept: all of them, and those that were sent here too.
    `drawing` counts the calls whose reply draws on earlier messages, `found` adds up for them the part of what they drew on
    that was sent. `rewrites` counts requests that did not begin with the one before.
    """

    calls: int
    prompt_tokens: int
    read_tokens: int
    usd: float
    kept_tokens: int
    sliding: int
    kept: int
    drawing: int
    found: float
    rewrites: int

    @property
    def cache_share(self) -> float:
        """Part of the prompts that came from the cache."""
        return self.read_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def evidence(self) -> float:
        """Part of what a reply draws on that was sent, the middle of all calls."""
        return self.found / self.drawing if self.drawing else 1.0

    @property
    def shared(self) -> float:
        """Part of the sliding tail's messages that were sent here, too."""
        return self.kept / self.sliding if self.sliding else 1.0

    @property
    def kept_per_call(self) -> float:
        """Tokens of messages that a request had."""
        return self.kept_tokens / self.calls if self.calls else 0.0

    def report(self) -> dict[str, Any]:
        """All of it as plain data, what follows from the sums among it."""
        told = {name: getattr(self, name) for name in ("cache_share", "evidence", "shared", "kept_per_call")}
        return asdict(self) | {name: round(value, 6) for name, value in told.items()}


def add_up(several: Sequence[Figures]) -> Figures:
    """The figures of all together."""
    return Figures(**{name: sum(getattr(one, name) for one in several) for name in Figures.__struct_fields__})


class Tally:
    """Counts what a policy sends, call by call."""

    def __init__(self) -> None:
        self._kept: list[frozenset[int]] = []
        self._last: list[int] = []
        self._prompts = self._reads = self._tokens = self._drawing = self._rewrites = 0
        self._usd = self._found = 0.0

    def add(self, call: TraceCall, sent: Sent, *, prompt: int, read: int, usd: float, hashes: list[int]) -> None:
        """One request that was sent: `hashes` of its messages."""
        kept = frozenset(sent.kept)
        self._kept.append(kept)
        self._prompts += prompt
        self._reads += read
        self._usd += usd
        self._tokens += sum(call.tokens[index] for index in kept)
        words = sum(call.sources.values())
        if words:
            self._drawing += 1
            self._found += sum(some for index, some in call.sources.items() if index in kept) / words
        self._rewrites += hashes[: len(self._last)] != self._last
        self._last = hashes

    def figures(self, sliding: Tally) -> Figures:
        """What was counted, beside what the sliding tail kept of the same calls."""
        return Figures(
            calls=len(self._kept),
            prompt_tokens=self._prompts,
            read_tokens=self._reads,
            usd=round(self._usd, 6),
            kept_tokens=self._tokens,
            sliding=sum(map(len, sliding._kept)),
            kept=sum(len(mine & theirs) for mine, theirs in zip(self._kept, sliding._kept, strict=True)),
            drawing=self._drawing,
            found=self._found,
            rewrites=self._rewrites,
        )


class Validation(Struct, frozen=True, kw_only=True):
    """Reads of the played cache against those reported, in tokens over all calls but the first. `causes` has the tokens
    that should have been read and were not, by cause (docs/how-to/prompt-cache.md); `reported` is false where the provider
    tells no reads."""

    calls: int
    expected: int
    read: int
    causes: dict[str, int]
    reported: bool = True

    @property
    def error(self) -> float | None:
        """By what part of the reported reads the played ones are off; `None` where none were reported."""
        return (self.expected - self.read) / self.read if self.read else None

    @property
    def agrees(self) -> bool:
        """Whether both are as good as the same."""
        return abs(self.expected - self.read) <= AGREEMENT * self.read

    def report(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self) | {"error": self.error, "agrees": self.agrees}

    @staticmethod
    def add_up(several: Iterable[Validation]) -> Validation:
        """Several together, but for those that nothing was reported of."""
        told = [one for one in several if one.reported]
        causes: Counter[str] = Counter()
        for one in told:
            causes.update(one.causes)
        return Validation(
            calls=sum(one.calls for one in told),
            expected=sum(one.expected for one in told),
            read=sum(one.read for one in told),
            causes=dict(causes),
        )


def validate(calls: Iterable[tuple[int, Usage, Miss | None]]) -> Validation:
    """Compares call by call: what was expected, what was reported, and the miss where that was clearly less."""
    expected = read = number = 0
    causes: Counter[str] = Counter()
    reported = False
    for tokens, usage, miss in calls:
        number += 1
        reported = reported or usage.cache_read is not None
        expected += tokens
        read += usage.cache_read or 0
        if miss is not None and miss.missed_tokens:
            causes[miss.cause] += miss.missed_tokens
    return Validation(calls=number, expected=expected, read=read, causes=dict(causes), reported=reported or number == 0)
