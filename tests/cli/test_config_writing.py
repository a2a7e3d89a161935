"""One value of a settings file is set by a command: everything else in the file stays, or nothing is written."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.config.toml_text import set_line
from ullage.cli.config.writing import set_value, unset_value
from ullage.core.errors import InputError

KEY = "routing.policy"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[routing]\npolicy = "cost"\n'),
        ("mode = 'managed'\n", "mode = 'managed'\n\n[routing]\npolicy = \"cost\"\n"),
        ("[routing]\nshadow = true\n", '[routing]\npolicy = "cost"\nshadow = true\n'),
        (
            "[routing]\n# mine\npolicy = 'best' # why\nshadow = true\n",
            '[routing]\n# mine\npolicy = "cost" # why\nshadow = true\n',
        ),
        ("routing.policy = 'best'\n[store]\n", 'routing.policy = "cost"\n[store]\n'),
        ("[routing.quota]\nenabled = true\n", '[routing.quota]\nenabled = true\n\n[routing]\npolicy = "cost"\n'),
        (
            "[[routing.rules]]\nname = 'a'\nthen = { policy = 'best' }\n[routing]\npolicy = 'fast'",
            "[[routing.rules]]\nname = 'a'\nthen = { policy = 'best' }\n[routing]\npolicy = \"cost\"",
        ),
    ],
    ids=[
        "empty",
        "without the section",
        "in the section",
        "in its place",
        "dotted",
        "below a table",
        "behind an array",
    ],
)
def test_a_value_is_set_in_its_place(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    written = set_value(file, KEY, "cost")
    assert (file.read_text(), written.changed) == (after, True)
    assert written.backup is not None and Path(written.backup).read_text() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[routing]\n# mine\npolicy = 'best' # why\nshadow = true\n", "[routing]\n# mine\nshadow = true\n"),
        ("routing.policy = 'best'\n[store]\n", "[store]\n"),
        ("mode = 'managed'\n[routing]\npolicy = 'best'", "mode = 'managed'\n[routing]"),
    ],
)
def test_a_value_is_taken_out_of_its_place(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(before)
    assert unset_value(file, KEY).changed
    assert file.read_text() == after
    assert not unset_value(file, KEY).changed
    assert not list(tmp_path.glob("*backup*"))


def test_a_value_within_another_statement_is_not_taken_out(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("routing = { policy = 'best', shadow = true }\n")
    with pytest.raises(InputError, match="cannot be changed"):
        unset_value(file, KEY)
    assert file.read_text() == "routing = { policy = 'best', shadow = true }\n"


def test_a_sign_within_a_value_begins_no_remark(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('data_dir = "/a#b" # mine\n')
    set_value(file, "data_dir", "/c", backup=False)
    assert file.read_text() == 'data_dir = "/c" # mine\n'


def test_a_file_that_there_is_not_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    written = set_value(file, KEY, "cost")
    assert (file.read_text(), written.backup) == ('[routing]\npolicy = "cost"\n', None)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_stands_there_already_is_not_written_again(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("routing = { policy = 'cost' }")
    assert not set_value(file, KEY, "cost").changed
    assert list(tmp_path.glob("config*")) == [file]


@pytest.mark.parametrize(
    "content",
    [b"[routing\n", b"\xff", b"routing = { policy = 'best', shadow = true }\n", b"routing = 3\n", b"x = 1\n" * 200_000],
    ids=["no TOML", "no text", "an inline table", "no table", "too large"],
)
def test_a_file_that_cannot_be_changed_is_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(InputError, match="left as it was"):
        set_value(file, KEY, "cost")
    assert file.read_bytes() == content
    assert list(tmp_path.glob("config*")) == [file]


@given(
    st.lists(
        st.sampled_from(
            [
                "# remark\n",
                "[routing]\n",
                "policy = 'best'\n",
                "[store]\n",
                "x = 1\n",
                "\n",
                "[routing.pools.a]\n",
                "y = 2\n",
            ]
        ),
        max_size=8,
    )
)
def test_nothing_but_the_value_changes(lines: list[str]) -> None:
    text = "".join(lines)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    before.setdefault("routing", {})["policy"] = "cost"
    assert tomllib.loads(set_line(text, "routing", "policy", "cost")) == before
