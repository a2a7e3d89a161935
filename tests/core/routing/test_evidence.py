"""What the calls of a task say of the work (routing specification, section 4.5, no. 5)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.planning import facts_of
from ullage.core.routing.evidence import count_failing, read_evidence
from ullage.core.routing.task import Evidence
from ullage.core.routing.turn import gather_evidence, read_turn
from ullage.core.wire import DIALECTS, Dialect, parse_request, read_message
from ullage.testing import Exchange, make_request

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n+y = 3\n*** Add File: b.py\n+z = 1\n*** End Patch"


def evidence_of(*calls: Exchange, dialect: Dialect = "anthropic") -> Evidence:
    conversation = parse_request(make_request(dialect, turns=["Go.", *calls]).body, dialect)
    return read_evidence(read_message(piece, dialect) for piece in conversation.messages)


def edit(path: str, old: str, new: str, **more: Any) -> Exchange:
    return Exchange(
        tool="Edit", arguments={"file_path": path, "old_string": old, "new_string": new}, result="ok", **more
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_files_and_lines_that_edits_change_are_counted_in_every_dialect(dialect: Dialect) -> None:
    calls = (edit("a.py", "x\ny", "x"), edit("a.py", "z", "z\nz\nz"), edit("b.py", "", "one"))
    found = evidence_of(*calls, dialect=dialect)
    assert (found.tool_calls, found.files_touched, found.changed_lines) == (3, 2, 6)


@pytest.mark.parametrize(
    ("tool", "arguments", "files", "lines"),
    [
        ("Write", {"file_path": "a.py", "content": "1\n2\n3"}, 1, 3),
        (
            "edit",
            {"path": "a.py", "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c\nd", "newText": ""}]},
            1,
            3,
        ),
        ("apply_patch", {"input": PATCH}, 2, 4),
        ("shell", {"command": ["apply_patch", PATCH]}, 2, 4),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, 1, 1),
        ("Read", {"file_path": "a.py"}, 0, 0),
        ("Bash", {"command": "sed -i s/a/b/ a.py"}, 0, 0),
        ("Edit", {"file_path": ["odd"], "new_string": 7}, 0, 0),
    ],
)
def test_the_words_of_each_client_for_an_edit_are_known(
    tool: str, arguments: dict[str, Any], files: int, lines: int
) -> None:
    found = evidence_of(Exchange(tool=tool, arguments=arguments, result="ok"))
    assert (found.files_touched, found.changed_lines) == (files, lines)


def test_an_edit_that_failed_changed_nothing() -> None:
    body = {
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "a", "name": "Edit", "input": {"file_path": "a.py", "new_string": "b"}}
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True}],
            },
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "next"},
        ]
    }
    conversation = parse_request(json.dumps(body).encode(), "anthropic")
    facts = [facts_of(read_message(piece, "anthropic"), "anthropic") for piece in conversation.messages]
    found = gather_evidence(conversation, facts, read_turn(conversation, facts))
    assert found == Evidence(tool_calls=1, tool_errors=1)


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("===== 3 failed, 120 passed in 4.1s =====", 3),
        ("120 passed in 4.1s", 0),
        ("Tests:       2 failed, 8 passed, 10 total", 2),
        ("  12 passing (2s)\n  1 failing", 1),
        ("test result: FAILED. 10 passed; 2 failed; 0 ignored", 2),
        ("test result: ok. 10 passed; 0 failed; 0 ignored", 0),
        ("FAILED (failures=4, errors=1)", 4),
        ("Tests run: 9, Failures: 2, Errors: 0", 2),
        ("--- FAIL: TestOne (0.00s)\n--- FAIL: TestTwo (0.00s)\nFAIL\tx/y\t0.1s", 2),
        ("ok  \tx/y\t0.1s", 0),
        ("Ran 3 tests in 0.1s\n\nOK", 0),
        ("total 3\na.py\nb.py", None),
        ("it failed", None),
        ("", None),
    ],
)
def test_runners_of_tests_are_understood(text: str, failing: int | None) -> None:
    assert count_failing(text) == failing


def test_the_newest_run_of_tests_counts() -> None:
    red, green = (
        Exchange(tool="Bash", arguments={"command": "pytest"}, result=one) for one in ("2 failed", "9 passed")
    )
    listing = Exchange(tool="Bash", arguments={"command": "ls"}, result="a.py")
    assert evidence_of(red, listing).failing_tests == 2
    assert evidence_of(red, green, listing).failing_tests == 0


@given(st.recursive(st.none() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)))
def test_no_arguments_make_it_fail(arguments: Any) -> None:
    body = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "Edit", "input": arguments}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]}
    request = {"messages": [{"role": "user", "content": "go"}, body, result]}
    conversation = parse_request(json.dumps(request).encode(), "anthropic")
    assert read_evidence(read_message(piece, "anthropic") for piece in conversation.messages).tool_calls == 1
