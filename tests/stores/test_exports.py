"""What is recorded as rows for other programs: exact columns, streams, and no content."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import asdict

from tests.cli.auto.routed import ATTIC, CALLS, CELLAR, DEBUG, OLD, RENAME, SESSIONS, routed_call
from tests.cli.conftest import MINUTE_MS, NOW_MS
from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.stores import AttemptRecord, EventRecord, FeedbackRecord, MemoryStore, OutcomeRecord
from ullage.stores.exports import FORMATS, TABLES, Selection, export, row_type, write_rows
from ullage.stores.exports.events import KINDS
from ullage.stores.route_records import AttemptRoute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores.exports import Format, Table

EVERYTHING = Selection()
FAILED = {
    "target": FRONTIER,
    "status": 429,
    "failure": "rate-limit",
    "ms_to_first": 80.0,
    "usd": None,
    "committed": False,
}
ANSWERED = {"target": STRONG, "status": 200, "failure": None, "ms_to_first": 400.0, "usd": 0.01, "committed": True}


@pytest.fixture
def store() -> MemoryStore:
    """Routed calls of two sessions, one of which two targets were asked for, with a vote, a judged task and an event."""
    store = MemoryStore()
    for session in SESSIONS:
        store.put_session(session)
    failed_over = routed_call(10, DEBUG, STRONG, 2, route={"reason": "retry", "attempts": [FAILED, ANSWERED]})
    for call in (*CALLS, failed_over):
        store.put_call(call)
    at: dict[str, Any] = {"created_ms": NOW_MS - MINUTE_MS, "session": CELLAR}
    store.put_feedback(FeedbackRecord(id="v1", target=STRONG, good=True, kinds=("debug",), reason="=SECRET", **at))
    store.put_outcome(OutcomeRecord(id="o1", task=DEBUG, judgement="success", target=STRONG, **at))
    store.put_event(EventRecord(kind="compaction", details={"before": 80, "after": 12, "nested": {"x": 1}}, **at))
    return store


def rows(store: MemoryStore, table: Table, **chosen: Any) -> list[Any]:
    return list(export(store, table, Selection(**chosen)))


def test_calls_have_one_row_each_from_the_oldest_on(store: MemoryStore) -> None:
    told = rows(store, "calls")
    assert [row.id[-2:] for row in told] == ["05", "06", "07", "08", "09", "0a"]
    newest = told[-1]
    assert (newest.client, newest.target, newest.attempts, newest.task) == ("claude-code", STRONG, 2, DEBUG)
    assert (newest.input_fresh, newest.cache_read, newest.output, newest.success) == (2_000, 18_000, 600, True)
    assert (told[0].success, told[0].cost_usd, told[0].status) == (False, None, 529)


def test_every_target_that_was_asked_is_an_attempt_and_only_the_last_has_the_usage(store: MemoryStore) -> None:
    first, second = rows(store, "attempts")[-2:]
    assert (first.id, first.target, first.status, first.failure, first.output) == (
        "000000000000000a:1",
        FRONTIER,
        429,
        "rate-limit",
        None,
    )
    assert (second.number, second.target, second.cost_usd, second.committed, second.output) == (
        2,
        STRONG,
        0.01,
        True,
        600,
    )


def test_hours_have_a_row_for_each_target_with_what_failed_there(store: MemoryStore) -> None:
    told = {(row.hour[11:13], row.target): row for row in rows(store, "metrics")}
    assert sorted(told) == sorted([("15", FRONTIER), ("19", LIGHT), ("20", FRONTIER), ("20", LIGHT), ("20", STRONG)])
    failed = told["20", FRONTIER]
    assert (failed.attempts, failed.failures, failed.rate_limits, failed.failovers) == (1, 1, 1, 1)
    assert (told["20", STRONG].attempts, told["20", STRONG].latency_p50_ms, told["15", FRONTIER].failures) == (
        3,
        2_500.0,
        1,
    )


def test_tasks_are_told_with_what_their_user_said(store: MemoryStore) -> None:
    told = {row.id: row for row in rows(store, "tasks")}
    assert set(told) == {DEBUG, RENAME, OLD}
    assert (told[DEBUG].assessment, told[DEBUG].calls, set(told[DEBUG].targets)) == ("success", 3, {STRONG, FRONTIER})
    assert told[OLD].delivery_outcome == "failure"


def test_a_task_is_told_as_the_store_sums_it_up_however_many_come_after_it() -> None:
    from ullage.stores.tasks import list_tasks

    store = MemoryStore()
    for number in range(40):
        task = f"t{number // 2:03}"
        store.put_call(routed_call(2 * number, task, LIGHT, 60 * (80 - number)))
        store.put_call(routed_call(2 * number + 1, None, LIGHT, 60 * (80 - number) - 1, kind="title"))
    told = {row.id: (row.calls, row.cost_usd, row.input_tokens) for row in rows(store, "tasks")}
    assert told == {one.task_id: (one.calls, one.cost_usd, one.input_tokens) for one in list_tasks(store, limit=99)}


def test_events_tell_a_failover_step_by_step(store: MemoryStore) -> None:
    of_call = [row for row in rows(store, "events") if row.request_id == "000000000000000a"]
    assert [row.kind for row in of_call] == [
        "request",
        "route_decision",
        "provider_response",
        "failover",
        "provider_response",
        "usage_actual",
    ]
    failed, over, answered, usage = of_call[2:]
    assert (failed.target_id, failed.status, failed.success) == (FRONTIER, 429, False)
    assert (over.target_id, over.metadata) == (STRONG, {"from": FRONTIER, "failure": "rate-limit"})
    assert (answered.success, answered.latency_ms) == (True, 2_500.0)
    assert (usage.cost_usd, usage.metadata["attempt"], usage.metadata["output"]) == (0.01, "000000000000000a:2", 600)


def test_events_have_votes_judgements_summaries_rules_and_what_the_gateway_noticed(store: MemoryStore) -> None:
    told = {row.kind: row for row in rows(store, "events")}
    assert {"user_feedback", "task_outcome", "task_summary", "rule_applied", "compaction"} <= set(told)
    assert told["user_feedback"].metadata == {"vote": "good", "has_reason": True}
    assert told["task_outcome"].success is True
    assert told["compaction"].metadata == {"before": 80, "after": 12}
    assert told["rule_applied"].metadata == {"rule": "debug"}
    assert set(told) - {"compaction"} <= set(KINDS)


def test_events_tell_what_limits_made_of_a_call_and_how_near_a_provider_is_to_its_own(store: MemoryStore) -> None:
    spend = {"usd": 0.2, "reserved_usd": 0.5, "capped": False, "action": "warn", "exceeded": ["daily", "p daily"]}
    store.put_call(routed_call(11, DEBUG, STRONG, 1, spend=spend))
    quota = {"provider": "anthropic", "status": "warning", "before": "healthy", "uvi": 0.9}
    store.put_event(EventRecord(created_ms=NOW_MS, kind="quota_observation", details=quota))
    told = {row.kind: row for row in rows(store, "events")}
    budget = told["budget_usage"]
    assert (budget.cost_usd, budget.metadata["reserved_usd"], budget.metadata["exceeded"]) == (
        0.2,
        0.5,
        "daily p daily",
    )
    assert (told["quota_observation"].provider, told["quota_observation"].metadata["status"]) == (
        "anthropic",
        "warning",
    )


def test_events_have_ids_of_their_own(store: MemoryStore) -> None:
    ids = [row.id for row in rows(store, "events")]
    assert len(set(ids)) == len(ids)


def test_metadata_is_flat(store: MemoryStore) -> None:
    for row in rows(store, "events"):
        assert all(isinstance(value, str | int | float | bool) for value in row.metadata.values())


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_filtered_by_time_session_and_model(table: Table, store: MemoryStore) -> None:
    def sessions(told: list[Any]) -> set[Any]:
        return {getattr(row, "session", getattr(row, "session_id", None)) for row in told}

    if table != "metrics":
        assert sessions(rows(store, table, session=ATTIC)) == {ATTIC}
    assert len(rows(store, table, since_ms=NOW_MS - 10 * MINUTE_MS)) < len(rows(store, table))
    assert rows(store, table, until_ms=NOW_MS - 400 * MINUTE_MS) == []
    for pattern in (LIGHT, LIGHT.partition("/")[2], f"*{LIGHT[-5:]}"):
        chosen = rows(store, table, model=pattern)
        assert chosen
        if table in ("attempts", "metrics"):
            assert {row.target for row in chosen} == {LIGHT}


@pytest.mark.parametrize("table", TABLES)
def test_no_row_has_what_a_user_wrote(table: Table, store: MemoryStore) -> None:
    told = b"".join(msgspec.json.encode(row) for row in rows(store, table))
    assert b"SECRET" not in told


# --- formats ---


def written(store: MemoryStore, table: Table, form: Format) -> bytes:
    out = io.BytesIO()
    number = write_rows(export(store, table, EVERYTHING), row_type(table), form, out)
    assert number == len(rows(store, table))
    return out.getvalue()


@pytest.mark.parametrize("table", TABLES)
def test_the_formats_of_text_say_the_same(table: Table, store: MemoryStore) -> None:
    lines = [msgspec.json.decode(line) for line in written(store, table, "jsonl").splitlines()]
    assert msgspec.json.decode(written(store, table, "json")) == lines
    assert [list(line) for line in lines] == [list(row_type(table).__struct_fields__)] * len(lines)
    cells = list(csv.DictReader(io.StringIO(written(store, table, "csv").decode(), newline="")))
    assert len(cells) == len(lines)
    for cell, line in zip(cells, lines, strict=True):
        for name, value in line.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert float(cell[name]) == value
            if value is None:
                assert cell[name] == ""


@pytest.mark.parametrize("form", ["json", "jsonl", "csv"])
def test_nothing_is_a_document_too(form: Format) -> None:
    out = io.BytesIO()
    assert write_rows([], row_type("calls"), form, out) == 0
    text = out.getvalue().decode()
    assert {"json": text == "[]\n", "jsonl": text == "", "csv": text.startswith("id,at,")}[form]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "＝1"])
def test_a_cell_is_never_a_formula_nor_drives_a_terminal(name: str) -> None:
    store = MemoryStore()
    store.put_call(routed_call(1, "t", LIGHT, 1, route={"policy": f"{name}\x1b[31m", "task": {"kinds": [name]}}))
    (cell,) = csv.DictReader(io.StringIO(written(store, "calls", "csv").decode(), newline=""))
    assert cell["policy"][0] not in "=+-@\t＝"
    assert cell["task_kinds"][0] not in "=+-@\t＝"
    assert "\x1b" not in cell["policy"]
    assert float(cell["latency_ms"]) == 2_500.0


@pytest.mark.parametrize("table", TABLES)
def test_parquet_has_the_same_columns(table: Table, store: MemoryStore) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="the extra `parquet` is not installed")
    found = pyarrow.read_table(io.BytesIO(written(store, table, "parquet"))).to_pylist()
    for row, one in zip(rows(store, table), found, strict=True):
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(row).items()}
        if "metadata" in plain:
            plain["metadata"] = msgspec.json.encode(plain["metadata"]).decode()
        assert one == plain


def test_formats_are_those_of_the_interface() -> None:
    assert FORMATS == ("json", "jsonl", "csv", "parquet")


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_written_while_calls_are_still_read(table: Table) -> None:
    pulled = 0

    class Long(MemoryStore):
        def walk_calls(
            self, session_id: str | None = None, *, since_ms: int = 0, until_ms: int = 0
        ) -> Iterator[AttemptRecord]:
            nonlocal pulled
            for pulled in range(4_000):
                at = 2_000_000 * (pulled // 2)
                yield AttemptRecord(
                    id=f"{pulled}",
                    session="s",
                    created_ms=at,
                    kind="conversation",
                    provider="p",
                    model="m",
                    outcome="ok",
                    route=AttemptRoute(task_id=f"t{pulled}", target="p/m"),
                )

    class Out(io.BytesIO):
        begun_at = 0

        def writelines(self, lines: Any, /) -> None:
            for line in lines:
                if not self.begun_at and b"\n" in line[:-2]:
                    self.begun_at = pulled

    out = Out()
    write_rows(export(Long(), table, EVERYTHING), row_type(table), "jsonl", out)
    assert 0 < out.begun_at < 2_500
