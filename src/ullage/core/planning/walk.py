"""The recent tail: newest parts first, until one does not fit (planner specification, section 13.2, step 7).

Four rules are ours. The exchanges of the current turn come before older turns, under the input limit alone; an older turn is
taken only if the current one is whole. Messages of the user right before the request come first of all, within a share of the
room. What a provider would refuse is left out, and the walk goes on behind it. And parts may be sent with their large results
as references before they are left out (weakness W14).

However parts, caps and trims lie, a smaller limit never gives a longer tail.
"""

from __future__ import annotations

from itertools import accumulate, takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from .parts import Part
from .reasons import Reason
from .request import Trim

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .parts import Parts

# Messages right before the request may take a quarter of the room before anything else does: they are short, or mere context.
_LEAD_SHARE = 4
# A quarter of the room is for parts with references in place of large results, so that they do not push out newer ones that are
# whole.
_TRIMMED_SHARE = 4


class Choice(Struct, frozen=True, gc=False):
    """A part, whether it is sent, and why."""

    part: Part
    selected: bool
    reason: Reason


class Bounds(Struct, frozen=True, kw_only=True):
    """How far a tail may reach, in tokens.

    `free` is for all of it. `cap` is the most of the recent tail, of which the current turn has taken `current` already;
    without one, `free` alone holds. `start` is the oldest message of a tail that was chosen. `rescue`: the first older turn may
    exceed the cap.
    """

    free: int
    cap: int | None = None
    current: int = 0
    start: int = 0
    rescue: bool = False


class Walked(Struct, frozen=True, kw_only=True):
    """The parts walked over; `tokens` of what is sent, with the `trims` that are made; `rescued` is the turn that was taken
    although it is larger than the cap."""

    choices: tuple[Choice, ...]
    trims: tuple[Trim, ...]
    tokens: int
    rescued: Part | None


def walk_tail(parts: Parts, bounds: Bounds) -> Walked:
    """Walks lead-ins, exchanges and older turns."""
    walk = _Walk(bounds, opener=min((part.first for part in parts.current if part.thinking), default=None))
    leads = walk.take_lead_ins(parts.lead_ins)
    walk.take_exchanges(parts.exchanges)
    walk.take_older((*parts.lead_ins[leads:], *parts.turns), rescue=bounds.rescue and leads == 0)
    return walk.close()


class _Walk:
    def __init__(self, bounds: Bounds, *, opener: int | None) -> None:
        self._bounds = bounds
        self._opener = opener
        self._reserved = 0
        self._tokens = 0
        self._whole = True
        self._choices: list[Choice] = []
        self._trims: list[Trim] = []
        self._rescued: Part | None = None

    def take_lead_ins(self, parts: Sequence[Part]) -> int:
        """Takes the newest of them, and returns how many."""
        share = min(self._bounds.free // _LEAD_SHARE, sum(part.tokens for part in parts))
        room = min(share, self._cap_room())
        taken = 0
        for part in parts:
            if part.broken or part.tokens > room:
                break
            room -= part.tokens
            taken += 1
        self._take(parts[:taken])
        self._reserved = share - self._tokens
        return taken

    def take_exchanges(self, parts: Sequence[Part]) -> None:
        """Takes the newest exchanges of the current turn."""
        sound = self._leave_broken(parts)
        candidates = self._since_start(sound)
        reached, trims = _reach(candidates, self._room() - self._reserved)
        taken = reached if reached == len(sound) else self._begin_with_thinking(candidates[:reached])
        self._take(candidates[:taken], trims)
        self._whole = taken == len(sound) and not self._trims
        self._leave(candidates[taken:reached], "thinking-first")
        self._leave(candidates[reached : reached + 1], "input-budget")
        self._leave(candidates[reached + 1 :], "recent-tail-closed")
        self._leave(sound[len(candidates) :], "before-tail")

    def take_older(self, parts: Sequence[Part], *, rescue: bool) -> None:
        """Takes the newest of older turns, if nothing newer was left out. `rescue` is whether the first may exceed the cap."""
        sound = self._leave_broken(parts)
        if not self._whole:
            self._leave(sound, "recent-tail-closed")
            return
        candidates = self._since_start(sound)
        taken, trims = _reach(candidates, min(self._room(), self._cap_room()))
        if not taken and rescue and self._bounds.cap:
            taken, trims = _reach(candidates[:1], self._room())
            self._rescued = candidates[0] if taken else None
        self._take(candidates[:taken], trims)
        left = candidates[taken:]
        if left and self._rescued is None:
            self._leave(left[:1], self._misfit(left[0]))
            left = left[1:]
        self._leave(left, "recent-tail-closed")
        self._leave(sound[len(candidates) :], "before-tail")

    def _leave_broken(self, parts: Sequence[Part]) -> list[Part]:
        self._leave([part for part in parts if part.broken], "broken-exchange")
        return [part for part in parts if not part.broken]

    def _since_start(self, parts: Sequence[Part]) -> list[Part]:
        return list(takewhile(lambda part: part.first >= self._bounds.start, parts))

    def _begin_with_thinking(self, parts: Sequence[Part]) -> int:
        """How many of the newest exchanges are taken so that the loop begins with thinking, if any of it thinks: Anthropic
        refuses it otherwise. What comes behind a mandatory exchange that thinks may be anything."""
        if self._opener is None:
            return len(parts)
        fit = (number for number, part in enumerate(parts, 1) if part.thinking or part.first > self._opener)
        return max(fit, default=0)

    def _misfit(self, part: Part) -> Reason:
        over_input = part.tokens > self._room()
        if self._bounds.cap is not None and part.tokens > self._cap_room():
            return "recent-tail-and-input-budget" if over_input else "recent-tail-limit"
        return "input-budget"

    def _room(self) -> int:
        return max(0, self._bounds.free - self._tokens)

    def _cap_room(self) -> int:
        bounds = self._bounds
        return self._room() if bounds.cap is None else max(0, bounds.cap - bounds.current - self._tokens)

    def _take(self, parts: Iterable[Part], trims: Sequence[Trim] = ()) -> None:
        indices: set[int] = set()
        for part in parts:
            self._tokens += part.tokens
            indices.update(part.indices)
            self._choices.append(Choice(part, True, "rescued-predecessor" if part is self._rescued else "recent-tail"))
        made = [trim for trim in trims if trim.index in indices]
        self._tokens -= sum(trim.saved for trim in made)
        self._trims += made

    def _leave(self, parts: Iterable[Part], reason: Reason) -> None:
        for part in parts:
            background = part.kind == "history" and reason != "broken-exchange"
            self._choices.append(Choice(part, False, "background-without-retrieval" if background else reason))

    def close(self) -> Walked:
        return Walked(
            choices=tuple(self._choices), trims=tuple(self._trims), tokens=self._tokens, rescued=self._rescued
        )


def _reach(parts: Sequence[Part], room: int) -> tuple[int, tuple[Trim, ...]]:
    """How many of the newest parts fit into the room, and the trims that are made in them.

    As many as fit whole, and one more if it fits with its trims. Or else those that fit whole into most of the room, and with
    their trims as many more as fit into the rest, if that is further. Or, since the newest is too large to be whole for a while,
    as many as fit with their trims meanwhile. What room is left then goes to the newest results.
    """
    full = taken = count_fitting([part.tokens for part in parts], room)
    if taken < len(parts):
        left = room - sum(part.tokens for part in parts[:full])
        taken += parts[full].least <= left
        share = room - room // _TRIMMED_SHARE
        short = count_fitting([part.tokens for part in parts], share)
        none_whole = min(room, parts[0].tokens - 1)
        for whole, rest in ((short, room - share), (0, none_whole)):
            further = whole + count_fitting([part.least for part in parts[whole:]], rest)
            if further > taken:
                full, taken = whole, further
    left = room - sum(part.tokens for part in parts[:full]) - sum(part.least for part in parts[full:taken])
    return taken, _made_trims(parts[full:taken], left)


def count_fitting(sizes: Iterable[int], room: int) -> int:
    """How many of the sizes fit, up to the first that does not."""
    return sum(1 for _ in takewhile(lambda reached: reached <= room, accumulate(sizes)))


def _made_trims(parts: Sequence[Part], room: int) -> tuple[Trim, ...]:
    """The trims of the parts without those of the newest results that there is room for, up to the first that does not fit:
    large results are whole from some point on."""
    trims = sorted((trim for part in parts for trim in part.trims), key=_place, reverse=True)
    return tuple(trims[count_fitting([trim.saved for trim in trims], room) :])


def _place(trim: Trim) -> tuple[int, int]:
    return trim.index, trim.ordinal
