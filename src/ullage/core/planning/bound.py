"""Thinking that its model takes back only behind what it was made on: which of it must be left out of what is sent.

The rule is Anthropic's for its newest models (`profiles.binding`). What an answer was made on is all that was sent before it,
earlier thinking aside, and the thinking that was sent last: the oldest thinking may leave, none between others. What was left out
once stays so, lest what was thought without it becomes useless in its turn, and so that caches hold.

Hashes identify; nothing here is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# All that stands before a place is one number of 128 bits, to which the next hash of as many is added. The factor is odd, the
# fraction of the golden ratio.
_FACTOR = 0x9E3779B97F4A7C15F39CC0605CEDC835
_MASK = (1 << 128) - 1

THINKING_UNBOUND = "thinking_unbound"
"""Warning of a plan: thinking is left out since something before it has changed."""


class Basis(Struct, frozen=True, gc=False):
    """What an answer was made on: `before`, a hash of all that was sent, thinking aside; `thinking`, one of the newest thinking
    in that, 0 without any."""

    before: int
    thinking: int


GONE = Basis(-1, -1)
"""Of an answer whose thinking was left out once, or may have been made on one thing or another."""


Said = tuple[int, int, bool]
"""A message of the client: its hash without thinking, 0 if it is nothing else; a hash of its thinking, 0 without any; whether it
is the model's."""

Sent = tuple[int | None, int]
"""A message as it is to be sent: its number among the client's, `None` for one that has no place there, and its hash without
thinking."""


class Settled(Struct, frozen=True, kw_only=True):
    """What comes of a request: the numbers of the messages whose thinking is left out, the keys of the answers that they belong
    to (`lost`) and of those whose thinking is sent (`held`), and what the coming answer is made on, to be known by `key`; `None`
    where it goes on with an answer that began before."""

    unbound: tuple[int, ...]
    lost: tuple[int, ...]
    held: tuple[int, ...]
    key: int | None
    basis: Basis


class _Answer(NamedTuple):
    """An answer, which may be several messages in a row: the number of the first, the hash of what the client had before it, and
    what it was made on if that was sent as it is."""

    first: int
    key: int
    basis: Basis


def settle(
    said: Sequence[Said], sent: Sequence[Sent], recall: Callable[[int], Basis | None], *, trusting: bool
) -> Settled:
    """Which thinking in what is to be `sent` of the client's messages would be refused.

    `recall` tells what the answer of a key was made on, as far as that is known. What is not known is taken to have been made on
    the client's own messages, if we are `trusting`, and else to be useless.
    """
    answers, key = _find_answers(said)
    chain = newest = 0
    unbound: list[int] = []
    lost: list[int] = []
    held: list[int] = []
    before, holds = -1, False
    for number, mark in sent:
        thought = 0
        if number is not None and (answer := answers.get(number)) is not None:
            if number == answer.first:
                basis = recall(answer.key) or (answer.basis if trusting else GONE)
                holds = basis.before == chain and newest in (0, basis.thinking)
            elif before != number - 1:
                holds = False
            thought = said[number][1]
            if thought and holds:
                held.append(answer.key)
            elif thought:
                unbound.append(number)
                lost.append(answer.key)
                thought = 0
        newest = thought or newest
        if mark or thought:
            chain = (chain * _FACTOR + (mark or thought)) & _MASK
        before = number if number is not None else -1
    basis = Basis(chain, newest)
    return Settled(unbound=tuple(unbound), lost=tuple(lost), held=tuple(held), key=key, basis=basis)


def _find_answers(said: Sequence[Said]) -> tuple[dict[int, _Answer], int | None]:
    """The answer that each message of the model belongs to, and the key of the coming one."""
    chain = newest = 0
    found: dict[int, _Answer] = {}
    answer: _Answer | None = None
    for number, (mark, thought, answers) in enumerate(said):
        if not answers:
            answer = None
        else:
            if answer is None:
                answer = _Answer(number, chain, Basis(chain, newest))
            found[number] = answer
        newest = thought or newest
        if mark or thought:
            chain = (chain * _FACTOR + (mark or thought)) & _MASK
    return found, chain if answer is None else None
