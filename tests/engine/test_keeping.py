"""Pins on their way out: chosen once for each turn of the user."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.accounting import Meter, make_meter
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.memory import MemoryLimits, NewMemory, add_memory, change_source
from ullage.core.evidence.pins import NewPin, PinLimits, add_pin, remove_pin
from ullage.core.planning import Supplement
from ullage.core.planning.assembling import read_facts
from ullage.core.wire import parse_request
from ullage.engine.keeping import Asker, Keeping
from ullage.stores import MemoryStore
from ullage.stores.keeping import Keeper, make_stamp, write_change, write_mutation

OPENING = ("Look.",)
LOOP = ("Look.", "I looked.")
ASKER = Asker("s", None)


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def meter() -> Meter:
    return make_meter(dialect="openai-chat", provider="openai", model="m", client=None, estimator="chars-v1")


@pytest.fixture
def keeping(store: MemoryStore) -> Keeping:
    return Keeping(store, MemoryLimits())


def keep(store: MemoryStore, text: str) -> str:
    new = NewPin(text=text, owner=Owner(scope="session", session="s", branch=None, project=None))
    change = add_pin(Keeper(store).kept(), new, make_stamp("pin", 1_000), limits=PinLimits(), count=len)
    return write_change(store, change).id


def remember(store: MemoryStore, claim: str, session: str) -> None:
    new = NewMemory(claim=claim, owner=Owner(scope="project", session=session, project="/p"))
    change = add_memory(Keeper(store).kept(), new, make_stamp("memory", 1_000), limits=MemoryLimits())
    write_change(store, change)


def offered(keeping: Keeping, meter: Meter, *texts: str, asker: Asker = ASKER) -> tuple[Supplement, ...]:
    """What is offered to a request of these messages, user and assistant in turn, and all taken."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    sent = parse_request(json.dumps({"model": "m", "messages": messages}).encode(), "openai-chat")
    known: dict[str, Any] = {
        "facts": read_facts(sent, meter).facts,
        "hashes": tuple(piece.hash for piece in sent.messages),
        "meter": meter,
    }
    made = keeping.offer(asker, sent, **known)
    keeping.note_sent(asker, made, {one.id for one in made}, **known)
    return made


def test_what_is_pinned_during_a_turn_waits_for_the_next(store: MemoryStore, keeping: Keeping, meter: Meter) -> None:
    keep(store, "Use pnpm.")
    opening = offered(keeping, meter, *OPENING)
    keep(store, "Use tabs.")
    loop = offered(keeping, meter, *LOOP)
    assert [one.text for one in loop] == [one.text for one in opening]
    assert [one.held for one in (*opening, *loop)] == [False, True]
    assert len(offered(keeping, meter, *LOOP, "And now?")) == 2


def test_a_turn_keeps_what_it_was_sent_whatever_a_sub_agent_is_sent_in_between(
    store: MemoryStore, keeping: Keeping, meter: Meter
) -> None:
    keep(store, "Use pnpm.")
    opening = offered(keeping, meter, *OPENING)
    keep(store, "Use tabs.")
    assert len(offered(keeping, meter, "Search.")) == 2
    assert [one.text for one in offered(keeping, meter, *LOOP)] == [one.text for one in opening]


def test_a_turn_that_begins_again_is_sent_what_was_pinned_meanwhile(
    store: MemoryStore, keeping: Keeping, meter: Meter
) -> None:
    offered(keeping, meter, *OPENING)
    keep(store, "Use pnpm.")
    assert len(offered(keeping, meter, *OPENING)) == 1


def test_what_is_taken_back_is_sent_no_more(store: MemoryStore, keeping: Keeping, meter: Meter) -> None:
    pin = keep(store, "Use pnpm.")
    offered(keeping, meter, *OPENING)
    write_change(store, remove_pin(Keeper(store).kept(), pin, make_stamp("pin", 2_000), reason=None))
    assert offered(keeping, meter, *LOOP) == ()


def test_a_source_that_is_excluded_is_told_to_nobody_else(store: MemoryStore, keeping: Keeping, meter: Meter) -> None:
    remember(store, "port: 8484", "first")
    first, other = Asker("first", "/p"), Asker("other", "/p")
    assert len(offered(keeping, meter, *OPENING, asker=other)) == 1
    excluding = change_source(Keeper(store).kept(), ("/p", "first"), "exclude", make_stamp("memory", 2_000))
    assert excluding is not None
    write_mutation(store, excluding)
    assert not offered(keeping, meter, *LOOP, asker=other)
    assert len(offered(keeping, meter, *OPENING, asker=first)) == 1
