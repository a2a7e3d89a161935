"""Records as other programs get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.stores import report_call, report_event, report_session
from ullage.stores.report import prompt_tokens, target_of

if TYPE_CHECKING:
    from conftest import Records


def test_times_are_iso_8601_in_utc(records: Records) -> None:
    assert report_call(records.call(created_ms=1_780_000_000_007))["created_at"] == "2026-05-28T20:26:40.007Z"
    assert report_session(records.session(started_ms=0))["started_at"] == "1970-01-01T00:00:00.000Z"
    assert report_event(records.event(created_ms=0))["created_at"] == "1970-01-01T00:00:00.000Z"


def test_no_name_tells_milliseconds_of_the_epoch_and_all_is_json(records: Records) -> None:
    for report in (
        report_call(records.call()),
        report_session(records.session()),
        report_event(records.event()),
    ):
        assert not [name for name in report if name.endswith("_ms") and name != "timings_ms"]
        assert msgspec.json.decode(msgspec.json.encode(report)) == report


def test_every_field_of_a_record_is_reported_but_what_a_session_needs_for_itself(records: Records) -> None:
    assert len(report_session(records.session())) == len(records.session().__struct_fields__) - 3
    assert len(report_event(records.event())) == len(records.event().__struct_fields__)


def test_what_was_learned_and_drawn_is_part_of_the_manifest(records: Records) -> None:
    told: dict[str, Any] = {
        "awareness": {"budget": None},
        "sample": {"refused": "no usage"},
        "cache": {"expected": 3},
        "route": {"task_id": "t1"},
    }
    report = report_call(records.call(project="/home/x/p", **told))
    assert {name: report[name] for name in told} == told
    assert report["project"] == "/home/x/p"


def test_a_prompt_is_what_the_provider_reported_else_the_estimate(records: Records) -> None:
    usage = {"input_fresh": 10, "cache_read": 5, "cache_write": None, "cache_write_5m": 3}
    assert prompt_tokens(records.call(usage=usage, estimated_input_tokens=99)) == (15, False)
    assert prompt_tokens(records.call(usage={"output": 3}, estimated_input_tokens=99)) == (99, True)
    assert prompt_tokens(records.call()) == (None, True)


def test_a_target_is_what_was_asked_for(records: Records) -> None:
    assert target_of(records.call(answered_by="other")) == "anthropic/claude-x"
    assert target_of(records.call(model=None)) == "anthropic"
