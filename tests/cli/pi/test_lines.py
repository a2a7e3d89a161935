"""A line typed in Pi becomes words and options, or nothing is done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.cli.pi.asked import Row
from ullage.cli.pi.lines import sort_out, split
from ullage.core.errors import CallError

ROW = Row(answer=lambda _: 0, does="", flags=frozenset({"all"}), values=frozenset({"scope", "source"}))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("  a\t b\n", ["a", "b"]),
        ("a 'b  c' d", ["a", "b  c", "d"]),
        ('"it\'s" x', ["it's", "x"]),
        ("it\\'s a\\ b", ["it's", "a b"]),
        ("'a\\'b'", ["a'b"]),
        ("''", [""]),
        ("a''b", ["ab"]),
        ("--scope='a b'", ["--scope=a b"]),
        ("\\\\", ["\\"]),
    ],
)
def test_blanks_separate_quotes_group_and_a_backslash_escapes(line: str, words: list[str]) -> None:
    assert split(line) == words


@pytest.mark.parametrize("line", ["it's", '"a', "a\\", "'a\\'"])
def test_what_does_not_end_is_refused(line: str) -> None:
    with pytest.raises(CallError, match="nothing was done"):
        split(line)


@given(st.lists(st.text(max_size=8), max_size=5))
def test_any_words_can_be_written(words: list[str]) -> None:
    written = " ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)
    assert split(written) == words


@pytest.mark.parametrize(
    ("words", "plain", "options"),
    [
        (["x", "--scope", "project", "y"], ("x", "y"), {"scope": ("project",)}),
        (["--scope=project", "x"], ("x",), {"scope": ("project",)}),
        (["--source", "a", "--source=b"], (), {"source": ("a", "b")}),
        (["--all", "x"], ("x",), {"all": ("",)}),
        (["--all=true"], (), {"all": ("",)}),
        (["--all=false"], (), {}),
        (["x", "--", "--all", "--"], ("x", "--all", "--"), {}),
        (["-x", "-"], ("-x", "-"), {}),
    ],
)
def test_options_stand_among_the_words(
    words: list[str], plain: tuple[str, ...], options: dict[str, tuple[str, ...]]
) -> None:
    assert sort_out(words, ROW) == (plain, options)


@pytest.mark.parametrize(
    "words", [["--nope"], ["--nope=1", "x"], ["--scope"], ["--scope", "--all"], ["--all=maybe"], ["--json"]]
)
def test_an_option_that_makes_no_sense_does_nothing(words: list[str]) -> None:
    with pytest.raises(CallError, match="nothing was done"):
        sort_out(words, ROW)
