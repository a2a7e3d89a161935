"""What only the store that forgets does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.stores import MemoryStore
from ullage.stores.memory import MEMORY_KEYS

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


def test_samples_are_held_of_the_models_that_were_sampled_last(records: Records) -> None:
    """Models' names come from clients, so their number must have an end."""
    store = MemoryStore()
    for number in range(MEMORY_KEYS):
        store.put_sample(records.sample(f"c{number}", model=f"m{number:03}"))
    store.put_sample(records.sample("again", model="m000"))
    store.put_sample(records.sample("one more", model="m999"))
    kept = [model for _, model, _ in store.sample_keys()]
    assert len(kept) == MEMORY_KEYS
    assert "m000" in kept and "m999" in kept and "m001" not in kept


def test_it_hands_on_why_it_stands_in_for_a_database() -> None:
    assert MemoryStore(problems=("No space.",)).problems() == ("No space.",)
