"""The judge of the cases is judged: each check fails where it must."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from .checks import CHECKS, Case, Judged, Outcome
from .doors import load_cases

CASES = {case.id[:3]: case for case in load_cases()}


def without(case: Case, *dropped: int, limit: int = 100_000, status: str = "managed") -> Outcome:
    """What a planner would send that leaves out just these messages."""
    return edited(case, lambda _: None, dropped=dropped, limit=limit, status=status)


def edited(
    case: Case, change: Any, *, dropped: tuple[int, ...] = (), limit: int = 100_000, status: str = "managed"
) -> Outcome:
    """What a planner would send that writes messages anew."""
    body = copy.deepcopy(case.request)
    key = "input" if "input" in body else "messages"
    kept = [index for index in range(len(body[key])) if index not in dropped]
    change(body[key])
    body[key] = [message for index, message in enumerate(body[key]) if index not in dropped]
    return Outcome(limit=limit, status=status, kept=kept, tokens=1, sent=json.dumps(body).encode(), error=None)


def empty_thinking(messages: Any) -> None:
    messages[1]["content"][0]["thinking"] = ""


def text_first(messages: Any) -> None:
    messages[2]["content"].reverse()


def cut_result(messages: Any) -> None:
    messages[3]["content"] = messages[3]["content"][:100]


def half_flag(messages: Any) -> None:
    messages[3]["content"] = "\U0001f1e9\n[… 1 characters of this result are omitted …]\n"


def invent_result(messages: Any) -> None:
    messages.append({"role": "tool", "tool_call_id": "f2", "content": "(none)"})


def swap_results(messages: Any) -> None:
    messages[3], messages[4] = messages[4], messages[3]


@pytest.mark.parametrize(
    ("check", "case", "outcome"),
    [
        ("no_orphan_result", "c01", lambda case: without(case, 2)),
        ("no_orphan_call", "c01", lambda case: without(case, 3)),
        ("group_whole", "c02", lambda case: without(case, 3)),
        ("order_preserved", "c02", lambda case: edited(case, swap_results)),
        ("last_user_kept_last", "c01", lambda case: without(case, 9)),
        ("within_budget", "c01", lambda case: without(case, limit=420)),
        ("results_first", "c03", lambda case: edited(case, text_first)),
        ("turn_starts_at_real_user_text", "c03", lambda case: without(case, 0, 1)),
        ("no_orphan_reasoning", "c04", lambda case: without(case, 2, 3)),
        ("no_orphan_reasoning", "c04", lambda case: without(case, 5)),
        ("current_request_kept", "c05", lambda case: without(case, 1)),
        ("newest_groups_kept", "c05", lambda case: without(case, 20, 21)),
        ("identical_output", "c06", lambda case: without(case, 3, status="unchanged")),
        ("no_message_removed", "c06", lambda case: without(case, 3)),
        ("pair_by_position", "c08", lambda case: without(case, 2, 7)),
        ("no_result_lost_in_kept_turn", "c08", lambda case: without(case, 7)),
        ("pin_kept_verbatim", "c09", lambda case: without(case, 1)),
        ("reports_pin_overflow", "c09", lambda case: without(case, limit=20)),
        ("in_flight_kept", "c10", lambda case: without(case, 3)),
        ("no_invented_result", "c10", lambda case: edited(case, invent_result)),
        ("reports_overflow", "c10", lambda case: without(case, limit=120)),
        ("newest_assistant_identical", "c11", lambda case: without(case, 5)),
        ("no_partial_thinking", "c11", lambda case: edited(case, empty_thinking)),
        ("marks_omission", "c12", lambda case: edited(case, cut_result)),
        ("well_formed_text", "c12", lambda case: edited(case, half_flag)),
    ],
)
def test_a_check_fails_where_it_must(check: str, case: str, outcome: Any) -> None:
    with pytest.raises(AssertionError):
        CHECKS[check](Judged(CASES[case], outcome(CASES[case])))
