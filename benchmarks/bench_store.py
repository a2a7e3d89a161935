"""What a record costs: the caller's time to hand it over, and the writer thread's time to keep it.

Records of four sizes (an event, a sample, a call with usage, a call with a context report) go through a `SqliteStore` in bursts
and at a daemon's pace; samples make room for themselves. Floors, in turns within the same run: rows ready to be written (encoded,
compressed), by bare `executemany` in groups, and with one commit per record. Then what a look-up costs.
`python -m benchmarks.bench_store [--quick]`.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import threading
import time
import timeit
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from benchmarks.parts.processes import machine
from ullage.stores import CallRecord, EventRecord, SampleRecord, SqliteStore
from ullage.stores.base import SAMPLES_KEPT
from ullage.stores.encoding import encode
from ullage.stores.files import open_for_writing
from ullage.stores.groups import PUT_CALL, PUT_EVENT, PUT_SAMPLE, Write, commit, gather

if TYPE_CHECKING:
    from collections.abc import Callable

Record = CallRecord | EventRecord | SampleRecord


class Figures(NamedTuple):
    """Per record: microseconds of wall time for the caller, of CPU for caller and writer, and bytes on disk."""

    caller_us: float
    caller_p99_us: float
    writer_us: float
    per_second: float
    disk_bytes: float


def make_event(number: int) -> EventRecord:
    details = {"before": number, "after": number // 2}
    return EventRecord(created_ms=number, kind="rewrite", session="s1", call=f"call-{number}", details=details)


def make_sample(number: int) -> SampleRecord:
    """One of four models; from the 800th on an older one goes for each."""
    return SampleRecord(
        id=f"01J9ZK{number:020d}",
        created_ms=number,
        provider="anthropic",
        model=f"claude-opus-4-{number % 4}",
        estimator="wire-v1",
        client="claude-code",
        session=f"session-{number % 8}",
        estimated=80_000 + number,
        input_fresh=number % 3000,
        cache_read=79_000 + number,
        cache_write=number % 500,
        output=512,
        window=200_000,
    )


def make_call(number: int) -> CallRecord:
    return CallRecord(
        id=f"01J9ZK{number:020d}",
        session=f"session-{number % 8}",
        created_ms=number,
        dialect="anthropic",
        kind="conversation",
        path="/v1/messages",
        provider="anthropic",
        model="claude-opus-4-8",
        status=200,
        outcome="ok",
        usage={"input_fresh": number, "cache_read": 80_000 + number, "output": 512, "raw": {"input_tokens": number}},
    )


def make_reported_call(number: int) -> CallRecord:
    """A call with the report of a Claude Code request: 12 sections, 60 items with names of their own."""
    items = [
        {
            "id": f"tool:mcp__server{item % 7}__do_{item * 37}",
            "title": f"do_{item * 37}",
            "tokens": 80 + item * number % 997,
        }
        for item in range(60)
    ]
    sections = [
        {
            "id": f"section-{row}",
            "title": f"Section {row}",
            "tokens": number + row * 211,
            "low": number + row * 201,
            "high": number + row * 223,
            "chars": 4 * number + row * 850,
            "method": "wire-v1",
            "share": round(row / 12, 4),
            "items": items[row * 5 : row * 5 + 5],
        }
        for row in range(12)
    ]
    report = {"source": "live", "total": 90_000 + number, "total_kind": "usage", "sections": sections, "gap": 17}
    return CallRecord(**{**_fields(make_call(number)), "breakdown": report})


def _fields(record: CallRecord) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def through_store(folder: Path, records: list[Record], pause_s: float) -> Figures:
    """Puts every record, then flushes. With `pause_s` between two puts, as a daemon's requests come."""
    path = folder / "store.db"
    store = SqliteStore(path, clock_ms=lambda: 0, queue_records=10**6, queue_bytes=10**10)
    put: dict[type, Callable[[Any], None]] = {
        CallRecord: store.put_call,
        EventRecord: store.put_event,
        SampleRecord: store.put_sample,
    }
    waits_us: list[float] = []
    cpu_before = time.process_time() - time.thread_time()
    begun = time.perf_counter()
    for record in records:
        before = time.perf_counter()
        put[type(record)](record)
        waits_us.append((time.perf_counter() - before) * 1e6)
        if pause_s:
            time.sleep(pause_s)
    assert store.flush(60)
    seconds = time.perf_counter() - begun
    writer_s = time.process_time() - time.thread_time() - cpu_before
    store.close()
    assert store.problems() == ()
    return Figures(
        caller_us=statistics.fmean(waits_us),
        caller_p99_us=statistics.quantiles(waits_us, n=100)[98],
        writer_us=writer_s / len(records) * 1e6,
        per_second=len(records) / seconds,
        disk_bytes=path.stat().st_size / len(records),
    )


def write_of(record: Record) -> Write:
    _, payload = encode(record)
    if isinstance(record, CallRecord):
        return Write(PUT_CALL, record.id, (record.id, record.session, record.kind, record.created_ms), payload)
    if isinstance(record, SampleRecord):
        key = (record.provider, record.model, record.estimator)
        return Write(PUT_SAMPLE, None, (record.id, *key, record.client, record.created_ms), payload)
    return Write(PUT_EVENT, None, (record.session, record.created_ms), payload)


def in_groups(folder: Path, records: list[Record], size: int) -> float:
    """The floor: encoded rows written without queue and thread, `size` to a transaction; microseconds of CPU a record."""
    connection = open_for_writing(folder / f"floor{size}.db", 0)
    groups = [gather([write_of(r) for r in records[at : at + size]]) for at in range(0, len(records), size)]
    begun = time.process_time()
    for rows in groups:
        commit(connection, rows)
    cpu_s = time.process_time() - begun
    connection.close()
    return cpu_s / len(records) * 1e6


def measure(make: Callable[[int], Record], number: int) -> list[str]:
    records = [make(index) for index in range(number)]
    payload = statistics.fmean(len(encode(record)[1]) for record in records[:50])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grouped_us, single_us = in_groups(folder, records, 500), in_groups(folder, records[:500], 1)
        burst = through_store(folder, records, 0)
        (folder / "store.db").unlink()
        paced = through_store(folder, records[:500], 0.001)
    return [
        f"{payload:,.0f}",
        f"{burst.disk_bytes:,.0f}",
        f"{burst.caller_us:.1f} / {burst.caller_p99_us:.0f}",
        f"{paced.caller_us:.1f} / {paced.caller_p99_us:.0f}",
        f"{burst.writer_us:.1f}",
        f"{paced.writer_us:.1f}",
        f"{grouped_us:.1f}",
        f"{single_us:.1f}",
        f"{burst.per_second:,.0f}",
    ]


def look_up(keys: int, rounds: int) -> list[tuple[str, float]]:
    """Microseconds that reads take on a file with full windows of so many models."""
    with tempfile.TemporaryDirectory() as name:
        store = SqliteStore(Path(name) / "store.db", clock_ms=lambda: 0)
        for number in range(keys * SAMPLES_KEPT):
            sample = make_sample(number)
            store.put_sample(msgspec.structs.replace(sample, model=f"m{number % keys}"))
        assert store.flush(60)
        reads: dict[str, Callable[[], object]] = {
            "the 200 samples of a key": lambda: store.samples("anthropic", "m1", "wire-v1"),
            "the newest 10 of them": lambda: store.samples("anthropic", "m1", "wire-v1", limit=10),
            f"the {keys} keys": store.sample_keys,
            "a session that is not there": lambda: store.find_session("none"),
        }
        costs_us = [(title, timeit.timeit(read, number=rounds) / rounds * 1e6) for title, read in reads.items()]
        store.close()
    return costs_us


KINDS: dict[str, Callable[[int], Record]] = {
    "event": make_event,
    "sample": make_sample,
    "call with usage": make_call,
    "call with context report": make_reported_call,
}
COLUMNS = [
    "JSON bytes",
    "disk bytes",
    "put burst µs mean/p99",
    "put paced µs mean/p99",
    "writer burst µs",
    "writer paced µs",
]
COLUMNS += ["floor: groups of 500 µs", "floor: a commit each µs", "burst records/s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer records")
    quick = parser.parse_args().quick
    print(f"{machine()}; SQLite {sqlite3.sqlite_version}; writer CPU is process CPU less the caller's thread")
    print(
        f"{threading.active_count()} thread before; `python -m benchmarks.bench_store{' --quick' if quick else ''}`\n"
    )
    print("| record | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, make in KINDS.items():
        print(f"| {name} | " + " | ".join(measure(make, 2_000 if quick else 20_000)) + " |")
    print("\n| look-up | µs |\n|---|---:|")
    for title, cost_us in look_up(20, 50 if quick else 500):
        print(f"| {title} | {cost_us:,.0f} |")


if __name__ == "__main__":
    main()
