"""Samples of calibration that the DS4 context engine has collected, taken over into our store.

Planner specification, sections 7.1 and 29.2: the table `token_calibration` of DS4's shared database. That database is never
changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ullage.core.errors import InputError, StoreError
from ullage.core.terminal import safe
from ullage.stores import MemoryStore, SampleRecord, open_reader, open_store
from ullage.stores.base import SAMPLES_KEPT
from ullage.stores.files import open_read_only
from ullage.stores.opening import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.settings import Loaded
    from ullage.stores import Reader

Refusal = Literal["no_target", "unknown_estimator", "invalid", "no_estimate", "no_usage", "negative", "unequal"]
"""Why a row is no sample. `invalid`: a figure is no whole number, or beyond what JSON holds safely; `unequal`: the parts of the
usage do not add up to it."""

REASONS: dict[Refusal, str] = {
    "no_target": "without provider or model",
    "unknown_estimator": "of an estimator that is not known here",
    "invalid": "with a figure that is no whole number",
    "no_estimate": "without an estimate",
    "no_usage": "without usage",
    "negative": "with a figure below zero",
    "unequal": "whose usage is not the sum of its parts",
}

TABLE = "token_calibration"
# Columns as release 0.1 had them; those that came later (migration 10), with what DS4 itself reads older rows as.
_COLUMNS = ("provider", "model", "estimated", "actual", "created_at")
_LATER_COLUMNS = {
    "estimator_version": "'chars-v1'",
    "input_tokens": "NULL",
    "cache_read_tokens": "NULL",
    "cache_write_tokens": "NULL",
}
_ESTIMATORS = ("chars-v1", "o200k-base-v1")
_LARGEST = 2**53 - 1
_MAGIC = b"SQLite format 3\0"
_CLIENT, _SESSION = "pi", "ds4"


PORTION_RECORDS = 500
"""Samples that wait to be written at once: far less than a store's queue holds."""

FLUSH_TIMEOUT_S = 60.0

Target = tuple[str, str, str]
"""Provider, model and estimator."""


class TargetCount(NamedTuple):
    """How many valid samples there are of a target."""

    provider: str
    model: str
    estimator: str
    samples: int


class Samples(Struct, frozen=True, kw_only=True, rename={"path": "file"}):
    """What one database held and what became of it: `taken` over, `known` from before, or `too_old`, since 200 newer ones of the
    same target are here. A row that stands there twice counts once."""

    path: Path
    rows: int
    taken: int
    known: int
    too_old: int
    refused: dict[Refusal, int]
    targets: tuple[TargetCount, ...]


class _Row(NamedTuple):
    """One row as it was read. Types are what the file has, whatever they should be."""

    provider: Any
    model: Any
    estimated: Any
    actual: Any
    created_at: Any
    estimator: Any
    input_fresh: Any
    cache_read: Any
    cache_write: Any


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def import_samples(path: Path, loaded: Loaded, clock_ms: Callable[[], int], *, dry_run: bool = False) -> Samples:
    """Takes over the samples of a database of DS4. Doing it twice changes nothing; a daemon may run meanwhile.

    Raises `InputError` for a database that has none, and `StoreError` if ours cannot be used.
    """
    found: dict[str, SampleRecord] = {}
    refused: Counter[Refusal] = Counter()
    rows = 0
    for row in _read(path):
        rows += 1
        reason = _refusal(row)
        if reason is None:
            sample = _sample(row)
            found[sample.id] = sample
        else:
            refused[reason] += 1
    samples = list(found.values())
    before, after = _look(samples, loaded) if dry_run else _keep(samples, loaded, clock_ms)
    targets = Counter(map(_target, samples))
    return Samples(
        path=path,
        rows=rows,
        taken=len(found.keys() & (after - before)),
        known=len(found.keys() & before),
        too_old=len(found.keys() - before - after),
        refused=dict(refused),
        targets=tuple(TargetCount(*target, count) for target, count in sorted(targets.items())),
    )


def sample_lines(samples: Samples, *, dry_run: bool) -> Iterator[str]:
    """What became of the samples, for people."""
    yield f"{safe(str(samples.path))}: {samples.rows} rows"
    counts = [(samples.taken, "to take over" if dry_run else "taken over")]
    counts += [
        (samples.known, "here already"),
        (samples.too_old, f"older than the newest {SAMPLES_KEPT} of their model"),
    ]
    counts += [(count, f"refused: {REASONS[reason]}") for reason, count in samples.refused.items()]
    yield from (f"{count:8}  {what}" for place, (count, what) in enumerate(counts) if count or not place)
    for provider, model, estimator, count in samples.targets:
        yield f"{count:8}  of {safe(f'{provider}/{model}')}, counted by {estimator}"


def _read(path: Path) -> Iterator[_Row]:
    """The rows of the table as they are. Raises `InputError`."""
    try:
        with contextlib.closing(open_read_only(path)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            yield from map(_Row._make, connection.execute(_question(path, connection)))
    except sqlite3.Error as error:
        raise InputError(
            f"{path} cannot be read: {error}.", hint="Close Pi, or copy the file, and try again."
        ) from error


def _question(path: Path, connection: sqlite3.Connection) -> str:
    """The query for all rows, whichever release made the table."""
    there = [str(column[1]) for column in connection.execute(f"PRAGMA table_info({TABLE})")]
    if not there:
        raise InputError(
            f"{path} has no table {TABLE}, so it holds no samples of DS4.",
            hint="DS4 keeps them in ds4-context/context.db in Pi's folder, not in the databases of projects.",
        )
    missing = [column for column in _COLUMNS if column not in there]
    if missing:
        raise InputError(
            f"The table {TABLE} of {path} lacks {', '.join(missing)}.", hint=f"It has {', '.join(map(safe, there))}."
        )
    later = [name if name in there else stand_in for name, stand_in in _LATER_COLUMNS.items()]
    columns = ", ".join((*_COLUMNS, *later))
    return f"SELECT {columns} FROM {TABLE} ORDER BY created_at"  # noqa: S608 - of names that stand above alone


def _refusal(row: _Row) -> Refusal | None:
    """Why a row is no sample; `None` if it is one."""
    parts = _parts(row)
    figures = (row.estimated, row.actual, row.created_at, *parts)
    if not all(isinstance(name, str) and name for name in (row.provider, row.model)):
        return "no_target"
    if row.estimator not in _ESTIMATORS:
        return "unknown_estimator"
    if not all(isinstance(figure, int) and figure <= _LARGEST for figure in figures):
        return "invalid"
    if min(figures) < 0:
        return "negative"
    if row.estimated == 0:
        return "no_estimate"
    if row.actual == 0:
        return "no_usage"
    return None if sum(parts) == row.actual else "unequal"


def _parts(row: _Row) -> tuple[Any, Any, Any]:
    """Fresh, read and written; a row without them is one fresh prompt, as DS4 reads it."""
    return (
        row.actual if row.input_fresh is None else row.input_fresh,
        0 if row.cache_read is None else row.cache_read,
        0 if row.cache_write is None else row.cache_write,
    )


def _sample(row: _Row) -> SampleRecord:
    """The row as our record. Its id is the hash of what it says, so the same row of a copied database is the same sample."""
    fresh, read, written = _parts(row)
    said = (row.provider, row.model, row.estimator, row.estimated, row.actual, fresh, read, written, row.created_at)
    return SampleRecord(
        id=f"ds4:{hashlib.sha256(msgspec.json.encode(said)).hexdigest()}",
        created_ms=row.created_at,
        provider=row.provider,
        model=row.model,
        estimator=row.estimator,
        client=_CLIENT,
        session=_SESSION,
        estimated=row.estimated,
        input_fresh=fresh,
        cache_read=read,
        cache_write=written,
    )


def _keep(samples: list[SampleRecord], loaded: Loaded, clock_ms: Callable[[], int]) -> tuple[set[str], set[str]]:
    """Puts samples into our store; ids of those that were there before, and that are there now. Raises `StoreError`."""
    settings = loaded.settings.store
    if settings.url == MEMORY:
        raise StoreError(
            "The store is `memory`, which keeps nothing after this command.",
            hint='Set store.url = "sqlite", or give --dry-run.',
        )
    with contextlib.closing(
        open_store(settings.url, loaded.paths.data_dir, clock_ms, keep_days=settings.keep_days)
    ) as store:
        before = _ids(store, samples)
        for start in range(0, len(samples), PORTION_RECORDS):
            for sample in samples[start : start + PORTION_RECORDS]:
                store.put_sample(sample)
            if isinstance(store, MemoryStore) or not store.flush(FLUSH_TIMEOUT_S):
                raise StoreError("The samples could not be written.", hint=" ".join(store.problems()))
        return before, _ids(store, samples)


def _look(samples: list[SampleRecord], loaded: Loaded) -> tuple[set[str], set[str]]:
    """The same without writing: ids that are there, and that would be."""
    try:
        reader = open_reader(loaded.settings.store.url, loaded.paths.data_dir)
    except StoreError as error:
        if error.code not in ("no_database", "no_reader"):
            raise
        reader = MemoryStore()
    with contextlib.closing(reader):
        before, after = _ids(reader, samples), set()
        for target in _targets(samples):
            there = {one.id: one for one in reader.samples(*target)}
            both = there | {one.id: one for one in samples if _target(one) == target}
            newest = sorted(both.values(), key=lambda one: (one.created_ms, one.id), reverse=True)
            after |= {one.id for one in newest[:SAMPLES_KEPT]}
    return before, after


def _ids(reader: Reader, samples: list[SampleRecord]) -> set[str]:
    """Ids of the samples that a store holds of the same targets."""
    return {one.id for target in _targets(samples) for one in reader.samples(*target)}


def _targets(samples: list[SampleRecord]) -> set[Target]:
    return set(map(_target, samples))


def _target(sample: SampleRecord) -> Target:
    return sample.provider, sample.model, sample.estimator
