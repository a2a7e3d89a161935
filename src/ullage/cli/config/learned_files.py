"""What Pi Auto Model has learned, taken over into our store: `feedback.jsonl` and `quality.json` of its folder.

Routing specification, sections 23 and 26. Each record stands for itself: a bad one is named and left out, the others are taken.
A vote may be in both files, by itself and in the offset that all votes have left; it is taken once.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from ullage.core.errors import StoreError
from ullage.core.routing.learning import MOST
from ullage.core.routing.signals import KINDS, MIXED
from ullage.core.terminal import safe
from ullage.stores import FeedbackRecord, MemoryStore, TallyRecord, open_reader, open_to_keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ullage.settings import Loaded
    from ullage.settings.json_file import JsonFile
    from ullage.stores import Reader

FOLDER, NAMES = "auto-model", ("feedback.jsonl", "quality.json")
"""Where Pi Auto Model keeps them, in Pi's folder."""
SOURCE = "pi-auto-model"
LARGEST_BYTES = 16 * 1024 * 1024
LONGEST_REASON = 500
"""Characters of a vote's reason that are kept."""
FLUSH_TIMEOUT_S = 60.0

_DAY_MS = 24 * 60 * 60 * 1000
_LOOKED_AT = 20
_VOTES = {"good": True, "bad": False}
_KINDS = frozenset((*KINDS, MIXED))
_QUALITY_PARTS = frozenset({"targets", "providers", "byKind", "feedback"})
_ID_DIGITS = 24

Record = FeedbackRecord | TallyRecord


class BadRecord(NamedTuple):
    """A record that was left out: where it stands, and what is wrong with it."""

    place: str
    why: str


class LearnedFile(Struct, frozen=True, kw_only=True, rename={"path": "file"}):
    """What one file held, and what became of it: records that were `taken` over, `known` from before, or `refused`."""

    path: Path
    kind: Literal["feedback", "quality"]
    records: int
    taken: int
    known: int
    refused: tuple[BadRecord, ...]
    targets: tuple[str, ...]


class RefusedError(ValueError):
    """One record cannot be taken. The message says why."""


def is_feedback(path: Path) -> bool:
    """Whether a file holds votes of Pi Auto Model, a line each."""
    try:
        with path.open("rb") as stream:
            lines = [line for _, line in zip(range(_LOOKED_AT), stream, strict=False)]
    except OSError:
        return False
    return any(isinstance(one, dict) and {"targetId", "feedback"} <= one.keys() for one in map(_decode, lines))


def is_quality(file: JsonFile) -> bool:
    """Whether a JSON file is what Pi Auto Model has counted."""
    return "version" in file.data and bool(_QUALITY_PARTS & file.data.keys())


def import_feedback(path: Path, loaded: Loaded, clock_ms: Callable[[], int], *, dry_run: bool = False) -> LearnedFile:
    """Takes over the votes of a file. Doing it twice changes nothing; a daemon may run meanwhile. Raises `StoreError`."""
    found = list(_each_vote(path.read_bytes()[:LARGEST_BYTES], clock_ms()))
    return _import(path, "feedback", found, loaded, clock_ms, dry_run=dry_run)


def import_quality(
    file: JsonFile, loaded: Loaded, clock_ms: Callable[[], int], *, dry_run: bool = False
) -> LearnedFile:
    """Takes over what a file has counted. A newer state of it takes the place of an older one. Raises `StoreError`."""
    found = list(_each_tally(file.data, clock_ms()))
    return _import(file.path, "quality", found, loaded, clock_ms, dry_run=dry_run)


def learned_lines(learned: LearnedFile, *, dry_run: bool) -> Iterator[str]:
    """What became of the records, for people."""
    yield f"{safe(str(learned.path))}: {learned.records} {'votes' if learned.kind == 'feedback' else 'counts'}"
    counts = [(learned.taken, "to take over" if dry_run else "taken over")]
    counts += [(learned.known, "here already"), (len(learned.refused), "left out")]
    yield from (f"{count:8}  {what}" for place, (count, what) in enumerate(counts) if count or not place)


def learned_notes(learned: LearnedFile) -> Iterator[str]:
    """Every record that was left out, and why."""
    yield from (f"{learned.path}: {place}: {why}" for place, why in learned.refused)


def _import(
    path: Path,
    kind: Literal["feedback", "quality"],
    found: Iterable[tuple[str, Record | str]],
    loaded: Loaded,
    clock_ms: Callable[[], int],
    *,
    dry_run: bool,
) -> LearnedFile:
    refused: list[BadRecord] = []
    records: dict[str, tuple[str, Record]] = {}
    for place, one in found:
        if isinstance(one, str):
            refused.append(BadRecord(place, one))
        else:
            records[one.id] = (place, one)
    with _open(loaded, clock_ms, dry_run=dry_run) as (reader, write):
        before = {vote.id for vote in reader.feedback()} | {tally.id for tally in reader.tallies()}
        fresh = [(place, one) for place, one in records.values() if one.id not in before]
        twice = _counted_twice(reader)
        refused += [BadRecord(place, why) for place, one in fresh if (why := twice(one)) is not None]
        taken = [one for _, one in fresh if twice(one) is None]
        write(taken)
    return LearnedFile(
        path=path,
        kind=kind,
        records=len(records) + len(refused) - (len(fresh) - len(taken)),
        taken=len(taken),
        known=len(records) - len(fresh),
        refused=tuple(refused),
        targets=tuple(sorted({one.target for _, one in records.values() if one.target is not None})),
    )


@contextlib.contextmanager
def _open(
    loaded: Loaded, clock_ms: Callable[[], int], *, dry_run: bool
) -> Iterator[tuple[Reader, Callable[[list[Record]], None]]]:
    """Our store, and what writes into it; a dry run writes nothing."""
    settings, data_dir = loaded.settings.store, loaded.paths.data_dir
    if dry_run:
        try:
            reader = open_reader(settings.url, data_dir)
        except StoreError as error:
            if error.code not in ("no_database", "no_reader"):
                raise
            reader = MemoryStore()
        with contextlib.closing(reader):
            yield reader, lambda _: None
        return
    with open_to_keep(settings.url, data_dir, clock_ms, keep_days=settings.keep_days, scope=settings.scope) as store:

        def write(records: list[Record]) -> None:
            for one in records:
                if isinstance(one, FeedbackRecord):
                    store.put_feedback(one)
                else:
                    store.put_tally(one)
            if not store.flush(FLUSH_TIMEOUT_S):
                raise StoreError("The records could not be written.", hint=" ".join(store.problems()))

        yield store, write


def _counted_twice(reader: Reader) -> Callable[[Record], str | None]:
    """Says of a record why what it tells is in the store already, from the other file."""
    voted = {vote.target for vote in reader.feedback() if vote.id.startswith(SOURCE)}
    offset = {
        one.target for one in reader.tallies() if one.source == SOURCE and one.offset is not None and not one.kind
    }

    def tell(one: Record) -> str | None:
        if isinstance(one, FeedbackRecord):
            return "its votes were taken over with quality.json" if one.target in offset else None
        if one.offset is None or one.kind not in (None, MIXED) or one.target not in voted:
            return None
        return "the votes themselves were taken over from feedback.jsonl"

    return tell


def _each_vote(content: bytes, now_ms: int) -> Iterator[tuple[str, Record | str]]:
    """Each line that is not empty: its place, with a vote or with what is wrong with it."""
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield f"line {number}", _vote(_decode(line), now_ms)
            except RefusedError as error:
                yield f"line {number}", str(error)


def _vote(plain: Any, now_ms: int) -> FeedbackRecord:
    if not isinstance(plain, dict):
        raise RefusedError("it is no JSON object")
    target = _target(plain.get("targetId"))
    at_ms = _time(plain, "createdAt", now_ms)
    word = plain.get("feedback")
    if word not in _VOTES:
        raise RefusedError("feedback is neither good nor bad")
    reason = plain.get("reason")
    return FeedbackRecord(
        id=_id("vote", target, at_ms, word),
        created_ms=at_ms,
        target=target,
        good=_VOTES[word],
        reason=reason[:LONGEST_REASON] if isinstance(reason, str) and reason else None,
    )


def _each_tally(data: Mapping[str, Any], now_ms: int) -> Iterator[tuple[str, Record | str]]:
    """Each count of a `quality.json`: its place, with what was counted or with what is wrong with it."""
    if data.get("version") != 1:
        yield "version", "only 1 is known"
        return
    yield from ((place, "it is no JSON object") for place in _broken(data))
    for place, key, plain in _entries(data):
        try:
            yield place, _tally(key, plain, now_ms)
        except RefusedError as error:
            yield place, str(error)


Key = tuple[str, str | None, str]
"""What is counted: `target`, `provider` or `feedback`; a kind of tasks, or none; whose it is."""


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[str, Key, Any]]:
    """Everything that is counted, and where it stands."""
    for target, plain in _members(data, "targets"):
        yield f"targets.{target}", ("target", None, target), plain
    for provider, plain in _members(data, "providers"):
        yield f"providers.{provider}", ("provider", None, provider), plain
    for kind, targets in _members(data, "byKind"):
        for target, plain in _members({kind: targets}, kind):
            yield f"byKind.{kind}.{target}", ("target", kind, target), plain
    for name, plain in _members(data, "feedback"):
        yield f"feedback.{name}", _feedback_key(name), plain


def _feedback_key(name: str) -> Key:
    """Of `target:<id>` and `kind:<kind>:<id>`."""
    scope, _, rest = name.partition(":")
    if scope == "target":
        return "feedback", None, rest
    kind, _, target = rest.partition(":")
    return "feedback" if scope == "kind" else scope, kind, target


def _broken(data: Mapping[str, Any]) -> Iterator[str]:
    """The parts that hold no records at all."""
    yield from (part for part in sorted(_QUALITY_PARTS & data.keys()) if not isinstance(data[part], dict))
    yield from (f"byKind.{kind}" for kind, targets in _members(data, "byKind") if not isinstance(targets, dict))


def _members(data: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    found = data.get(name)
    if isinstance(found, dict):
        yield from found.items()


def _tally(key: Key, plain: Any, now_ms: int) -> TallyRecord:
    scope, kind, name = key
    if not isinstance(plain, dict):
        raise RefusedError("it is no JSON object")
    if scope not in ("target", "provider", "feedback"):
        raise RefusedError("it is of neither a target nor a kind")
    if kind is not None and kind not in _KINDS:
        raise RefusedError(f"{kind!r} is no kind of tasks")
    target = None if scope == "provider" else _target(name)
    at_ms = _time(plain, "lastAt", now_ms)
    figures: dict[str, float]
    if scope == "feedback":
        figures = {"offset": _figure(plain, "offset", -MOST, MOST)}
    else:
        attempts = _figure(plain, "attempts", 0, math.inf)
        figures = {"attempts": attempts, "successes": _figure(plain, "successes", 0, attempts)}
    return TallyRecord(
        id=_id(scope, kind or "", name, at_ms),
        created_ms=at_ms,
        source=SOURCE,
        provider=name.partition("/")[0],
        target=target,
        kind=kind,
        **figures,
    )


def _target(name: Any) -> str:
    if not isinstance(name, str) or not all(name.partition("/")[::2]):
        raise RefusedError("it names no target (provider/model)")
    return name


def _time(plain: Mapping[str, Any], name: str, now_ms: int) -> int:
    """A time in epoch milliseconds. One of the future would never be forgotten."""
    at_ms = int(_figure(plain, name, 0, math.inf))
    if at_ms > now_ms + _DAY_MS:
        raise RefusedError(f"{name} is in the future")
    return at_ms


def _figure(plain: Mapping[str, Any], name: str, least: float, most: float) -> float:
    value = plain.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RefusedError(f"{name} is no number")
    if not least <= value <= most:
        raise RefusedError(f"{name} is out of range: {value:g}")
    return value


def _id(*parts: object) -> str:
    """The same for the same record, so that it is taken over once."""
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return f"{SOURCE}-{hashlib.sha256(text).hexdigest()[:_ID_DIGITS]}"


def _decode(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None
