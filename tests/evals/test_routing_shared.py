"""The outcomes of models beside the repository: the published totals, and what docs/reference/routing-quality.md promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage.catalogs import load_now
from ullage.evals.routing_data import read_folder
from ullage.evals.routing_published import check_aider, check_set
from ullage.evals.routing_switching import play_switches
from ullage.evals.routing_targets import find_candidates, list_prices

pytestmark = pytest.mark.shared


def test_every_published_total_is_found_again(shared_data: Path) -> None:
    found = read_folder(shared_data / "routing")
    checks = [check for data in found.sets for check in check_set(data)] + check_aider(found.aider)
    assert [check.what for check in checks if check.agrees is not True] == []
    assert len(checks) == 23
    assert found.missing == ()


@pytest.mark.slow
def test_comparing_all_calls_costs_less_than_comparing_the_next_request(shared_data: Path, tmp_path: Path) -> None:
    data = read_folder(shared_data / "routing").sets[0]
    candidates = find_candidates(data, load_now(tmp_path, refresh=False).layers)
    found = play_switches(data, list_prices(candidates), draws=100)
    assert found is not None
    rules = {one.rule: one for one in found.rules}
    assert [round(calls, 1) for calls in found.calls] == [13.2, 14.5, 37.2, 51.0]
    assert rules["horizon, 12 calls"].interval.high < 1
