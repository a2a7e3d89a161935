"""A request as its provider reads it for its cache: tools, system, messages, each slice by its hash and its tokens."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import xxhash
from msgspec import Struct

from ullage.core.wire import SliceKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Place(Struct, frozen=True, gc=False):
    """A slice by its kind and its index within the kind."""

    kind: SliceKind
    index: int


class Mark(Struct, frozen=True, gc=False):
    """A place up to which the client asks to cache: `position` slices from the start. `long` asks for the longer time."""

    position: int
    long: bool = False


class Chain(Struct, frozen=True, kw_only=True, gc=False):
    """One request in provider order. Positions count slices from the start: a prefix at position p holds the first p slices.

    `hashes` are canonical (marks and the order of keys do not count), `ends` are our own tokens up to the end of each slice.
    The first `tools` slices are tools, the next `system` ones system blocks, the others messages. `options` is a hash of those
    options whose change makes held messages useless; `long` says that the request asks for the longer time as a whole. `turn` is
    the position behind the message that opened the current turn, 0 where that is not known.
    """

    hashes: tuple[int, ...]
    ends: tuple[int, ...]
    tools: int = 0
    system: int = 0
    marks: tuple[Mark, ...] = ()
    options: int = 0
    long: bool = False
    turn: int = 0

    @property
    def depth(self) -> int:
        """How many slices there are."""
        return len(self.hashes)

    @property
    def harness(self) -> int:
        """How many slices stand before the messages."""
        return self.tools + self.system

    @property
    def tokens(self) -> int:
        """Our own tokens of all slices."""
        return self.ends[-1] if self.ends else 0

    def tokens_to(self, position: int) -> int:
        """Our own tokens of the prefix at `position`."""
        return self.ends[position - 1] if position else 0


def make_chain(
    hashes: Sequence[int],
    weights: Iterable[int],
    *,
    tools: int = 0,
    system: int = 0,
    marks: Iterable[Mark] = (),
    options: int = 0,
    long: bool = False,
    turn: int = 0,
) -> Chain:
    """A chain of slices with these hashes and tokens, in provider order."""
    return Chain(
        hashes=tuple(hashes),
        ends=tuple(accumulate(weights)),
        tools=tools,
        system=system,
        marks=tuple(marks),
        options=options,
        long=long,
        turn=turn,
    )


def shared_length(old: tuple[int, ...], new: tuple[int, ...]) -> int:
    """How many leading hashes are the same, found by halving: comparing runs costs far less than one by one."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def chain_digest(hashes: tuple[int, ...]) -> str:
    """One hash of a run of hashes, by which it is known again after a restart. It is no defence against crafted collisions."""
    return xxhash.xxh3_128_hexdigest(b"".join(number.to_bytes(16, "big") for number in hashes))
