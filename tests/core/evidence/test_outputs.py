"""What is told of a tool's output: text or not, lines of failure, paths, and quotes without credentials."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.evidence.outputs import (
    ERROR_LINE_CHARS,
    ERROR_LINES_COUNTED,
    REDACTION_MARGIN,
    ErrorLines,
    find_error_lines,
    find_paths,
    is_binary,
    quote_end,
    quote_start,
)
from ullage.core.tokens.estimators import utf16_units

KEY = "ghp_" + "A" * 36


def redact(text: str) -> str:
    return re.sub(r"ghp_[A-Za-z0-9]{12,}", "[secret]", text)


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        ("", False),
        ("plain text\nwith\ttabs\r\n", False),
        ("漢字 🦊", False),
        ("a\0b", True),
        ("\x1b[32m" + "x" * 20, False),
        ("\x1b[32m" + "x" * 10, True),
        ("x" * 30_000 + "\0", True),
        ("x" * 15_000 + "\0" + "x" * 15_000, True),
        ("x" * 10_000 + "\0" + "x" * 30_000, False),
    ],
    ids=["empty", "plain", "scripts", "nul", "some colour", "much colour", "at the end", "in the middle", "between the samples"],
)  # fmt: skip
def test_binary_is_told_by_three_samples(text: str, binary: bool) -> None:
    assert is_binary(text) is binary


@pytest.mark.parametrize(
    "line",
    [
        "error: bad",
        "ERROR bad",
        "an Error",
        "TypeError: bad",
        "E   AssertionError",
        "build failed",
        "1 failure",
        "Unhandled exception",
        "fatal: not a repository",
        "kernel panic",
        "warn: old",
        "Warning: old",
        "DeprecationWarning",
        "Traceback (most recent call last):",
        "2024 [error] x",
    ],
)
def test_a_line_with_a_word_of_failure_is_picked(line: str) -> None:
    assert find_error_lines(f"fine\n{line}\nfine", 1_000, str) == ErrorLines(1, (line,))


@pytest.mark.parametrize(
    "line", ["terror", "mirrors", "errored_out", "prewarn", "failures", "error_code", "my_error", "fatality", "xerror"]
)
def test_a_part_of_another_word_is_no_failure(line: str) -> None:
    assert find_error_lines(line, 1_000, str) == ErrorLines(0, ())


def test_all_lines_are_counted_and_sixteen_different_ones_are_quoted() -> None:
    text = "\n".join(f"error number {number // 2}" for number in range(60))
    found = find_error_lines(text, 10_000, str)
    assert found.total == 60
    assert found.quotes == tuple(f"error number {number}" for number in range(16))


def test_a_line_counts_once_however_often_it_says_error() -> None:
    assert find_error_lines("error error\nerror", 100, str) == ErrorLines(2, ("error error", "error"))


def test_a_quote_begins_300_characters_before_its_word_and_has_at_most_800() -> None:
    text = "a" * 999 + " error " + "b" * 2_000
    (quote,) = find_error_lines(text, 10_000, str).quotes
    assert quote == "a" * 299 + " error " + "b" * (ERROR_LINE_CHARS - 306)


def test_quotes_stay_within_the_budget_together() -> None:
    text = "\n".join(f"{number:02} error " + "x" * 500 for number in range(10))
    found = find_error_lines(text, 2_600, str)
    assert sum(map(utf16_units, found.quotes)) == 2_600
    assert len(found.quotes) == 6


def test_a_log_of_errors_without_end_is_counted_to_ten_thousand_and_redacted_once_a_line() -> None:
    seen: list[str] = []

    def watch(text: str) -> str:
        seen.append(text)
        return text

    found = find_error_lines("error\n" * 20_000, 2_600, watch)
    assert found == ErrorLines(ERROR_LINES_COUNTED, ("error",))
    assert len(seen) == 1


def test_nothing_is_quoted_without_a_budget_but_lines_are_counted() -> None:
    assert find_error_lines("error\nerror 2", 0, str) == ErrorLines(2, ())


@pytest.mark.parametrize("lead", [0, 290, 700, 799, 9_000])
def test_a_credential_that_reaches_over_the_end_of_a_quote_is_redacted_whole(lead: int) -> None:
    line = "x" * lead + f" {KEY} error {KEY} " + "y" * (790 - 14) + KEY
    (quote,) = find_error_lines(line, 10_000, redact).quotes
    assert "ghp_" not in quote and "AAAA" not in quote
    assert "error" in quote


@given(st.integers(0, 60))
def test_no_cut_of_head_or_tail_lets_a_part_of_a_credential_through(shift: int) -> None:
    text = "x" * (100 - shift) + " " + KEY + " " + "y" * 20_000 + " " + KEY + " " + "z" * (100 - shift)
    for quote in (quote_start(text, 100, redact), quote_end(text, 100, redact)):
        assert "ghp" not in quote and "AAA" not in quote
        assert utf16_units(quote) <= 100


def test_head_and_tail_are_redacted_with_a_margin_and_no_more() -> None:
    seen: list[int] = []

    def watch(text: str) -> str:
        seen.append(len(text))
        return text

    text = "x" * 1_000_000
    quote_start(text, 2_600, watch)
    quote_end(text, 2_600, watch)
    assert seen == [2_600 + REDACTION_MARGIN] * 2


def test_paths_are_found_as_compilers_and_tools_write_them() -> None:
    text = """src/a.py:10:5: note
      at run (/usr/lib/node/b.mjs:3:1)
    diff --git a/docs/c.md b/docs/c.md
    "../d/e.test.ts", `.github/workflows/ci.yml`; see https://example.com/f.html and plain.py, x/y, 3/4.5, <g/h.rs>
    src/a.py again"""
    assert find_paths(text, str) == (
        "src/a.py",
        "/usr/lib/node/b.mjs",
        "a/docs/c.md",
        "b/docs/c.md",
        "../d/e.test.ts",
        ".github/workflows/ci.yml",
        "g/h.rs",
    )


def test_at_most_24_paths_are_found_and_none_of_more_than_160_characters() -> None:
    assert len(find_paths(" ".join(f"src/f{number}.py" for number in range(100)), str)) == 24
    long = "a/" + "b" * 155 + ".py"
    assert len(long) == 160
    assert find_paths(f"{long} a{long}", str) == (long,)


def test_a_path_with_a_credential_is_left_out() -> None:
    assert find_paths(f"tmp/{KEY}/a.py tmp/b.py", redact) == ("tmp/b.py",)


def test_paths_stand_at_the_beginning_or_at_the_end() -> None:
    filler = "x " * 200_000
    assert find_paths(f"a/first.py {filler} a/middle.py {filler} a/last.py", str) == ("a/first.py", "a/last.py")


@pytest.mark.parametrize(
    "text", ["a/" * 60_000, "a." * 60_000, "A" * 200_000, "ee" * 100_000 + "error", "\n" * 100_000]
)
def test_hostile_outputs_are_read_in_one_go(text: str) -> None:
    find_paths(text, str)
    find_error_lines(text, 2_600, str)


@given(st.text(), st.integers(0, 100))
def test_any_text_is_read(text: str, chars: int) -> None:
    found = find_error_lines(text, chars, str)
    assert sum(map(utf16_units, found.quotes)) <= chars
    assert utf16_units(quote_start(text, chars, str)) <= chars
    assert utf16_units(quote_end(text, chars, str)) <= chars
    find_paths(text, str)
    is_binary(text)
