"""What a database file is like: its tables, sizes and rights, and what is wrong with it. Nothing is changed."""

from __future__ import annotations

import sqlite3
import stat
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage.core.errors import StoreError
from ullage.core.spend import SpendAttempt, SpendTotal

from .base import ArtifactRecord, CallRecord, EventRecord, MutationRecord, PrefixRecord, SampleRecord, SessionRecord
from .encoding import decode, unpack
from .files import SIDE_FILES, explain, open_read_only
from .migrations import MIGRATIONS, find_version
from .route_records import RoutingRecord
from .tally import count_rows
from .upkeep import LARGE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

Level = Literal["warn", "fail"]
Status = Literal["ok", "warn", "fail"]

REUSABLE_SHARE = 0.25
MANIFEST_BYTES = 128 * 1024 * 1024
"""Shares and sizes of which a person should know (planner specification, section 29.4)."""

RECORDS: dict[str, Any] = {
    "sessions": SessionRecord,
    "calls": CallRecord,
    "events": EventRecord,
    "samples": SampleRecord,
    "prefixes": PrefixRecord,
    "mutations": MutationRecord,
    "artifacts": ArtifactRecord,
    "routing": RoutingRecord,
    "spend_attempts": SpendAttempt,
    "spend_totals": SpendTotal,
}
"""What the `record` column of each table holds."""

_TIMES = {
    "sessions": "SELECT min(last_ms), max(last_ms) FROM sessions",
    "calls": "SELECT min(created_ms), max(created_ms) FROM calls",
    "events": "SELECT min(created_ms), max(created_ms) FROM events",
    "samples": "SELECT min(created_ms), max(created_ms) FROM samples",
    "prefixes": "SELECT min(used_ms), max(used_ms) FROM prefixes",
    "mutations": "SELECT min(created_ms), max(created_ms) FROM mutations",
    "artifacts": "SELECT min(used_ms), max(used_ms) FROM artifacts",
    "routing": "SELECT min(at_ms), max(at_ms) FROM routing",
    "spend_attempts": "SELECT min(at_ms), max(at_ms) FROM spend_attempts",
    "spend_totals": "SELECT min(at_ms), max(at_ms) FROM spend_totals",
}
_NEWEST = {
    "sessions": "SELECT record FROM sessions ORDER BY last_ms DESC LIMIT 1",
    "calls": "SELECT record FROM calls ORDER BY created_ms DESC LIMIT 1",
    "events": "SELECT record FROM events ORDER BY created_ms DESC LIMIT 1",
}
_ALL = {
    "sessions": "SELECT record FROM sessions",
    "calls": "SELECT record FROM calls",
    "events": "SELECT record FROM events",
    "samples": "SELECT record FROM samples",
    "prefixes": "SELECT record FROM prefixes",
    "mutations": "SELECT record FROM mutations",
    "artifacts": "SELECT record FROM artifacts",
    "routing": "SELECT record FROM routing",
    "spend_attempts": "SELECT record FROM spend_attempts",
    "spend_totals": "SELECT record FROM spend_totals",
}
_MOST_TOLD = 10


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that is wrong (`fail`) or that a person should know (`warn`), and what to do about it."""

    level: Level
    code: str
    message: str
    hint: str = ""


class Inspection(Struct, frozen=True, kw_only=True):
    """One database file. Sizes are bytes, times epoch milliseconds; what could not be found out is `None`.

    `log_bytes` is the size of its write-ahead log, `reusable_bytes` what of `size_bytes` holds nothing any more, `manifest_bytes`
    what the records of calls take. `checksum` is that of the newest step of the tables that was applied.
    """

    path: str
    project: str | None = None
    findings: tuple[Finding, ...] = ()
    version: int | None = None
    checksum: str | None = None
    size_bytes: int = 0
    log_bytes: int = 0
    reusable_bytes: int | None = None
    manifest_bytes: int | None = None
    counts: dict[str, int] = {}
    oldest_ms: int | None = None
    newest_ms: int | None = None
    mode: str | None = None

    @property
    def status(self) -> Status:
        """The worst of what was found."""
        return worst(finding.level for finding in self.findings)


def worst(levels: Any) -> Status:
    """The worst of several; `ok` if there are none."""
    found = set(levels)
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"


def inspect_database(path: Path, *, full: bool = False) -> Inspection:
    """Looks at a file. `full` reads all of it, every index and every record; without, SQLite's quick check is made."""
    facts: dict[str, Any] = {"path": str(path), **_file_facts(path)}
    findings = _rights(path)
    try:
        with closing(open_read_only(path)) as connection:
            findings += _look_inside(connection, facts, full=full)
    except (sqlite3.Error, OSError, StoreError) as error:
        explained = explain(path, error)
        findings.append(Finding(level="fail", code=explained.code, message=explained.message, hint=_hint(explained)))
    return Inspection(**facts, findings=tuple(findings))


def project_of(connection: sqlite3.Connection) -> str | None:
    """The folder of the project whose records a database holds, as the newest of them says; `None` if there is none."""
    for table, sql in _NEWEST.items():
        for (packed,) in connection.execute(sql):
            record: Any = decode(unpack(packed), RECORDS[table])
            if record.project is not None:
                return str(record.project)
    return None


def find_project(path: Path) -> str | None:
    """The same of a file; `None` if it cannot be read."""
    try:
        with closing(open_read_only(path)) as connection:
            return project_of(connection)
    except (sqlite3.Error, OSError, zlib.error, msgspec.MsgspecError):
        return None


def is_readable(table: str, packed: bytes) -> bool:
    """Whether the record of a row is one that this version can read."""
    try:
        decode(unpack(packed), RECORDS[table])
    except (zlib.error, msgspec.MsgspecError, TypeError, AttributeError):
        return False
    return True


def _file_facts(path: Path) -> dict[str, Any]:
    log = path.with_name(f"{path.name}-wal")
    try:
        status = path.stat()
        return {
            "size_bytes": status.st_size,
            "log_bytes": log.stat().st_size if log.exists() else 0,
            "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        }
    except OSError:
        return {}


def _rights(path: Path) -> list[Finding]:
    files = [path.with_name(path.name + ending) for ending in SIDE_FILES]
    open_to_others = [file for file in files if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077]
    return [
        Finding(level="fail", code="permissions", message=f"Others can read {file}.", hint=f"Run `chmod 600 '{file}'`.")
        for file in open_to_others
    ]


def _look_inside(connection: sqlite3.Connection, facts: dict[str, Any], *, full: bool) -> list[Finding]:
    """Adds to `facts` what it learns, in an order that leaves the most when something cannot be read."""
    version = find_version(connection)
    if version == 0:
        raise StoreError("The file holds no tables yet.", hint="Start `ullage serve`.", code="no_database")
    (facts["checksum"],) = connection.execute(
        "SELECT checksum FROM schema_migrations WHERE version = ?", (version,)
    ).fetchone()
    facts["version"] = version
    facts |= _page_facts(connection)
    damage = _damage(connection, full=full)
    if damage:
        return damage
    facts["counts"] = {table: number for table, number in count_rows(connection).items() if table in RECORDS}
    facts["oldest_ms"], facts["newest_ms"] = _span(connection, facts["counts"])
    (facts["manifest_bytes"],) = connection.execute("SELECT coalesce(sum(length(record)), 0) FROM calls").fetchone()
    findings = _unreadable(connection, facts["counts"]) if full else []
    if not findings:
        facts["project"] = project_of(connection)
    return findings + _advice(facts)


def _page_facts(connection: sqlite3.Connection) -> dict[str, int]:
    pages, page_bytes, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
    )
    return {"size_bytes": pages * page_bytes, "reusable_bytes": free * page_bytes}


def _damage(connection: sqlite3.Connection, *, full: bool) -> list[Finding]:
    check = "integrity_check" if full else "quick_check"
    told = "\n".join(text for (text,) in connection.execute(f"PRAGMA {check}({_MOST_TOLD})"))
    lines = [line for line in told.splitlines() if line != "ok" and not line.startswith("***")]
    if not lines:
        return []
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    message = f"SQLite finds damage: {lines[0]}{more}."
    return [Finding(level="fail", code="store_damaged", message=message, hint=_REBUILD)]


def _span(connection: sqlite3.Connection, tables: dict[str, int]) -> tuple[int | None, int | None]:
    spans = [connection.execute(_TIMES[table]).fetchone() for table in tables]
    times = [time_ms for span in spans for time_ms in span if time_ms is not None]
    return (min(times), max(times)) if times else (None, None)


def _unreadable(connection: sqlite3.Connection, tables: dict[str, int]) -> list[Finding]:
    findings = []
    for table in tables:
        number = sum(not is_readable(table, packed) for (packed,) in connection.execute(_ALL[table]))
        if number:
            message = f"{number:,} of the {table} cannot be read."
            findings.append(Finding(level="fail", code="unreadable_records", message=message, hint=_REBUILD))
    return findings


def _advice(facts: dict[str, Any]) -> list[Finding]:
    size, free = facts["size_bytes"], facts["reusable_bytes"]
    findings = []
    if facts["version"] != MIGRATIONS[-1].number:
        message = f"Its tables have version {facts['version']}, the newest is {MIGRATIONS[-1].number}."
        hint = "Start `ullage serve` once: it brings them up to date."
        findings.append(Finding(level="warn", code="older_database", message=message, hint=hint))
    if size >= LARGE_BYTES:
        findings.append(Finding(level="warn", code="large", message="It is larger than 1 GiB.", hint=_PRUNE))
    if free >= size * REUSABLE_SHARE:
        message = f"{free / size:.0%} of it holds nothing any more."
        findings.append(Finding(level="warn", code="reusable", message=message, hint=_COMPACT))
    if facts["manifest_bytes"] > MANIFEST_BYTES:
        message = "The records of calls take more than 128 MiB."
        findings.append(Finding(level="warn", code="manifests", message=message, hint=_PRUNE))
    return findings


def _hint(error: StoreError) -> str:
    return _REBUILD if error.code == "store_damaged" else error.hint


_REBUILD = "Run `ullage db rebuild`."
_PRUNE = "Run `ullage db prune`, or lower store.keep_days."
_COMPACT = "Run `ullage db prune --compact`."
