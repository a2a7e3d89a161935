"""Repeated and outdated content: accounting specification, section 20, item 7."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.core.accounting.insights import Block, Repeats, find_repeats
from ullage.core.content import Message

from .conversations import ask, give, lines, say

FILE = lines(60)
OTHER = lines(60, "other")


def by_chars(block: Block, text: str) -> int:
    return len(text) // 4


def repeats(messages: list[Message], system: tuple[str, ...] = (), total: int = 10_000) -> Repeats:
    found = find_repeats(system, messages, count=by_chars, total=total, folder="/w")
    assert found.freeable_tokens + found.stale_tokens == sum(one.tokens for one in (*found.duplicates, *found.outdated))
    return found


def read(number: int, text: str = FILE, **lines_of: int) -> list[Message]:
    return [ask("read", str(number), path="a.py", **lines_of), give(text, str(number))]


def test_a_file_that_was_read_three_times_stands_there_twice_too_often() -> None:
    found = repeats([*read(1), *read(2), *read(3)])
    assert [(one.message, one.of_message, one.exact) for one in found.duplicates] == [(3, 1, True), (5, 1, True)]
    assert {(one.tool, one.path) for one in found.duplicates} == {("read", "/w/a.py")}
    assert found.outdated == ()
    assert found.freeable_tokens == 2 * (len(FILE) // 4)
    assert found.freeable_share == round(found.freeable_tokens / 10_000, 4)


def test_a_read_that_shows_the_file_after_an_edit_makes_the_one_before_it_outdated() -> None:
    edit = [ask("edit", "2", path="/w/a.py", oldText="x", newText="y"), give("ok", "2")]
    found = repeats([*read(1), *edit, *read(3, FILE.replace("value_7 ", "value_x "))])
    [one] = found.outdated
    assert (one.message, one.reason, one.by_message, one.by_tool, one.path) == (1, "read again", 4, "read", "/w/a.py")
    assert found.duplicates == (), "what is outdated is no duplicate of what replaced it"
    assert found.freeable_tokens == len(FILE) // 4


def test_a_read_whose_file_was_edited_may_still_be_needed() -> None:
    edit = [ask("edit", "2", path="a.py", oldText=lines(4), newText=lines(4, "new")), give("ok", "2")]
    found = repeats([*read(1), *edit])
    [one] = found.outdated
    assert (one.reason, one.by_message, one.by_tool) == ("edited", 2, "edit")
    assert (found.freeable_tokens, found.stale_tokens) == (0, len(FILE) // 4)


def test_an_edit_elsewhere_in_the_file_leaves_a_read_as_it_is() -> None:
    edit = [ask("edit", "2", path="a.py", oldText=lines(9, "else"), newText=lines(9, "new")), give("ok", "2")]
    assert repeats([*read(1, offset=1, limit=60), *edit]).outdated == ()


def test_a_file_that_was_written_anew_makes_all_before_outdated() -> None:
    first = [ask("write", "1", path="a.py", content=FILE), give("ok", "1")]
    again = [ask("write", "3", path="a.py", content=OTHER), give("ok", "3")]
    found = repeats([*first, *read(2), *again])
    assert [(one.message, one.tool, one.reason, one.by_message) for one in found.outdated] == [
        (0, "write", "rewritten", 4),
        (3, "read", "rewritten", 4),
    ]


def test_a_file_that_changed_by_other_hands_is_outdated_too() -> None:
    [one] = repeats([*read(1), *read(2, OTHER)]).outdated
    assert (one.message, one.reason) == (1, "read again")


@pytest.mark.parametrize(
    ("later", "why"),
    [
        ({"offset": 30, "limit": 5}, "fewer lines"),
        ({}, "a client that says the file is unchanged"),
    ],
)
def test_a_later_read_that_shows_less_stands_for_nothing(later: dict[str, int], why: str) -> None:
    short = "the file has not changed since it was read: " + "nothing to see here. " * 12
    assert repeats([*read(1), *read(2, short, **later)]).outdated == (), why


def test_lines_that_were_read_before_the_whole_file_are_in_it() -> None:
    part = "\n".join(FILE.split("\n")[10:40])
    [one] = repeats([*read(1, part, offset=11, limit=30), *read(2)]).duplicates
    assert (one.message, one.of_message, one.exact) == (3, 1, False)
    assert 0.4 < one.share < 0.6


def test_the_numbers_before_lines_do_not_hide_a_copy() -> None:
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(FILE.split("\n"), 1))
    shell = [ask("bash", "2", command="something else"), give(FILE, "2")]
    [one] = repeats([*read(1, numbered), *shell]).duplicates
    assert (one.message, one.exact, one.tool, one.of_tool) == (3, True, "bash", "read")


def test_what_the_model_wrote_is_a_source_and_no_copy() -> None:
    write = [ask("write", "1", path="a.py", content=FILE), give("ok", "1")]
    again = [ask("write", "3", path="b.py", content=FILE), give("ok", "3")]
    [one] = repeats([*write, *read(2), *again]).duplicates
    assert (one.message, one.of_message, one.of_tool, one.of_path) == (3, 0, "write", "/w/a.py")


def test_instructions_that_were_read_stand_in_the_system_prompt_already() -> None:
    [one] = repeats(read(1), system=(FILE,)).duplicates
    assert (one.message, one.of_message, one.of_role, one.exact) == (1, None, "system", True)


def test_text_of_people_that_is_pasted_again_is_found() -> None:
    [one] = repeats([say(FILE), say("Thanks.", "assistant"), say("Once more:\n" + FILE)]).duplicates
    assert (one.message, one.role, one.of_role, one.tool) == (2, "user", "user", None)


def test_lines_that_recur_in_any_code_are_no_copy() -> None:
    common = "\n".join("    return None\n}\n" + line for line in lines(30, "a").split("\n"))
    assert repeats([*read(1, common), *read(2, common.replace("a_", "b_"))]).duplicates == ()


def test_a_small_copy_is_not_worth_a_line() -> None:
    small = lines(6)[:199]
    assert repeats([*read(1, small), *read(2, small)]).duplicates == ()


def test_a_patch_of_several_files_is_kept_as_long_as_one_of_them_holds() -> None:
    patch = f"*** Begin Patch\n*** Add File: a.py\n+{FILE}\n*** Add File: b.py\n+{OTHER}\n*** End Patch"
    rewrite = [ask("write", "2", path="a.py", content="new"), give("ok", "2")]
    assert repeats([ask("apply_patch", "1", raw=patch), give("ok"), *rewrite]).outdated == ()


def test_an_empty_request_has_no_share() -> None:
    assert repeats([], total=0) == Repeats()


def test_nothing_of_a_text_is_in_a_finding() -> None:
    secret = lines(60, "secret")
    found = repeats([*read(1, secret), *read(2, secret)])
    assert "secret_1" not in repr(found)


def test_a_file_that_is_read_a_thousand_times_is_not_compared_a_million_times() -> None:
    messages = [message for number in range(1_000) for message in read(number, lines(8, f"v{number}"))]
    started = time.process_time()
    found = repeats(messages)
    assert time.process_time() - started < 5
    assert len(found.outdated) == 999


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(["read", "edit", "write"]), st.integers(0, 2), st.integers(1, 3)), max_size=12)
)
def test_no_message_is_freed_twice(story: list[tuple[str, int, int]]) -> None:
    messages = []
    for number, (tool, file, version) in enumerate(story):
        text = lines(20, f"f{file}v{version}")
        held = {"content": text} if tool == "write" else {}
        messages += [
            ask(tool, str(number), path=f"{file}.py", **held),
            give(text if tool == "read" else "ok", str(number)),
        ]
    found = repeats(messages)
    places = [one.message for one in (*found.duplicates, *found.outdated)]
    assert len(places) == len(set(places))
