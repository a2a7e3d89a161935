"""What only the store that forgets does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.stores import MemoryStore

if TYPE_CHECKING:
    from conftest import Records


def test_the_oldest_fall_out_by_their_time_not_by_their_turn(records: Records) -> None:
    store = MemoryStore(records=100)
    store.put_session(records.session("long and busy", last_ms=9999))
    for number in range(1000):
        store.put_session(records.session(f"s{number}", last_ms=number))
    kept = store.sessions(limit=9999)
    assert 100 <= len(kept) <= 125
    assert [session.id for session in kept[:3]] == ["long and busy", "s999", "s998"]


def test_it_hands_on_why_it_stands_in_for_a_database() -> None:
    assert MemoryStore(problems=("No space.",)).problems() == ("No space.",)
