"""`ullage config import` of DS4's samples: planner specification, sections 7.1 and 29."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.stores import SampleRecord, SqliteStore, open_reader

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_RELEASE = """
CREATE TABLE token_calibration (
    calibration_id INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, model TEXT NOT NULL,
    estimated INTEGER NOT NULL, actual INTEGER NOT NULL, ratio REAL NOT NULL, created_at INTEGER NOT NULL
)
"""
MIGRATION_10 = (
    "manifest_id TEXT",
    "estimator_version TEXT NOT NULL DEFAULT 'chars-v1'",
    "input_tokens INTEGER",
    "cache_read_tokens INTEGER",
    "cache_write_tokens INTEGER",
)
NOW_MS = 1_780_000_000_000
BPE = "o200k-base-v1"
TARGET = ("openrouter", "openai/gpt-4o-mini", BPE)

Row = dict[str, Any]


def row(number: int = 0, **changed: Any) -> Row:
    """A row as the extension writes it: usage of which parts add up, no manifest."""
    return {
        "provider": TARGET[0],
        "model": TARGET[1],
        "estimated": 23_492 + number,
        "actual": 23_196,
        "ratio": 0.9874,
        "created_at": NOW_MS + number,
        "manifest_id": None,
        "estimator_version": BPE,
        "input_tokens": 3_196,
        "cache_read_tokens": 18_000,
        "cache_write_tokens": 2_000,
    } | changed


def make_database(file: Path, rows: Iterable[Row], *, later: bool = True) -> Path:
    """A shared database of the extension, in the mode that it uses."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(FIRST_RELEASE)
        for column in MIGRATION_10 if later else ():
            connection.execute(f"ALTER TABLE token_calibration ADD COLUMN {column}")
        for one in rows:
            names = ", ".join(one)
            marks = ", ".join("?" * len(one))
            connection.execute(f"INSERT INTO token_calibration ({names}) VALUES ({marks})", list(one.values()))
    return file


def call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = main(["config", "import", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def outcome(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> dict[str, Any]:
    (samples,) = msgspec.json.decode(call(capsys, file, "--json", *options)[1])["samples"]
    counts: dict[str, Any] = {name: samples[name] for name in ("rows", "taken", "known", "too_old", "refused")}
    return counts


def kept(data_dir: Path, target: tuple[str, str, str] = TARGET) -> list[SampleRecord]:
    with closing(open_reader("sqlite", data_dir)) as reader:
        return reader.samples(*target)


def test_samples_are_taken_over_with_all_their_figures(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_database(tmp_path / "context.db", [row()])
    status, printed, said = call(capsys, file)
    (sample,) = kept(data_dir)
    assert (status, said) == (
        0,
        'ullage: limits follow these samples under calibration.method = "ratio-v1" only, which is not set\n',
    )
    assert printed.splitlines() == [
        f"{file}: 1 rows",
        "       1  taken over",
        "       1  of openrouter/openai/gpt-4o-mini, counted by o200k-base-v1",
    ]
    assert sample.id.startswith("ds4:")
    assert sample == SampleRecord(
        id=sample.id,
        created_ms=NOW_MS,
        provider="openrouter",
        model="openai/gpt-4o-mini",
        estimator=BPE,
        client="pi",
        session="ds4",
        estimated=23_492,
        input_fresh=3_196,
        cache_read=18_000,
        cache_write=2_000,
    )
    assert sample.prompt == 23_196


def test_rows_of_the_first_release_are_one_fresh_prompt_in_characters(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Migration 10: input = actual, no cache, `chars-v1` (section 29.2)."""
    old = {name: value for name, value in row().items() if name in FIRST_RELEASE}
    make_database(tmp_path / "old.db", [old], later=False)
    empty = dict.fromkeys(("input_tokens", "cache_read_tokens", "cache_write_tokens"))
    make_database(tmp_path / "new.db", [row(estimator_version="chars-v1", **empty)])
    assert outcome(capsys, tmp_path / "old.db")["taken"] == 1
    (sample,) = kept(data_dir, (*TARGET[:2], "chars-v1"))
    assert (sample.input_fresh, sample.cache_read, sample.cache_write) == (23_196, 0, 0)
    assert outcome(capsys, tmp_path / "new.db") == {"rows": 1, "taken": 0, "known": 1, "too_old": 0, "refused": {}}


def test_doing_it_twice_changes_nothing(tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = make_database(tmp_path / "context.db", [row(number) for number in range(5)])
    assert outcome(capsys, file)["taken"] == 5
    before = kept(data_dir)
    assert outcome(capsys, file) == {"rows": 5, "taken": 0, "known": 5, "too_old": 0, "refused": {}}
    assert kept(data_dir) == before
    assert "       0  taken over\n       5  here already\n" in call(capsys, file)[1]


def test_the_same_rows_in_a_copied_database_are_the_same_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their numbers differ there, and their manifests may be gone."""
    rows = [row(number, manifest_id=f"m{number}") for number in range(3)]
    make_database(tmp_path / "a.db", rows)
    make_database(tmp_path / "b.db", [one | {"manifest_id": None, "ratio": 1.0} for one in reversed(rows)])
    assert outcome(capsys, tmp_path / "a.db")["taken"] == 3
    assert outcome(capsys, tmp_path / "b.db")["known"] == 3


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"provider": ""}, "no_target"),
        ({"model": b"x"}, "no_target"),
        ({"estimator_version": "gpt-9"}, "unknown_estimator"),
        ({"estimated": "many"}, "invalid"),
        ({"estimated": 1.5}, "invalid"),
        ({"actual": 2**53, "input_tokens": 2**53, "cache_read_tokens": 0, "cache_write_tokens": 0}, "invalid"),
        ({"created_at": -1}, "negative"),
        ({"cache_write_tokens": -1}, "negative"),
        ({"estimated": 0}, "no_estimate"),
        ({"actual": 0, "input_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0}, "no_usage"),
        ({"actual": 23_197}, "unequal"),
    ],
)
def test_a_row_that_teaches_nothing_is_refused_by_its_reason(
    changed: Row, reason: str, tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_database(tmp_path / "context.db", [row(), row(1, **changed)])
    assert outcome(capsys, file) == {"rows": 2, "taken": 1, "known": 0, "too_old": 0, "refused": {reason: 1}}
    assert len(kept(data_dir)) == 1


def test_the_largest_figure_that_json_holds_safely_is_one(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    most = 2**53 - 1
    parts = {"input_tokens": most, "cache_read_tokens": 0, "cache_write_tokens": 0}
    assert outcome(capsys, make_database(tmp_path / "a.db", [row(actual=most, **parts)]))["taken"] == 1


def test_only_the_newest_of_a_model_have_room(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    for number in range(199):
        store.put_sample(msgspec.structs.replace(SAMPLE, id=f"own-{number}", created_ms=NOW_MS + number))
    store.close()
    file = make_database(tmp_path / "context.db", [row(-number) for number in range(1, 4)])
    expected = {"rows": 3, "taken": 1, "known": 0, "too_old": 2, "refused": {}}
    assert outcome(capsys, file, "--dry-run") == expected
    assert outcome(capsys, file) == expected
    assert outcome(capsys, file) == expected | {"taken": 0, "known": 1}


SAMPLE = SampleRecord(
    id="",
    created_ms=0,
    provider=TARGET[0],
    model=TARGET[1],
    estimator=TARGET[2],
    client="pi",
    session="s",
    estimated=1,
    input_fresh=1,
    cache_read=0,
    cache_write=0,
)


def test_a_dry_run_makes_and_changes_nothing(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_database(tmp_path / "context.db", [row(), row(1)])
    status, printed, _ = call(capsys, file, "--dry-run")
    assert (status, printed.splitlines()[1]) == (0, "       2  to take over")
    assert not data_dir.exists()
    call(capsys, file)
    assert outcome(capsys, file, "--dry-run")["known"] == 2


def test_a_daemon_may_hold_our_database_open(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = SqliteStore(data_dir / "ullage.db", clock_ms=lambda: NOW_MS)
    daemon.put_sample(msgspec.structs.replace(SAMPLE, id="own"))
    assert daemon.flush()
    assert outcome(capsys, make_database(tmp_path / "context.db", [row()]))["taken"] == 1
    daemon.put_sample(msgspec.structs.replace(SAMPLE, id="own-2"))
    assert daemon.flush()
    assert len(daemon.samples(*TARGET)) == 3
    daemon.close()


def test_the_extension_may_hold_its_database_open_and_it_is_not_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make_database(tmp_path / "context.db", [])
    with closing(sqlite3.connect(file, isolation_level=None)) as pi:
        pi.execute("BEGIN IMMEDIATE")
        pi.execute("INSERT INTO token_calibration VALUES (1, 'a', 'b', 1, 1, 1, 1, NULL, 'chars-v1', 1, 0, 0)")
        pi.execute("COMMIT")
        pi.execute("BEGIN IMMEDIATE")
        before = file.read_bytes()
        assert outcome(capsys, file)["taken"] == 1
        assert file.read_bytes() == before


def test_a_copy_that_may_not_be_written_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "backup"
    folder.mkdir()
    file = make_database(folder / "context.db", [row()])
    folder.chmod(0o500)
    try:
        assert outcome(capsys, file)["taken"] == 1
    finally:
        folder.chmod(0o700)


def test_several_targets_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row(), row(1), row(2, estimator_version="chars-v1"), row(3, provider="a\x1b[31m", model="m")]
    report = msgspec.json.decode(call(capsys, make_database(tmp_path / "a.db", rows), "--json")[1])["samples"][0]
    assert report["targets"] == [
        ["a\x1b[31m", "m", BPE, 1],
        [*TARGET[:2], "chars-v1", 1],
        [*TARGET, 2],
    ]
    assert "\x1b" not in call(capsys, tmp_path / "a.db")[1]


def test_settings_and_samples_can_be_given_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text('{"modelAwareness": {"autoTune": true}}')
    file = make_database(tmp_path / "context.db", [row()])
    made = tmp_path / "made.toml"
    made.write_text(call(capsys, tmp_path / "a.json", file)[1])
    assert main(["config", "check", str(made)]) == 0
    assert f"# {file}: 1 rows\n#        1  taken over\n" in made.read_text()


def test_a_database_without_the_table_is_told_where_it_would_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE sessions (id TEXT)")
    status, _, said = call(capsys, file)
    assert status == 1
    assert said.startswith(
        f"ullage: {file} has no table token_calibration, so it holds no samples of DS4.\nhint: DS4 keeps"
    )


def test_a_table_of_another_shape_is_told_with_what_it_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE token_calibration (provider TEXT, model TEXT, at INTEGER)")
    status, _, said = call(capsys, file)
    assert status == 1
    assert said.splitlines() == [
        f"ullage: The table token_calibration of {file} lacks estimated, actual, created_at.",
        "hint: It has provider, model, at.",
    ]


def test_a_damaged_database_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "context.db"
    file.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    status, _, said = call(capsys, file)
    assert status == 1
    assert said.startswith(f"ullage: {file} cannot be read: ")


def test_a_database_without_samples_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, make_database(tmp_path / "context.db", []))[0] == 1
    assert call(capsys, make_database(tmp_path / "b.db", [row(estimated=0)]))[0] == 1


def test_a_store_that_keeps_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_STORE__URL", "memory")
    file = make_database(tmp_path / "context.db", [row()])
    status, _, said = call(capsys, file)
    assert (status, said.splitlines()[0]) == (
        1,
        "ullage: The store is `memory`, which keeps nothing after this command.",
    )
    assert outcome(capsys, file, "--dry-run")["taken"] == 1


def test_a_database_of_ours_that_cannot_be_used_is_told(
    tmp_path: Path, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_dir.mkdir(parents=True)
    with closing(sqlite3.connect(data_dir / "ullage.db")) as connection, connection:
        connection.execute("CREATE TABLE other (id TEXT)")
    status, _, said = call(capsys, make_database(tmp_path / "context.db", [row()]))
    assert status == 1
    assert "The samples could not be written." in said
    assert "another program" in said


def test_samples_that_lie_in_pi_s_folder_are_pointed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(os.environ["HOME"]) / ".pi" / "agent" / "ds4-context" / "context.db"
    file.parent.mkdir(parents=True)
    make_database(file, [row()])
    status, _, said = call(capsys)
    assert status == 0
    assert f"ullage: {file} may hold samples of calibration; `ullage config import {file}` takes them over\n" in said


def test_writing_and_a_dry_run_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--write", "--dry-run")[0] == 2
