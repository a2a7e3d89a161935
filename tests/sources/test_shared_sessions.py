"""Every recorded session reads, and its figures are those of the index that lies beside the recordings."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from ullage.sources import Session, read_session

pytestmark = pytest.mark.shared


class Row(NamedTuple):
    """A line of the index: what a reader has to find in the file."""

    file: str
    models: tuple[str, ...]
    client: str
    calls: int
    first: int | None
    largest: int | None
    compactions: int
    rewinds: int
    zero_usage: int
    broken: int
    handmade: bool


def index_rows(shared_data: Path) -> list[Row]:
    lines = (shared_data / "sessions" / "INDEX.md").read_text(encoding="utf-8").splitlines()
    rows = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 15 and cells[0].endswith((".json", ".jsonl")):
            rows.append(_row(cells))
    return rows


def _row(cells: list[str]) -> Row:
    inputs = [int(number.replace(",", "")) for number in cells[7].split("/")] if "/" in cells[7] else [None, None]
    return Row(
        file=cells[0],
        models=tuple(cells[2].split(", ")),
        client=cells[3],
        calls=int(cells[4]),
        first=inputs[0],
        largest=inputs[1],
        compactions=int(cells[8]),
        rewinds=int(cells[9]),
        zero_usage=int(cells[11]),
        broken=int(cells[13]),
        handmade=cells[14] == "hand-made",
    )


@pytest.fixture(scope="module")
def recordings(shared_data: Path) -> list[tuple[Row, Session]]:
    return [(row, read_session(shared_data / "sessions" / row.file)) for row in index_rows(shared_data)]


def test_all_recordings_are_in_the_index(shared_data: Path) -> None:
    files = {str(path.relative_to(shared_data / "sessions")) for path in (shared_data / "sessions").glob("*/*")}
    assert {row.file for row in index_rows(shared_data)} == files
    assert len(files) == 27


def test_each_is_recognised_as_the_client_of_its_folder(recordings: list[tuple[Row, Session]]) -> None:
    assert [session.client for _, session in recordings] == [row.file.split("/")[0] for row, _ in recordings]


def test_calls_and_inputs_are_those_of_the_index(recordings: list[tuple[Row, Session]]) -> None:
    """The index counts calls of the main chain with usage that is neither failed nor zero."""
    for row, session in recordings:
        prompts = [call.usage.prompt for call in session.calls if call.trusted and not call.sidechain and call.usage]
        assert (row.file, len(prompts)) == (row.file, row.calls)
        assert (row.file, next(iter(prompts), None), max(prompts, default=None)) == (row.file, row.first, row.largest)


def test_compactions_rewinds_and_broken_lines_are_those_of_the_index(recordings: list[tuple[Row, Session]]) -> None:
    for row, session in recordings:
        found = (row.file, len(session.compactions), session.rewinds, session.problems.malformed_lines)
        assert found == (row.file, row.compactions, row.rewinds, row.broken)


def test_calls_with_zero_usage_are_not_trusted(recordings: list[tuple[Row, Session]]) -> None:
    for row, session in recordings:
        zero = [
            call for call in session.calls if call.usage and call.usage.total == 0 and not _failed(call.stop_reason)
        ]
        assert not any(call.trusted for call in zero)
        if not row.handmade:
            assert (row.file, len(zero)) == (row.file, row.zero_usage)


def _failed(reason: str | None) -> bool:
    return reason in {"aborted", "error"}


def test_models_and_versions_are_those_of_the_index(recordings: list[tuple[Row, Session]]) -> None:
    """Model names in the index have no provider before them; Pi's client column is the version of the format."""
    for row, session in recordings:
        if row.handmade:
            continue
        models = {
            (call.model or "").rsplit("/", 1)[-1] for call in session.calls if call.trusted and not call.sidechain
        }
        assert (row.file, models or set(row.models)) == (row.file, set(row.models))
        if session.client in ("claude-code", "codex"):
            assert sorted(session.client_versions) == row.client.split(", ")
        if session.client == "pi" and not session.problems.headless:
            assert str(session.format_version) == row.client


def test_files_made_by_hand_are_told_from_real_ones(recordings: list[tuple[Row, Session]]) -> None:
    assert [session.handmade for _, session in recordings] == [row.handmade for row, _ in recordings]


def test_contexts_have_the_messages_that_their_calls_name(recordings: list[tuple[Row, Session]]) -> None:
    for row, session in recordings:
        for call in session.calls[:: max(1, len(session.calls) // 4)]:
            assert (row.file, len(session.context(call.index).messages)) == (row.file, call.messages)


def test_replies_stand_where_their_calls_say(recordings: list[tuple[Row, Session]]) -> None:
    for _, session in recordings:
        for step in session.steps()[:: max(1, len(session.steps()) // 10)]:
            added = session.messages(step.after, step.start, step.stop)
            assert {added[index - step.start].role for index in step.reply} <= {"assistant"}


def test_no_text_holds_what_providers_seal(recordings: list[tuple[Row, Session]]) -> None:
    """Signatures and encrypted reasoning were replaced by this word in the recordings."""
    for row, session in recordings:
        for message in session.context().messages:
            assert not any("SCRUBBEDSCRUBBED" in part.text for part in message.parts), row.file


def test_a_prelude_is_the_context_without_messages_and_one_object_as_long_as_it_stays(
    recordings: list[tuple[Row, Session]],
) -> None:
    for _, session in recordings:
        preludes = [session.prelude(call.index) for call in session.calls]
        for before, after in itertools.pairwise(preludes):
            assert before is after or before != after
        for call in session.calls[:2]:
            assert session.prelude(call.index) == msgspec.structs.replace(session.context(call.index), messages=())
