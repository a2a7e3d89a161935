"""What is kept follows from the log alone: not from the order in which it arrived, nor from how often (planner.md 14.3, 35.3)."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.errors import UllageError
from ullage.core.evidence.changes import Owner, Stamp
from ullage.core.evidence.ds4 import Entry, read_changes
from ullage.core.evidence.evidence_text import pin_text
from ullage.core.evidence.memory import MemoryLimits, NewMemory, add_memory, end_memory, report_memory
from ullage.core.evidence.mutations import Mutation, replay
from ullage.core.evidence.pins import NewPin, PinLimits, add_pin, remove_pin, report_pin
from ullage.core.evidence.ranking import rank
from ullage.core.evidence.scopes import applicable

NAMES = st.sampled_from(["a", "b", "c", "d"])
TIMES_MS = st.integers(0, 6)
KEYS = st.none() | st.sampled_from(["k", "l"])
WHATEVER = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=2)
)


@st.composite
def mutations(draw: st.DrawFn) -> Mutation:
    """Changes that any number of processes may have written, sound ones and others."""
    op = draw(st.sampled_from(["add", "add", "supersede", "status", "transmute"]))
    payload: dict[str, Any] = draw(st.dictionaries(st.sampled_from(["text", "status", "key", "supersedes"]), WHATEVER))
    if draw(st.integers(0, 9)):
        payload |= {"text": draw(st.text(max_size=4)), "key": draw(KEYS), "supersedes": draw(st.none() | NAMES)}
        payload["status"] = draw(st.sampled_from(["deleted", "invalid", "expired", "active"]))
    return Mutation(
        id=draw(st.sampled_from([f"m{number}" for number in range(12)])),
        created_ms=draw(TIMES_MS),
        kind=draw(st.sampled_from(["pin", "memory", "memory", "note"])),
        scope=draw(st.sampled_from(["session", "branch", "project", "planet"])),
        session=draw(st.none() | st.sampled_from(["s1", "s2"])),
        project=draw(st.none() | st.just("/code/a")),
        op=op,
        item=draw(NAMES),
        payload=payload,
    )


LOGS = st.lists(mutations(), max_size=14)


@given(log=LOGS, seed=st.randoms())
def test_a_log_amounts_to_the_same_in_any_order_of_arrival(log: list[Mutation], seed: Any) -> None:
    mixed = log.copy()
    seed.shuffle(mixed)
    assert replay(mixed) == replay(log)
    assert list(replay(mixed).items) == list(replay(log).items)


@given(log=LOGS, again=st.integers(0, 13))
def test_what_arrives_twice_counts_once(log: list[Mutation], again: int) -> None:
    assert replay([*log, *log[again:]]) == replay(log)


@given(log=LOGS)
def test_a_log_survives_being_written_and_read(log: list[Mutation]) -> None:
    """Deleting everything derived and replaying what was stored gives the same."""
    stored = [msgspec.json.decode(msgspec.json.encode(mutation), type=Mutation) for mutation in log]
    assert replay(stored) == replay(log)


@given(log=LOGS)
def test_of_one_owner_no_two_active_memories_have_one_key(log: list[Mutation]) -> None:
    held = [(item.key, item.place) for item in replay(log).active("memory") if item.key is not None]
    assert len(held) == len(set(held))


class Person:
    """Someone who pins, remembers and changes their mind; what is refused leaves no trace."""

    def __init__(self) -> None:
        self.log: list[Mutation] = []

    def act(self, what: str, text: str, owner: Owner, target: str | None) -> None:
        kept = replay(self.log)
        number = len(self.log)
        stamp = Stamp(mutation=f"m{number:03}", item=f"i{number:03}", now_ms=number)
        pin = NewPin(text=text, owner=owner, supersedes=target)
        memory = NewMemory(claim=text, owner=owner, supersedes=target)
        acts = {
            "pin": lambda: add_pin(kept, pin, stamp, limits=PinLimits(tokens=1_000), count=len),
            "remember": lambda: add_memory(kept, memory, stamp, limits=MemoryLimits()),
            "unpin": lambda: remove_pin(kept, target or "", stamp, reason=text),
            "expire": lambda: end_memory(kept, target or "", "expired", stamp),
        }
        try:
            change = acts[what]()
        except UllageError:
            return
        if change.mutation is not None:
            self.log.append(change.mutation)
        assert replay(self.log).find(change.item.id) == change.item


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["pin", "remember", "unpin", "expire"]),
        st.sampled_from(
            ["Use pnpm", "use  PNPM", "runner = jest", "runner: vitest", "must log", "never log", "x" * 300]
        ),
        st.sampled_from(
            [
                Owner(scope="session", session="s1"),
                Owner(scope="branch", session="s1", branch=f"0:{7:032x}"),
                Owner(scope="project", session="s2", project="/code/a"),
            ]
        ),
        st.none() | st.integers(0, 9).map(lambda number: f"i{number:03}"),
    ),
    max_size=14,
)


@given(acts=ACTS)
def test_what_was_accepted_is_what_a_replay_finds(acts: list[tuple[str, str, Owner, str | None]]) -> None:
    """No replay undoes what a person was told is kept, and pins never exceed their limit."""
    person = Person()
    for act in acts:
        person.act(*act)
    kept = replay(person.log)
    assert not [item for item in kept.items.values() if (item.reason or "").startswith("conflict")]
    room: dict[tuple[str, ...], int] = {}
    for pin in kept.active("pin"):
        room[pin.place] = room.get(pin.place, 0) + len(pin_text(pin))
    assert all(used <= 1_000 for used in room.values())


@given(acts=ACTS, secret=st.text("abcdef", min_size=12, max_size=20))
def test_no_text_of_what_is_kept_gets_into_a_manifest(
    acts: list[tuple[str, str, Owner, str | None]], secret: str
) -> None:
    person = Person()
    for what, text, owner, target in acts:
        person.act(what, f"{text} {secret}", owner, target)
    items = replay(person.log).items.values()
    found = applicable(items, session="s1", project="/code/a", hashes=(7,))
    told = [report_pin(item, 1, "pinned") for item in found if item.kind == "pin"]
    told += [report_memory(one, 1) for one in rank([item for item in found if item.kind == "memory"], secret)]
    assert secret not in msgspec.json.encode(told).decode()


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """Entries as DS4 writes them, with any member as it should not be."""
    item = {
        "id": draw(NAMES),
        "scope": draw(st.sampled_from(["session", "branch", "project"])),
        "content": draw(st.text(max_size=4)),
        "claim": draw(st.text(max_size=4)),
        "key": draw(KEYS),
        "projectPath": draw(st.sampled_from(["/code/a", "/code/b"])),
        "branchLeafId": draw(st.none() | st.just("e1")),
    }
    change = {
        "schemaVersion": 1,
        "mutationId": draw(st.sampled_from(["m1", "m2", "m3"])),
        "createdAt": draw(TIMES_MS),
        "operation": draw(st.sampled_from(["add", "supersede", "status"])),
        "item": item | draw(st.dictionaries(st.sampled_from(sorted(item)), WHATEVER, max_size=1)),
        "previousId": draw(NAMES),
        "pinId": draw(NAMES),
        "memoryId": draw(NAMES),
        "status": draw(st.sampled_from(["deleted", "invalid", "expired"])),
    }
    data: Any = change | draw(st.dictionaries(st.sampled_from(sorted(change)), WHATEVER, max_size=1))
    return Entry(
        kind=draw(st.sampled_from(["pin", "memory"])), data=draw(st.sampled_from([data, data, data, None, "x"]))
    )


@given(left=st.lists(entries(), max_size=8), project=st.sampled_from([None, "/code/a"]))
def test_whatever_ds4_has_left_is_for_its_session_and_project_and_the_same_each_time(
    left: list[Entry], project: str | None
) -> None:
    made = read_changes(left, session="s1", project=project)
    assert read_changes(left, session="s1", project=project) == made
    assert {one.session for one in made} <= {"s1"}
    assert {one.project for one in made} <= {None, project}
    assert project is not None or all(one.scope != "project" for one in made)
    assert {item.scope for item in replay(made).of("memory")} <= {"session", "project"}
    elsewhere = {one.id for one in read_changes(left, session="s2", project="/code/c") if one.scope != "project"}
    assert elsewhere.isdisjoint(one.id for one in made)
