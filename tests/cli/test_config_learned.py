"""What Pi Auto Model has learned, taken over (routing specification, sections 23 and 26)."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.cli import main
from ullage.cli.config.learned_files import (
    BadRecord,
    LearnedFile,
    import_feedback,
    import_quality,
    is_feedback,
    is_quality,
    learned_lines,
    learned_notes,
)
from ullage.engine.learning import read_lessons
from ullage.settings import load_settings
from ullage.settings.json_file import read_json
from ullage.stores import open_reader

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.engine.learning import Lessons

NOW_MS = 1_780_000_000_000
DAY_MS = 24 * 60 * 60 * 1000
TARGET = "lab/model"


def vote(word: str = "good", *, at_ms: int = NOW_MS, **changed: Any) -> dict[str, Any]:
    """A line as the extension writes it: without the kinds of the task."""
    plain = {"createdAt": at_ms, "targetId": TARGET, "feedback": word, "preference": 0.02} | changed
    return {key: value for key, value in plain.items() if value is not ...}


def write_votes(file: Path, *lines: Any) -> Path:
    texts = [line if isinstance(line, str) else msgspec.json.encode(line).decode() for line in lines]
    file.write_text("\n".join(texts) + "\n")
    return file


def stats(attempts: float, successes: float, *, at_ms: int = NOW_MS) -> dict[str, Any]:
    return {"attempts": attempts, "successes": successes, "failures": attempts - successes, "lastAt": at_ms}


def quality(**parts: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"targets": {}, "providers": {}, "byKind": {}, "feedback": {}}
    return {"version": 1, "updatedAt": NOW_MS} | empty | parts


class Importing:
    """Takes files over into the store of the sealed environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def votes(self, *lines: Any, dry_run: bool = False) -> LearnedFile:
        file = write_votes(self.folder / "feedback.jsonl", *lines)
        return import_feedback(file, load_settings(), lambda: NOW_MS, dry_run=dry_run)

    def quality(self, data: dict[str, Any], *, dry_run: bool = False) -> LearnedFile:
        file = self.folder / "quality.json"
        file.write_bytes(msgspec.json.encode(data))
        return import_quality(read_json(file), load_settings(), lambda: NOW_MS, dry_run=dry_run)

    def lessons(self) -> Lessons:
        loaded = load_settings()
        with closing(open_reader(loaded.settings.store.url, loaded.paths.data_dir)) as reader:
            return read_lessons(reader)


@pytest.fixture
def importing(tmp_path: Path) -> Importing:
    return Importing(tmp_path)


def counts(learned: LearnedFile) -> tuple[int, int, int, int]:
    return learned.records, learned.taken, learned.known, len(learned.refused)


def test_votes_are_taken_over_once(importing: Importing) -> None:
    lines = [vote(reason="too shallow"), vote(at_ms=NOW_MS - 1), vote("bad", at_ms=NOW_MS - 2)]
    assert counts(importing.votes(*lines)) == (3, 3, 0, 0)
    assert counts(importing.votes(*lines, vote(at_ms=NOW_MS - 3))) == (4, 1, 3, 0)
    assert importing.lessons().learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.04)
    loaded = load_settings()
    with closing(open_reader(loaded.settings.store.url, loaded.paths.data_dir)) as reader:
        assert [one.reason for one in reader.feedback()] == ["too shallow", None, None, None]


def test_each_bad_vote_is_named_and_the_others_are_taken(importing: Importing) -> None:
    learned = importing.votes(
        vote(),
        "{not json",
        "[1]",
        vote("great"),
        vote(targetId="model"),
        vote(targetId="/x"),
        vote(createdAt="yesterday"),
        vote(createdAt=True),
        vote(createdAt=-1),
        vote(createdAt=...),
        vote(at_ms=NOW_MS + 2 * DAY_MS),
        "",
        vote(at_ms=NOW_MS - 5, reason=7),
    )
    assert (learned.taken, learned.known) == (2, 0)
    assert learned.refused == (
        BadRecord("line 2", "it is no JSON object"),
        BadRecord("line 3", "it is no JSON object"),
        BadRecord("line 4", "feedback is neither good nor bad"),
        BadRecord("line 5", "it names no target (provider/model)"),
        BadRecord("line 6", "it names no target (provider/model)"),
        BadRecord("line 7", "createdAt is no number"),
        BadRecord("line 8", "createdAt is no number"),
        BadRecord("line 9", "createdAt is out of range: -1"),
        BadRecord("line 10", "createdAt is no number"),
        BadRecord("line 11", "createdAt is in the future"),
    )
    assert next(learned_notes(learned)) == f"{learned.path}: line 2: it is no JSON object"


def test_what_was_counted_is_taken_over_and_heeded(importing: Importing) -> None:
    learned = importing.quality(
        quality(
            targets={TARGET: stats(10, 8)},
            providers={"lab": stats(10, 8)},
            byKind={"debug": {TARGET: stats(4, 4)}},
            feedback={
                f"target:{TARGET}": {"offset": 0.06, "lastAt": NOW_MS},
                f"kind:debug:{TARGET}": {"offset": 0.02, "lastAt": NOW_MS},
            },
        )
    )
    assert counts(learned) == (5, 5, 0, 0)
    assert learned.targets == (TARGET,)
    known = importing.lessons().learned
    reliability = known.reliability(TARGET, ("plan",), NOW_MS)
    assert reliability is not None
    assert (reliability.attempts, reliability.successes) == (10, 8)
    at_debugging = known.reliability(TARGET, ("debug",), NOW_MS)
    assert at_debugging is not None
    assert at_debugging.attempts == 4
    assert known.quality(TARGET, ("debug",), NOW_MS).voted == pytest.approx(0.04)


def test_a_newer_state_of_the_same_file_takes_the_place_of_the_older(importing: Importing) -> None:
    importing.quality(quality(targets={TARGET: stats(10, 8, at_ms=NOW_MS - 1)}))
    newer = quality(targets={TARGET: stats(12, 9)})
    assert counts(importing.quality(newer)) == (1, 1, 0, 0)
    assert counts(importing.quality(newer)) == (1, 0, 1, 0)
    reliability = importing.lessons().learned.reliability(TARGET, (), NOW_MS)
    assert reliability is not None
    assert reliability.attempts == 12


def test_each_bad_count_is_named_and_the_others_are_taken(importing: Importing) -> None:
    learned = importing.quality(
        quality(
            targets={
                TARGET: stats(1, 1),
                "model": stats(1, 1),
                "lab/none": stats(-1, 0),
                "lab/more": stats(1, 2),
                "lab/list": [],
                "lab/late": stats(1, 1, at_ms=NOW_MS + 2 * DAY_MS),
            },
            providers=7,
            byKind={"dreaming": {TARGET: stats(1, 1)}, "debug": []},
            feedback={
                f"target:{TARGET}": {"offset": 0.5, "lastAt": NOW_MS},
                f"model:{TARGET}": {"offset": 0.05, "lastAt": NOW_MS},
                f"kind:debug:{TARGET}": {"offset": "0.05", "lastAt": NOW_MS},
            },
        )
    )
    assert learned.taken == 1
    assert dict(learned.refused) == {
        "targets.model": "it names no target (provider/model)",
        "targets.lab/none": "attempts is out of range: -1",
        "targets.lab/more": "successes is out of range: 2",
        "targets.lab/list": "it is no JSON object",
        "targets.lab/late": "lastAt is in the future",
        "providers": "it is no JSON object",
        "byKind.debug": "it is no JSON object",
        f"byKind.dreaming.{TARGET}": "'dreaming' is no kind of tasks",
        f"feedback.target:{TARGET}": "offset is out of range: 0.5",
        f"feedback.model:{TARGET}": "it is of neither a target nor a kind",
        f"feedback.kind:debug:{TARGET}": "offset is no number",
    }


def test_a_version_that_is_not_known_is_left_alone(importing: Importing) -> None:
    learned = importing.quality(quality(targets={TARGET: stats(1, 1)}) | {"version": 2})
    assert (learned.taken, learned.refused) == (0, (BadRecord("version", "only 1 is known"),))


OFFSETS = quality(
    feedback={
        f"target:{TARGET}": {"offset": 0.02, "lastAt": NOW_MS},
        f"kind:mixed:{TARGET}": {"offset": 0.02, "lastAt": NOW_MS},
        f"kind:debug:{TARGET}": {"offset": 0.02, "lastAt": NOW_MS},
        "target:lab/other": {"offset": 0.02, "lastAt": NOW_MS},
    }
)


def test_a_vote_that_is_in_both_files_counts_once_whichever_comes_first(importing: Importing) -> None:
    importing.votes(vote())
    learned = importing.quality(OFFSETS)
    assert (learned.taken, [place for place, _ in learned.refused]) == (
        2,
        [f"feedback.target:{TARGET}", f"feedback.kind:mixed:{TARGET}"],
    )
    assert importing.lessons().learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.02)


def test_a_vote_that_is_in_both_files_counts_once_the_other_way_round(importing: Importing) -> None:
    importing.quality(OFFSETS)
    learned = importing.votes(vote(), vote(targetId="lab/third"))
    assert (learned.taken, learned.refused) == (
        1,
        (BadRecord("line 1", "its votes were taken over with quality.json"),),
    )
    assert importing.lessons().learned.quality(TARGET, (), NOW_MS).voted == pytest.approx(0.02)


def test_a_dry_run_says_the_same_and_writes_nothing(importing: Importing, tmp_path: Path) -> None:
    assert counts(importing.votes(vote(), "x", dry_run=True)) == (2, 1, 0, 1)
    assert not load_settings().paths.data_dir.exists()
    assert counts(importing.quality(OFFSETS, dry_run=True)) == (4, 4, 0, 0)
    importing.votes(vote())
    assert counts(importing.votes(vote(), dry_run=True)) == (1, 0, 1, 0)


def test_files_are_known_by_their_content(tmp_path: Path) -> None:
    votes = write_votes(tmp_path / "anything", "broken", vote())
    assert is_feedback(votes)
    for number, content in enumerate(("", "[]\n", '{"a": 1}\n', "\x00\xff")):
        other = tmp_path / f"{number}.jsonl"
        other.write_text(content)
        assert not is_feedback(other)
    assert not is_feedback(tmp_path / "absent")
    file = tmp_path / "quality.json"
    file.write_bytes(msgspec.json.encode(quality()))
    assert is_quality(read_json(file))
    file.write_bytes(msgspec.json.encode({"version": 1, "models": {}}))
    assert not is_quality(read_json(file))


def test_people_are_told_what_became_of_each_record(importing: Importing) -> None:
    lines = list(learned_lines(importing.votes(vote(), "x"), dry_run=False))
    assert lines[0].endswith("feedback.jsonl: 2 votes")
    assert lines[1:] == ["       1  taken over", "       1  left out"]
    again = list(learned_lines(importing.votes(vote(), dry_run=True), dry_run=True))
    assert again[1:] == ["       0  to take over", "       1  here already"]


# The command


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["config", "import", *arguments])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_the_command_takes_both_files_over_and_names_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    votes = write_votes(tmp_path / "feedback.jsonl", vote(targetId="openai/x"), "x")
    counted = tmp_path / "quality.json"
    counted.write_bytes(msgspec.json.encode(quality(targets={"openai/x": stats(3, 3)}, byKind=[])))
    status, out, err = run(str(votes), str(counted), capsys=capsys)
    assert status == 0
    assert out.splitlines() == [
        f"{votes}: 2 votes",
        "       1  taken over",
        "       1  left out",
        f"{counted}: 2 counts",
        "       1  taken over",
        "       1  left out",
    ]
    assert err.splitlines() == [
        f"ullage: {votes}: line 2: it is no JSON object",
        f"ullage: {counted}: byKind: it is no JSON object",
    ]


def test_the_command_tells_programs_too_and_names_providers_that_are_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    votes = write_votes(tmp_path / "feedback.jsonl", vote())
    status, out, _ = run(str(votes), "--json", "--dry-run", capsys=capsys)
    told = msgspec.json.decode(out)
    assert status == 0
    assert told["files"] == [{"file": str(votes), "kind": "learned", "used": True, "skipped": None}]
    (learned,) = told["learned"]
    assert (learned["kind"], learned["taken"], learned["targets"]) == ("feedback", 1, [TARGET])
    assert any("no provider is called lab" in note for note in told["notes"])


def test_a_file_of_bad_records_alone_is_none_to_take_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = write_votes(tmp_path / "feedback.jsonl", vote("great"))
    assert run(str(votes), capsys=capsys)[0] == 1


def test_it_is_told_where_such_files_lie(capsys: pytest.CaptureFixture[str]) -> None:
    folder = load_settings().paths.home / ".pi" / "agent" / "auto-model"
    folder.mkdir(parents=True)
    (folder / "quality.json").write_bytes(msgspec.json.encode(quality()))
    _, _, err = run(capsys=capsys)
    assert f"`ullage config import {folder / 'quality.json'}` takes it over" in err
