"""What a choice of the tail goes by, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, ValidationError, convert, structs

from ullage.core.spend import CallPrices

if TYPE_CHECKING:
    from collections.abc import Mapping

TailPolicy = Literal["off", "auto", "epoch-v1"]
"""`off`: the tail is walked anew for every request, as the planner specification says. `auto`: it moves in steps.
`epoch-v1`: the rule of planner specification, section 10.2."""

TailReason = Literal[
    "fits", "held", "first-request", "history-replaced", "new-turn", "cold-cache", "dear", "over-limit"
]
"""Why the tail begins where it does. It stays: all of it `fits` its limit; it is `held` beyond it, since that is cheaper
or saves thinking.
It is chosen: at the `first-request`, or when what it began with is gone (`history-replaced`). It is shortened: at a
`new-turn`, with a `cold-cache`, when holding has cost as much as shortening would (`dear`), and where the input limit
leaves no choice (`over-limit`).
"""


class TailContext(Struct, frozen=True, kw_only=True):
    """What matters of a request for its tail beside what a plan is made from.

    `hashes` are the canonical ones of the messages. `target` is who answers, as `provider/model`: prompts are cached for
    each alone, and for `ttl_ms` without use. `cache_share` is the part of all prompts that was read from cache, over so
    many `samples`. `steady`: who answers loses its thinking when the tail moves, so it does not move inside a turn as long
    as the hard limit allows.
    """

    hashes: tuple[int, ...]
    prices: CallPrices
    target: str
    now_ms: int
    ttl_ms: int
    cache_share: float | None = None
    samples: int = 0
    steady: bool = False


class TailMemory(Struct, frozen=True, kw_only=True):
    """What a session's last choice of its tail leaves to the next one. Plain numbers and names: it may be kept and read
    again.

    `first` is the hash of the oldest message of the tail and `index` its number, `last` and `count` those of the request's
    newest message, `turn` and `opener` those of the message that opened the current turn. `used_ms` is when the target was
    last asked. `rent_usd` is what the tail has cost beyond the shortest one allowed since it last moved (in parts of the
    input price where that is not known). `calls`, `turns` and `grown` (tokens) add up over the session. The rest belongs to
    `epoch-v1`: the hashes of what was sent last, and whether the long tail is in use, for how many losses in a row, and
    when it was last judged.
    """

    target: str
    first: int
    index: int
    last: int
    count: int
    turn: int | None
    opener: int | None
    used_ms: int
    rent_usd: float = 0.0
    calls: int = 1
    turns: int = 1
    grown: int = 0
    sent: tuple[int, ...] = ()
    extended: bool = False
    losses: int = 0
    judged_turn: int = 0


_HASHES = ("first", "last", "turn")


def plain_memory(memory: TailMemory) -> dict[str, Any]:
    """A memory as JSON takes it, hashes as hexadecimal text. What was sent last is left out, which may be long: `epoch-v1` takes
    its cache for cold then, once."""
    plain: dict[str, Any] = {**structs.asdict(memory), "sent": ()}
    return plain | {name: f"{plain[name]:032x}" for name in _HASHES if plain[name] is not None}


def read_memory(plain: Mapping[str, Any]) -> TailMemory | None:
    """A memory that was kept; `None` for what is none, as another version may have left it."""
    try:
        hashes = {name: int(plain[name], 16) for name in _HASHES if plain.get(name) is not None}
        return convert({**plain, **hashes}, TailMemory)
    except (KeyError, TypeError, ValueError, ValidationError):
        return None


class Rejected(Struct, frozen=True, kw_only=True):
    """The other tail that was weighed: where it would begin, what it would hold, what the calls ahead would cost."""

    first: int
    tokens: int
    expected_usd: float | None


class TailChoice(Struct, frozen=True, kw_only=True):
    """Where the tail begins: `first` is the number of its oldest message. `tokens` are those of the messages from there on.

    `warm_prefix_tokens` is what the provider should read from its cache, prompt and tools included. `expected_usd` is what
    the next `calls` calls cost without their answers, `None` where prices are not known. `notes` are the reason codes of
    `epoch-v1`.
    """

    mode: TailPolicy
    first: int
    tokens: int
    reason: TailReason
    moved: bool
    warm_prefix_tokens: int
    calls: int
    expected_usd: float | None
    rejected: Rejected | None = None
    notes: tuple[str, ...] = ()


def continues(memory: TailMemory, hashes: tuple[int, ...]) -> bool:
    """Whether a request goes on from the last one: whether what was its newest message stands where it stood."""
    return 0 < memory.count <= len(hashes) and hashes[memory.count - 1] == memory.last


def find_start(memory: TailMemory | None, hashes: tuple[int, ...]) -> int | None:
    """Where the tail began last time; `None` if that message is gone. Of several that say the same it is the one nearest to
    its place."""
    if memory is None:
        return None
    place = memory.index
    if place < len(hashes) and hashes[place] == memory.first:
        return place
    places = (index for index, number in enumerate(hashes) if number == memory.first)
    return min(places, key=lambda index: abs(index - place), default=None)
