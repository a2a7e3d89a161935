"""What tasks would have cost elsewhere (routing specification, section 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ullage.stores.shadow import CAVEAT, Compared, ShadowReport, report_shadow, watched_tasks

if TYPE_CHECKING:
    from conftest import Records

    from ullage.stores import Store

AT_MS = 1_780_000_000_000
KEPT, OTHER = "anthropic/strong", "anthropic/light"
DEAR = {"input": 10.0, "output": 50.0, "cache_read": 1.0, "cache_write": 12.0}
CHEAP = {"input": 1.0, "output": 5.0, "cache_read": 0.1, "cache_write": 1.2}
RANKED = [
    {"target": KEPT, "cost": {"usd": 0.9, "source": "litellm", **DEAR}},
    {"target": OTHER, "cost": {"usd": 0.2, "source": "litellm", **CHEAP}},
]
USAGE = {"input_fresh": 1_000, "cache_read": 20_000, "cache_write": 3_000, "output": 400}
ACTUAL = (1_000 * 10 + 20_000 * 1 + 3_000 * 12 + 400 * 50) / 1e6
WARM = (1_000 * 1 + 20_000 * 0.1 + 3_000 * 1.2 + 400 * 5) / 1e6
COLD = (1_000 * 1 + 23_000 * 1.2 + 400 * 5) / 1e6


class Watch:
    """Puts tasks into a store that stayed where they were."""

    def __init__(self, store: Store, records: Records) -> None:
        self.store = store
        self.records = records
        self.number = 0

    def task(self, name: str, selected: str = OTHER, *, calls: int = 1, **fields: Any) -> None:
        for call in range(calls):
            self.number += 1
            route: dict[str, Any] = {"task_id": name, "target": KEPT, "reason": "continuation"}
            if not call:
                route |= {"reason": "user", "shadow": selected, "ranked": RANKED} | fields.pop("route", {})
            common = {
                "created_ms": AT_MS + self.number,
                "model": "strong",
                "usage": USAGE,
                "awareness": {"profile": {"prices": DEAR}},
                "route": route,
            }
            self.store.put_call(self.records.call(f"c{self.number:03}", **(common | fields)))

    def report(self, **options: Any) -> ShadowReport:
        assert self.store.flush()
        return report_shadow(watched_tasks(self.store), **options)


@pytest.fixture
def watch(store: Store, records: Records) -> Watch:
    return Watch(store, records)


def compared(tasks: int, kept_usd: float, selected_usd: float) -> Compared:
    return Compared(tasks=tasks, kept_usd=pytest.approx(kept_usd), selected_usd=pytest.approx(selected_usd))


def test_both_predictions_and_both_costs_of_the_tokens_that_were_used_are_told_with_the_number_of_tasks(
    watch: Watch,
) -> None:
    watch.task("t1", calls=3)
    report = watch.report()
    assert (report.tasks, report.differing) == (1, 1)
    assert report.predicted == compared(1, 0.9, 0.2)
    assert report.actual == compared(1, 3 * ACTUAL, COLD + 2 * WARM)
    (pair,) = report.pairs
    assert (pair.kept, pair.selected, pair.tasks, pair.actual) == (KEPT, OTHER, 1, report.actual)


def test_the_cache_is_cold_at_the_other_target_unless_the_task_before_had_gone_there_too(watch: Watch) -> None:
    watch.task("t1")
    watch.task("t2")
    assert watch.report().actual == compared(2, 2 * ACTUAL, COLD + WARM)
    watch.task("t3", KEPT)
    watch.task("t4")
    assert watch.report().actual == compared(4, 4 * ACTUAL, COLD + WARM + ACTUAL + COLD)
    watch.task("t5", session="s2")
    assert watch.report().actual == compared(5, 5 * ACTUAL, 3 * COLD + WARM + ACTUAL)


def test_where_the_same_target_is_selected_both_cost_the_same(watch: Watch) -> None:
    watch.task("t1", KEPT)
    report = watch.report()
    assert (report.tasks, report.differing, report.pairs) == (1, 0, ())
    assert report.actual == compared(1, ACTUAL, ACTUAL)


def test_prompts_have_other_numbers_of_tokens_elsewhere_where_that_is_known(watch: Watch) -> None:
    watch.task("t1")
    ratios = {KEPT: 1.0, OTHER: 1.5}
    scaled = (1_500 * 1 + 34_500 * 1.2 + 400 * 5) / 1e6
    assert watch.report(input_ratio=ratios.get).actual == compared(1, ACTUAL, scaled)
    assert watch.report(input_ratio={OTHER: 1.5}.get).actual == compared(1, ACTUAL, COLD)


@pytest.mark.parametrize(
    "fields",
    [{"awareness": None}, {"route": {"ranked": RANKED[:1]}}, {"usage": None}],
    ids=["no price of the target", "no price of the other", "no usage"],
)
def test_what_is_not_known_is_left_out_of_the_sums_and_not_of_the_number(watch: Watch, fields: dict[str, Any]) -> None:
    watch.task("t1")
    watch.task("t2", session="s2", **fields)
    report = watch.report()
    assert (report.tasks, report.differing) == (2, 2)
    assert report.actual == compared(1, ACTUAL, COLD)


def test_tasks_that_were_not_watched_are_left_out(watch: Watch) -> None:
    watch.task("t1", route={"shadow": None})
    watch.task("t2")
    assert watch.report().tasks == 1
    assert watched_tasks(watch.store, since_ms=AT_MS + 3) == []


def test_without_any_task_there_is_nothing_to_compare(store: Store) -> None:
    report = report_shadow(watched_tasks(store))
    assert (report.tasks, report.predicted, report.actual) == (0, compared(0, 0, 0), compared(0, 0, 0))


def test_nothing_is_claimed_of_quality(watch: Watch) -> None:
    watch.task("t1")
    report = watch.report()
    assert report.caveat == CAVEAT
    assert "is not known" in CAVEAT
    assert not any("quality" in name for name in msgspec.to_builtins(report))


def test_the_order_of_tasks_does_not_matter(watch: Watch) -> None:
    for number in range(4):
        watch.task(f"t{number}", (OTHER, KEPT)[number // 2 % 2])
    assert watch.store.flush()
    tasks = watched_tasks(watch.store)
    assert report_shadow(tasks) == report_shadow(tasks[::-1])
