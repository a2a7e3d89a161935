"""`ullage export`: where rows go, in which form, and what it says where they cannot."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.cli.auto.routed import ATTIC, CALLS
from ullage.cli.export import _FORMATS, _TABLES
from ullage.stores.exports import FORMATS, TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.auto.conftest import Run


@pytest.mark.usefixtures("routed")
def test_events_go_to_standard_output_as_lines_of_json(run: Run) -> None:
    status, out, err = run("export")
    assert (status, err) == (0, "")
    assert {msgspec.json.decode(line)["kind"] for line in out.splitlines()} >= {"request", "usage_actual"}


@pytest.mark.usefixtures("routed")
@pytest.mark.parametrize(("ending", "first"), [("json", "[\n"), ("jsonl", '{"id"'), ("csv", "id,at"), ("dat", '{"id"')])
def test_a_file_has_the_form_that_it_ends_with_and_is_for_this_account_alone(
    ending: str, first: str, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / f"calls.{ending}"
    status, out, _ = run("export", "calls", "-o", str(file))
    assert (status, out) == (0, f"{file}: {len(CALLS)} calls\n")
    assert file.read_text().startswith(first)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("export", "calls", "--format", "csv", "--out", str(file))[0] == 0
    assert file.read_text().startswith("id,at")
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == [file.name]


@pytest.mark.usefixtures("routed")
def test_rows_are_chosen_by_time_session_and_model(run: Run) -> None:
    def count(*arguments: str) -> int:
        return len(run("export", "calls", *arguments)[1].splitlines())

    assert count() == len(CALLS)
    assert count("--since", "1h") == 4
    assert count("--until", "1h") == 1
    assert count("--session", ATTIC[:8]) == 1
    assert count("--model", "anthropic/*") == len(CALLS)


@pytest.mark.usefixtures("routed")
def test_a_session_that_is_not_known_a_time_that_is_none_and_a_folder_are_refused(run: Run, tmp_path: Path) -> None:
    assert run("export", "--session", "nobody")[0] == 1
    assert run("export", "--since", "yesterday")[0] == 2
    assert run("export", "--out", str(tmp_path))[0] == 2
    assert run("export", "--format", "parquet")[0] == 2


@pytest.mark.usefixtures("routed")
def test_without_its_library_parquet_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    status, _, err = run("export", "--out", str(tmp_path / "events.parquet"))
    assert status == 2
    assert "pip install 'ullage[parquet]'" in err
    assert not list(tmp_path.glob("*.parquet")) + list(tmp_path.glob(".*"))


def test_where_nothing_is_recorded_it_says_so(run: Run) -> None:
    status, out, err = run("export")
    assert (status, out) == (1, "")
    assert "ullage serve" in err


def test_the_choices_are_those_of_the_export() -> None:
    assert (_TABLES, _FORMATS) == (TABLES, FORMATS)
