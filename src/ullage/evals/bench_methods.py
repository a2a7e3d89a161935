"""Ways of choosing which messages of a history stay: those of common libraries, lexical ranking, and ours."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ullage.core.planning.assembling import limit_budget
from ullage.core.planning.facts import SliceFacts
from ullage.core.planning.plan import plan
from ullage.core.planning.request import Caps, PlanInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .bench import BenchMessage, History, Query

TAIL_SHARE = 0.25
"""Of the budget, kept for the newest units by the methods that rank."""

# Okapi BM25 with the usual constants.
_K1, _B = 1.2, 0.75
_WORD = re.compile(r"\w+")


class Select(Protocol):
    """Chooses messages of a history, by their numbers."""

    def __call__(self, query: Query, limit: int, /) -> Sequence[int]: ...


class Unit(NamedTuple):
    """Messages that a ranking takes or leaves as one, and their tokens."""

    indices: tuple[int, ...]
    tokens: int


def truncate(history: History) -> Select:
    """The newest messages that fit, whatever belongs to them, as common libraries trim."""
    tokens = history.facts.tokens

    def select(query: Query, limit: int, /) -> Sequence[int]:
        left, first = limit, len(tokens)
        while first and tokens[first - 1] <= left and not history.facts.facts[first - 1].system:
            first -= 1
            left -= tokens[first]
        return range(first, len(tokens))

    return select


def rank_turns(history: History) -> Select:
    """BM25 over whole turns, behind a tail of the newest ones."""
    return _ranked(history, _turns(history))


def rank_atoms(history: History) -> Select:
    """BM25 over atoms (a message, or calls with all their results), behind a tail of the newest ones."""
    return _ranked(history, _atoms(history))


def planned(history: History) -> Select:
    """What managed mode keeps with pins alone: pinned messages are pins, and all that is left of the limit is the tail's."""
    facts = (*history.facts.facts, SliceFacts(role="user", opens_turn=True))
    tokens = (*history.facts.tokens, 0)
    pinned = frozenset(index for index, message in enumerate(history.messages) if message.pinned)

    def select(query: Query, limit: int, /) -> Sequence[int]:
        made = plan(
            PlanInput(
                facts=facts,
                tokens=tokens,
                fixed_tokens=0,
                budget=limit_budget(limit),
                caps=Caps(recent_tail=limit, pinned=limit, memory=0, history=0, project=0, summary=0),
                pinned=pinned,
            )
        )
        return [index for index in made.kept if index < len(history.messages)]

    return select


METHODS: dict[str, Callable[[History], Select]] = {
    "truncation": truncate,
    "BM25 over turns + 25 % tail": rank_turns,
    "BM25 over atoms + 25 % tail": rank_atoms,
    "plan: pins and tail": planned,
}


def _turns(history: History) -> list[Unit]:
    by_turn: dict[int, list[int]] = {}
    for index, message in enumerate(history.messages):
        if not history.facts.facts[index].system:
            by_turn.setdefault(message.turn, []).append(index)
    return [_unit(history, indices) for indices in by_turn.values()]


def _atoms(history: History) -> list[Unit]:
    calls: dict[str, int] = {}
    members: dict[int, list[int]] = {}
    for index, message in enumerate(history.messages):
        if not history.facts.facts[index].system:
            members.setdefault(calls.get(message.tool_call_id or "", index), []).append(index)
            calls |= {call.id: index for call in message.tool_calls}
    return [_unit(history, indices) for indices in members.values()]


def _unit(history: History, indices: Iterable[int]) -> Unit:
    found = tuple(indices)
    return Unit(found, sum(history.facts.tokens[index] for index in found))


def _ranked(history: History, units: Sequence[Unit]) -> Select:
    ranking = Bm25([" ".join(_text(history.messages[index]) for index in unit.indices) for unit in units])

    def select(query: Query, limit: int, /) -> Sequence[int]:
        chosen, used = _newest(units, math.floor(limit * TAIL_SHARE))
        for number in ranking.rank(query.query):
            if number not in chosen and used + units[number].tokens <= limit:
                chosen.add(number)
                used += units[number].tokens
        return sorted(index for number in chosen for index in units[number].indices)

    return select


def _newest(units: Sequence[Unit], limit: int) -> tuple[set[int], int]:
    """The newest units in an unbroken run."""
    used, number = 0, len(units)
    while number and used + units[number - 1].tokens <= limit:
        number -= 1
        used += units[number].tokens
    return set(range(number, len(units))), used


class Bm25:
    """Ranks texts by a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(_words(text)) for text in texts]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._damping = [_K1 * (1 - _B + _B * length / (mean or 1.0)) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, count in enumerate(counts):
            for word, times in count.items():
                self._postings.setdefault(word, []).append((number, times))

    def rank(self, query: str) -> list[int]:
        """The texts that share a word with the query, the best first, of equals the newest."""
        scores: dict[int, float] = defaultdict(float)
        for word in set(_words(query)):
            postings = self._postings.get(word, ())
            rarity = math.log(1 + (len(self._damping) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, times in postings:
                scores[number] += rarity * times * (_K1 + 1) / (times + self._damping[number])
        return sorted(scores, key=lambda number: (-scores[number], -number))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _text(message: BenchMessage) -> str:
    return " ".join((message.content, *(f"{call.name} {call.arguments}" for call in message.tool_calls)))
