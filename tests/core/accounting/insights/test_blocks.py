"""Texts cut into pieces that are found again wherever they stand."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting.insights.blocks import cut_pieces, find_blocks_of
from ullage.core.content import Message, Part

from .conversations import ask, give, lines, say


def keys(text: str) -> list[int]:
    return [piece.key for piece in cut_pieces(text)]


@pytest.mark.parametrize("mark", ["{n:6d}\u2192", "{n}\t", "{n:>4}: ", "{n}|", "{n}ab|"])
def test_numbers_that_a_tool_puts_before_lines_do_not_count(mark: str) -> None:
    text = lines(20)
    numbered = "\n".join(mark.format(n=number) + line for number, line in enumerate(text.split("\n"), 118))
    assert keys(numbered) == keys(text)


def test_a_few_numbered_lines_are_text() -> None:
    prose = "First this.\nThen that.\n1: a thing\nAnd the rest."
    assert len(set(keys(prose)) & set(keys(prose.replace("1: a", "2: a")))) == 3


def test_indents_and_blank_lines_do_not_count() -> None:
    assert keys("a\n\n   b  \nc") == keys("    a\nb\n\n\nc\n")


def test_a_long_line_that_moved_is_cut_at_the_same_places() -> None:
    line = ", ".join(f'"key{number}": {number * 3}' for number in range(400))
    moved = keys('{"something new": true, ' + line + "}")
    assert len(set(moved) & set(keys("{" + line + "}"))) > 0.9 * len(moved)


@given(st.text())
def test_pieces_lie_in_order_within_their_text(text: str) -> None:
    end = 0
    for piece in cut_pieces(text):
        assert end <= piece.start < piece.end <= len(text)
        end = piece.end


@pytest.mark.parametrize("unit", [" ", ",", "x", "\n", "1:", "\ud83d", "{", "a b,"])
def test_hostile_text_takes_time_in_proportion(unit: str) -> None:
    started = time.process_time()
    cut_pieces(unit * (400_000 // len(unit)))
    assert time.process_time() - started < 3


def test_blocks_are_the_texts_that_could_go_or_that_others_repeat() -> None:
    long = lines(10)
    thought = Message(role="assistant", parts=(Part(kind="thinking", text=long),))
    nested = Part(kind="tool_result", call_id="2", parts=(Part(kind="text", text=long), Part(kind="image")))
    messages = [
        say(long),
        thought,
        ask("write", "2", content=long),
        Message(role="tool", parts=(nested,)),
        say("short"),
    ]
    blocks = list(find_blocks_of([long, "short"], messages))
    assert [(block.message, block.role, block.tool, block.is_result, block.is_source) for block in blocks] == [
        (None, "system", None, False, False),
        (0, "user", None, False, False),
        (2, "assistant", "write", False, True),
        (3, "tool", "write", True, False),
    ]
    assert {block.text for block in blocks} == {long}


def test_raw_arguments_are_a_block_as_they_are() -> None:
    patch = "*** Begin Patch\n" + lines(10)
    [block] = find_blocks_of([], [ask("apply_patch", raw=patch)])
    assert block.text == patch


def test_strings_at_any_depth_of_arguments_are_part_of_their_block() -> None:
    deep = ask("edit", edits=[{"old": lines(6), "new": {"text": lines(6, "other")}}], count=3)
    [block] = find_blocks_of([], [deep, give("ok")])
    assert block.text == lines(6) + "\n" + lines(6, "other")
