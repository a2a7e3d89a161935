"""Instruction files that share a message with what the user says, as Claude Code sends them with the first prompt.

Rules outlive the turn that they came with; the words beside them do not: kept without their answer they would read as a task that
nobody has done.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from ullage.core.accounting import measure_message
from ullage.core.content import Message
from ullage.core.wire import read_message
from ullage.core.wire.blocks import count_blocks

from .facts import is_said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting import Measure, Meter
    from ullage.core.wire import Dialect, Slice

    from .facts import SliceFacts

# Sections of the account in which a client's instruction files and skills are found (accounting specification, section 2).
_INSTRUCTIONS = frozenset({"context", "skills"})


def instructs(measure: Measure) -> bool:
    """Whether the client sends instruction files or its index of skills in what was measured."""
    return any(entry.section in _INSTRUCTIONS for entry in measure.entries)


def find_words(piece: Slice, dialect: Dialect, meter: Meter) -> tuple[int, ...]:
    """The numbers of the blocks in which the user speaks, in a message that holds instructions in others; none where the two
    cannot be told apart."""
    message = read_message(piece, dialect)
    if count_blocks(piece, dialect) != len(message.parts):
        return ()
    alone = (Message(role=message.role, parts=(part,)) for part in message.parts)
    rules = [instructs(measure_message(one, meter)) for one in alone]
    if not any(rules):
        return ()
    pairs = enumerate(zip(message.parts, rules, strict=True))
    return tuple(number for number, (part, is_rule) in pairs if not is_rule and is_said(part))


def find_forsaken(facts: Sequence[SliceFacts], kept: Iterable[int], alone: Iterable[int]) -> tuple[int, ...]:
    """Which of the messages that are kept `alone` have lost all of their turn that followed them."""
    sent = frozenset(kept)
    return tuple(index for index in sorted(alone) if index in sent and _is_forsaken(facts, sent, index))


def _is_forsaken(facts: Sequence[SliceFacts], sent: frozenset[int], index: int) -> bool:
    rest = takewhile(lambda place: not facts[place].opens_turn, range(index + 1, len(facts)))
    answers = [place for place in rest if not facts[place].system]
    return bool(answers) and sent.isdisjoint(answers)
