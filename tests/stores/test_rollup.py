"""Call records that are too large lose items of their report, then the report, and say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.accounting import load_report
from ullage.stores import CallRecord, report_call
from ullage.stores.encoding import encode
from ullage.stores.rollup import MOST_BYTES, WHOLE_BYTES, bound, completeness

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store


def make_report(*counts: int, name_bytes: int = 10) -> dict[str, Any]:
    """A report with a section for each count, of so many items of 10 tokens each."""
    sections = []
    for row, count in enumerate(counts):
        items = [
            {"name": f"{row}-{number}-".ljust(name_bytes, "x"), "tokens": 10, "low": 9, "high": 11}
            for number in range(count)
        ]
        section = {"id": f"s{row}", "title": f"Section {row}", "tokens": 10 * count, "low": 9, "high": 11, "chars": 40}
        sections.append({**section, "method": "wire-v1", "items": items})
    total = 10 * sum(counts)
    return {"total": total, "total_kind": "estimate", "sections": sections, "gap": 0, "warnings": []}


def sized(records: Records, size_bytes: int, *counts: int) -> CallRecord:
    """A call with items of such names that its encoding has about this size, and not less."""
    return records.call(breakdown=make_report(*counts, name_bytes=size_bytes // sum(counts)))


def names(record: CallRecord) -> list[str]:
    assert record.breakdown is not None
    return [item["name"].rstrip("x") for section in record.breakdown["sections"] for item in section["items"]]


def test_of_300_items_in_400_kib_256_are_kept_and_the_inventory_says_so(records: Records) -> None:
    """The worked number of planner specification, section 25.3."""
    stored, payload = bound(sized(records, 400 * 1024, 300))
    assert stored.breakdown is not None
    assert names(stored) == [f"0-{number}-" for number in (*range(128), *range(172, 300))]
    assert stored.breakdown["inventory"] == {
        "completeness": "rollup",
        "counts": {"items": 300, "kept": 256},
        "tokens": {"items": 3000, "kept": 2560},
        "sections": {"s0": {"items": 300, "kept": 256, "tokens": 3000}},
    }
    assert encode(stored)[1] == payload
    assert len(payload) < 400 * 1024


def test_a_reader_is_told_that_it_sees_a_part(store: Store, records: Records) -> None:
    """Stored exclusions shown as if they were all there were: planner specification, R16."""
    store.put_call(sized(records, 400 * 1024, 300))
    assert store.flush()
    (stored,) = store.calls()
    report = report_call(stored)
    assert report["completeness"] == "rollup"
    assert report["warnings"] == ["breakdown_rollup"]
    (notice,) = load_report(report["context"]).warnings
    assert notice.code == "breakdown_rollup"
    assert notice.message.startswith("Of 300 items the first and the last 128 were kept")


def test_the_first_and_last_items_are_those_of_all_sections_and_sections_stay_whole(records: Records) -> None:
    whole = sized(records, 400 * 1024, 100, 0, 50, 300, 20)
    stored, _ = bound(whole)
    assert stored.breakdown is not None and whole.breakdown is not None
    assert [len(section["items"]) for section in stored.breakdown["sections"]] == [100, 0, 28, 108, 20]
    assert stored.breakdown["inventory"]["sections"] == {
        "s2": {"items": 50, "kept": 28, "tokens": 500},
        "s3": {"items": 300, "kept": 108, "tokens": 3000},
    }
    for before, after in zip(whole.breakdown["sections"], stored.breakdown["sections"], strict=True):
        assert {**before, "items": None} == {**after, "items": None}


@pytest.mark.parametrize("count", [300, 20])
def test_up_to_256_kib_a_record_is_stored_whole(records: Records, count: int) -> None:
    whole = sized(records, 200 * 1024, count)
    stored, payload = bound(whole)
    assert stored is whole
    assert len(payload) <= WHOLE_BYTES
    assert completeness(stored) == "complete"


def test_few_items_with_long_names_stay_up_to_1_mib(records: Records) -> None:
    whole = sized(records, 900 * 1024, 256)
    stored, _ = bound(whole)
    assert stored == whole
    assert completeness(stored) == "complete"


def test_what_is_still_larger_than_1_mib_is_stored_without_its_report(store: Store, records: Records) -> None:
    usage = {"input_fresh": 10}
    large = records.call(breakdown=make_report(200, 200, name_bytes=8000), usage=usage, warnings=("cut",))
    store.put_call(large)
    assert store.flush()
    (stored,) = store.calls()
    assert (stored.breakdown, stored.usage) == (None, usage)
    assert stored.warnings == ("cut", "breakdown_too_large")
    assert report_call(stored)["completeness"] == "omitted"


def test_a_call_without_a_report_is_not_said_to_have_lost_it(records: Records) -> None:
    stored, _ = bound(records.call())
    assert report_call(stored)["completeness"] is None
    stored, _ = bound(records.call(usage={"raw": {"x": "y" * MOST_BYTES}, "output": 3}))
    assert completeness(stored) is None
    assert (stored.usage, stored.warnings) == ({"output": 3}, ("record_too_large",))


@given(
    counts=st.lists(st.integers(0, 400), max_size=5),
    name_bytes=st.sampled_from([10, 1000, 8000]),
    raw_bytes=st.sampled_from([0, 300_000, 2_000_000]),
    tools=st.sampled_from([0, 3, 200_000]),
)
def test_whatever_a_call_holds_its_record_is_bounded(
    counts: list[int], name_bytes: int, raw_bytes: int, tools: int
) -> None:
    whole = CallRecord(
        id="c1",
        session="s1",
        created_ms=0,
        dialect="anthropic",
        kind="conversation",
        path="/",
        provider="p",
        model="m",
        outcome="ok",
        usage={"input_fresh": 1, "raw": {"x": "y" * raw_bytes}},
        tool_calls=("bash",) * tools,
        breakdown=make_report(*counts, name_bytes=name_bytes),
    )
    stored, payload = bound(whole)
    assert len(payload) <= MOST_BYTES
    assert (stored.id, stored.usage and stored.usage["input_fresh"]) == ("c1", 1)
    if stored.breakdown is not None:
        kept = sum(len(section["items"]) for section in stored.breakdown["sections"])
        assert kept == (sum(counts) if completeness(stored) == "complete" else 256)
        assert [section["tokens"] for section in stored.breakdown["sections"]] == [10 * count for count in counts]
