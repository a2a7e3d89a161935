"""Which memories a request gets: those that share words with it, else the newest few (planner specification, section 15.3)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from .evidence_text import memory_text
from .mutations import Item
from .terms import REQUEST_CHARS, find_terms, holds, joined, says_something

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .changes import Count
    from .memory import MemoryLimits

_BASE = 30
_SCOPE = {"session": 8, "project": 4}
_KEY = 45
_TERM = 12
_TERMS_MOST = 60
_RECENT = 3
"""Points and numbers of planner specification, section 15.3."""

_FEW = 3
_SHARE = 8
"""A term that more than three claims and an eighth of them hold tells them apart less and less: it counts for less than 12."""

RECENT = "recent"


class Ranked(Struct, frozen=True):
    """A memory with its points. `reason` says what matched in numbers, never in words of the request."""

    item: Item
    score: float
    reason: str

    @property
    def is_match(self) -> bool:
        """Whether it shares anything with the request."""
        return self.reason != RECENT

    @property
    def text(self) -> str:
        """The message that it is."""
        return memory_text(self.item, self.score, self.reason)

    @property
    def steady_text(self) -> str:
        """The same for every request that gets it."""
        return memory_text(self.item)


class Chosen(NamedTuple):
    """What a request gets, the best first, and what it would get if there were room, with the limit that is in the way."""

    taken: tuple[Ranked, ...]
    left_out: tuple[tuple[Ranked, str], ...]


def rank(memories: Sequence[Item], request: str) -> tuple[Ranked, ...]:
    """Those that share their key or a word with the text of a request, the best first; the three newest if none does."""
    begin = request[:REQUEST_CHARS]
    words = joined(begin)
    claims = [_words_of(item.text) for item in memories]
    holders = {term: [term in claim for claim in claims] for term in find_terms(begin)}
    weights = [(_weigh(sum(held), len(claims)), held) for held in holders.values() if any(held)]
    found = [[weight for weight, held in weights if held[place]] for place in range(len(claims))]
    ranked = [_score(item, words, terms) for item, terms in zip(memories, found, strict=True)]
    matched = [one for one in ranked if one.is_match]
    newest = sorted(ranked, key=lambda one: (-one.item.created_ms, one.item.id))[:_RECENT]
    return tuple(sorted(matched or newest, key=lambda one: (-one.score, -one.item.created_ms, one.item.id)))


def choose(ranked: Iterable[Ranked], limits: MemoryLimits, count: Count) -> Chosen:
    """Takes them in their order as long as they fit; one that does not is skipped."""
    taken: list[Ranked] = []
    left_out: list[tuple[Ranked, str]] = []
    left = limits.tokens
    for one in ranked:
        if len(taken) >= limits.results:
            left_out.append((one, "memory-results"))
        elif (tokens := count(one.text)) > left:
            left_out.append((one, "memory-budget"))
        else:
            taken.append(one)
            left -= tokens
    return Chosen(tuple(taken), tuple(left_out))


def _score(item: Item, words: str, terms: Sequence[float]) -> Ranked:
    """`words` are those of the request, `terms` the weights of its terms that the claim holds."""
    key = _words_of(item.key or "")
    is_key = says_something(key) and holds(words, key)
    points = min(_TERMS_MOST, _TERM * sum(terms))
    score = _BASE + _SCOPE.get(item.scope, 0) + (_KEY if is_key else 0) + points
    said = ["key"] * is_key + [f"{len(terms)} term{'s' if len(terms) > 1 else ''}"] * bool(terms)
    return Ranked(item, math.floor(score * 1e6 + 0.5) / 1e6, ", ".join(said) or RECENT)


@lru_cache(maxsize=2048)
def _words_of(text: str) -> str:
    """Claims are looked through at each request."""
    return joined(text)


def _weigh(holders: int, claims: int) -> float:
    """1 for a term that few claims hold, down to 0 for one that all hold."""
    few = max(_FEW, claims / _SHARE)
    return 1.0 if holders <= few else math.log(claims / holders) / math.log(claims / few)
