"""Thinking that is taken back only behind what it was made on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.planning.bound import GONE, Basis, Sent, Settled, settle

OURS = 7_000_000


def nothing(key: int) -> Basis | None:
    """What is known at the start."""
    return None


class Said(NamedTuple):
    """A message of the client."""

    mark: int
    thought: int
    answers: bool


class Signed(NamedTuple):
    """An answer as its model sees it again: what stood before it, and the thinking before it."""

    before: tuple[int, ...]
    thinking: int


class Session:
    """A client whose conversation only grows, and a model that refuses thinking behind something else."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.known: dict[int, Basis] = {}
        self.signed: dict[int, Signed] = {}
        self.unbound: list[tuple[int, ...]] = []
        self.keys: list[int] = []

    def ask(self, dropped: int = 0, ours: Sequence[int] = (), *, trusting: bool = True, thinks: bool = True) -> Settled:
        """A question and its answer; `dropped` of the oldest messages are not sent, `ours` are put in before the question."""
        number = len(self.said)
        self.said.append(Said(1_000 + number, 0, False))
        sent: list[Sent] = [(place, self.said[place].mark) for place in range(dropped, number + 1)]
        sent[-1:-1] = [(None, OURS + one) for one in ours]
        return self.send(sent, trusting=trusting, thinks=thinks)

    def send(self, sent: Sequence[Sent], *, trusting: bool = True, thinks: bool = True) -> Settled:
        settled = settle(self.said, sent, self.known.get, trusting=trusting)
        self.known |= dict.fromkeys(settled.lost, GONE)
        assert settled.key is not None
        self.known[settled.key] = settled.basis
        self.keys.append(settled.key)
        self.unbound.append(settled.unbound)
        marks, newest = self.look_at(sent, settled.unbound)
        number = len(self.said)
        self.signed[number] = Signed(marks, newest)
        self.said.append(Said(1_000 + number, 2_000 + number if thinks else 0, True))
        return settled

    def look_at(self, sent: Sequence[Sent], unbound: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """What the model sees of a request; it refuses thinking that was made behind something else."""
        marks: tuple[int, ...] = ()
        newest = 0
        for place, mark in sent:
            thought = self.said[place].thought if place is not None and place not in unbound else 0
            if thought and place is not None:
                assert self.signed[place].before == marks
                assert newest in (0, self.signed[place].thinking)
                newest = thought
            marks = (*marks, mark)
        return marks, newest

    def thinking(self) -> set[int]:
        return {number for number, one in enumerate(self.said) if one.thought}


def test_where_all_is_sent_all_thinking_stays() -> None:
    session = Session()
    for _ in range(4):
        assert session.ask().unbound == ()


def test_what_leaves_takes_all_thinking_behind_it_along_for_good() -> None:
    session = Session()
    for _ in range(4):
        session.ask()
    assert session.ask(dropped=2).unbound == (3, 5, 7)
    assert session.ask(dropped=2).unbound == (3, 5, 7)
    assert session.ask(dropped=0).unbound == (1, 3, 5, 7, 9, 11)[1:]


def test_what_was_thought_since_stays() -> None:
    session = Session()
    for dropped in (0, 0, 2, 2, 2):
        session.ask(dropped)
    assert session.unbound[-1] == (3,)
    assert session.ask(dropped=4).unbound == (5, 7, 9)


def test_what_was_put_in_and_is_not_again_counts_as_well() -> None:
    session = Session()
    session.ask()
    session.ask(ours=(1,))
    assert session.ask().unbound == (3,)
    assert session.ask(ours=(1,)).unbound == (3,)


def test_thinking_before_what_changes_stays() -> None:
    session = Session()
    for _ in range(3):
        session.ask()
    session.said.append(Said(1, 0, False))
    kept = [(place, session.said[place].mark) for place in (0, 1, 4, 5, 6)]
    assert session.send(kept).unbound == (5,)


def test_another_text_of_a_message_counts() -> None:
    session = Session()
    session.ask()
    session.ask()
    session.said.append(Said(1, 0, False))
    sent = [(place, one.mark) for place, one in enumerate(session.said)]
    assert session.send([*sent[:2], (2, 99), *sent[3:]]).unbound == (3,)


def test_what_is_not_known_is_taken_for_the_clients_own_unless_that_cannot_be_trusted() -> None:
    session = Session()
    session.ask()
    session.ask(ours=(1,))
    session.known.clear()
    said = [*session.said, Said(5, 0, False)]
    sent = [(place, one.mark) for place, one in enumerate(said)]
    assert settle(said, sent, session.known.get, trusting=True).unbound == ()
    assert settle(said, sent, session.known.get, trusting=False).unbound == (1, 3)


def test_answers_whose_thinking_is_sent_are_named_so_that_a_refusal_can_be_told_of_them() -> None:
    session = Session()
    keys = [session.ask().key for _ in range(3)]
    settled = session.ask()
    assert (list(settled.held), settled.lost) == (keys, ())
    settled = session.ask(dropped=2)
    assert (settled.held, list(settled.lost)) == ((), [*keys[1:], session.keys[3]])


def test_messages_of_the_model_in_a_row_are_one_answer() -> None:
    said = [Said(1, 0, False), Said(2, 20, True), Said(3, 30, True), Said(4, 0, False)]
    whole = [(place, one.mark) for place, one in enumerate(said)]
    assert settle(said, whole, nothing, trusting=True).unbound == ()
    assert settle(said, [whole[0], whole[2], whole[3]], nothing, trusting=True).unbound == (2,)
    assert settle(said, whole[1:], nothing, trusting=True).unbound == (1, 2)
    assert settle(said[:3], whole[:3], nothing, trusting=True).key is None


def test_a_message_of_nothing_but_thinking_leaves_with_it() -> None:
    said = [Said(1, 0, False), Said(0, 20, True), Said(3, 0, False)]
    settled = settle(said, [(1, 0), (2, 3)], nothing, trusting=True)
    assert settled.unbound == (1,)
    assert settled.basis == settle(said, [(2, 3)], nothing, trusting=True).basis


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.lists(st.integers(0, 2), max_size=2), st.booleans()), min_size=1, max_size=12
    )
)
def test_a_model_never_refuses_whatever_leaves_and_comes(plans: list[tuple[int, list[int], bool]]) -> None:
    session = Session()
    for dropped, ours, thinks in plans:
        session.ask(min(dropped, len(session.said)), ours, thinks=thinks)
        assert set(session.unbound[-1]) <= session.thinking()


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), max_size=8))
def test_what_was_left_out_once_stays_out(steps: list[int]) -> None:
    session = Session()
    dropped = 0
    out: set[int] = set()
    for step in steps:
        dropped = min(dropped + 2 * step, len(session.said))
        settled = session.ask(dropped)
        assert {number for number in out if number >= dropped} <= set(settled.unbound)
        out |= set(settled.unbound)
