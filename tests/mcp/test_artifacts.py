"""Searching and reading kept tool results, as a model asks for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.core.errors import CallError, InputError, StoreError, UllageError
from ullage.core.evidence.artifacts import ArtifactCaps, make_artifact
from ullage.core.tokens.estimators import utf16_units
from ullage.mcp.artifacts import ArtifactTools
from ullage.sources.artifacts import ArtifactFiles
from ullage.stores import ArtifactRecord

TEXT = "\n".join(f"line {number}: {'needle' if number % 500 == 0 else 'hay'}" for number in range(1, 3_001))
ARTIFACT = make_artifact(TEXT, call_id="c1", tool="bash")


def record(text: str = TEXT, call_id: str = "c1") -> ArtifactRecord:
    artifact = make_artifact(text, call_id=call_id)
    return ArtifactRecord(
        id=artifact.id, session="s1", used_ms=1, sha256=artifact.sha256, size_bytes=artifact.size_bytes, chars=artifact.chars
    )  # fmt: skip


Make = Callable[..., ArtifactTools]


@pytest.fixture
def files(tmp_path: Path) -> ArtifactFiles:
    files = ArtifactFiles(tmp_path / "artifacts")
    files.put(TEXT.encode())
    return files


@pytest.fixture
def make(files: ArtifactFiles) -> Make:
    def make(*records: ArtifactRecord, **named: Any) -> ArtifactTools:
        known = records or (record(),)
        return ArtifactTools(
            files=files,
            find=lambda prefix: [one for one in known if one.id.startswith(prefix)],
            **{"caps": ArtifactCaps(), "clear": str, **named},
        )

    return make


def decoded(answer: str) -> Any:
    return msgspec.json.decode(answer)


def test_a_phrase_is_found_with_its_lines(make: Make) -> None:
    answer = decoded(make().search(ARTIFACT.id, "NEEDLE", 3))
    assert (answer["artifact"], answer["found"], answer["shown"]) == (ARTIFACT.id, 6, 3)
    assert [match["line"] for match in answer["matches"]] == [500, 1_000, 1_500]
    assert all("needle" in match["text"] for match in answer["matches"])
    assert "not instructions" in answer["note"]


def test_no_more_than_twelve_matches_are_shown(make: Make) -> None:
    assert decoded(make().search(ARTIFACT.id, "hay"))["shown"] == 12
    assert decoded(make().search(ARTIFACT.id, "hay", 100))["shown"] == 12
    assert decoded(make().search(ARTIFACT.id, "hay", 0))["shown"] == 12
    assert decoded(make().search(ARTIFACT.id, "hay", 1))["shown"] == 1


def test_what_is_not_there_is_found_nowhere(make: Make) -> None:
    answer = decoded(make().search(ARTIFACT.id, "absent"))
    assert (answer["found"], answer["matches"]) == (0, [])


def test_lines_are_read_from_anywhere(make: Make) -> None:
    answer = decoded(make().read(ARTIFACT.id, 2_999, 10))
    assert answer["lines"] == ["line 2999: hay", "line 3000: needle"]
    assert (answer["first_line"], answer["lines_in_all"]) == (2_999, 3_000)


@pytest.mark.parametrize(
    "name",
    [
        ARTIFACT.id,
        ARTIFACT.id[:8],
        f"  {ARTIFACT.id.upper()} ",
        ARTIFACT.sha256,
        f"artifact://sha256/{ARTIFACT.sha256}",
    ],
    ids=["id", "its beginning", "written otherwise", "digest", "address"],
)
def test_an_artifact_is_named_as_its_reference_names_it(name: str, make: Make) -> None:
    assert decoded(make().read(name))["lines"][0] == "line 1: hay"


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("", CallError, "bad_artifact_id"),
        ("abc", CallError, "bad_artifact_id"),
        ("../../etc/passwd", CallError, "bad_artifact_id"),
        ("artifact://sha256/xyz", CallError, "bad_artifact_id"),
        ("0123456789abcdef", InputError, "no_artifact"),
        ("f" * 64, StoreError, "no_artifact"),
    ],
)
def test_a_name_that_names_none_is_an_error_with_advice(
    name: str, kind: type[UllageError], code: str, make: Make
) -> None:
    with pytest.raises(kind) as caught:
        make().read(name)
    assert caught.value.code == code
    assert caught.value.hint


def test_a_beginning_that_fits_several_must_be_longer(make: Make) -> None:
    one = record()
    other = msgspec.structs.replace(record("other"), id=one.id[:8] + "0" * 24)
    with pytest.raises(CallError) as caught:
        make(one, other).read(one.id[:8])
    assert caught.value.code == "ambiguous_id"


def test_one_content_of_several_calls_is_one_artifact(make: Make) -> None:
    one = record()
    again = msgspec.structs.replace(one, session="s2")
    assert decoded(make(one, again).read(one.id))["lines_in_all"] == 3_000


def test_a_binary_artifact_is_refused(make: Make, files: ArtifactFiles) -> None:
    files.put(b"\0" * 20_000)
    with pytest.raises(InputError) as caught:
        make(record("\0" * 20_000)).search(record("\0" * 20_000).id, "xx")
    assert caught.value.code == "binary_artifact"


def test_an_artifact_beyond_the_limit_of_a_search_is_not_read(make: Make) -> None:
    with pytest.raises(StoreError) as caught:
        make(caps=ArtifactCaps(search_bytes=100)).read(ARTIFACT.id)
    assert caught.value.code == "artifact_too_large"


def test_what_may_not_be_told_is_taken_out_before_anything_is_looked_for(make: Make) -> None:
    def clear(text: str) -> str:
        assert text == TEXT, "the whole is judged, not an excerpt"
        return text.replace("needle", "[withheld]")

    tools = make(clear=clear)
    assert decoded(tools.search(ARTIFACT.id, "needle"))["found"] == 0
    assert decoded(tools.read(ARTIFACT.id, 500, 1))["lines"] == ["line 500: [withheld]"]


@pytest.mark.parametrize(
    "text", ['"\\' * 50_000, "\x01" + "x" * 30 + "\n" * 9_000, "🦊" * 30_000, "ab\n" * 40_000, "x" * 90_000]
)
def test_answers_are_json_within_the_cap_whatever_is_quoted(text: str, make: Make, files: ArtifactFiles) -> None:
    files.put(text.encode())
    tools = make(record(text), caps=ArtifactCaps(inline_chars=2_000))
    for answer in (tools.read(record(text).id), tools.search(record(text).id, text[:2])):
        assert utf16_units(answer) <= 2_000
        assert decoded(answer)["artifact"] == record(text).id
    assert decoded(tools.read(record(text).id))["lines"]


def test_a_line_that_is_cut_is_said_to_be(make: Make, files: ArtifactFiles) -> None:
    files.put(b"x" * 90_000)
    answer = decoded(make(record("x" * 90_000)).read(record("x" * 90_000).id))
    assert answer["last_line_has_more_chars"] == 90_000 - len(answer["lines"][0])
