"""Whether limits of what may be spent can hold, and whether one is used up."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ullage.cli import records
from ullage.core.errors import StoreError

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ullage.settings import Loaded


def budget(loaded: Loaded) -> Iterator[Check]:
    """One check, where any limit is set."""
    from ullage.engine.budgets import report_budget
    from ullage.settings.budget import make_spend_limits
    from ullage.stores import MemoryStore, open_reader

    limits = make_spend_limits(loaded.settings.budget)
    if not limits.are_set:
        return
    try:
        reader = open_reader(loaded.settings.store.url, loaded.paths.data_dir)
    except StoreError:  # the database has a check of its own
        reader = MemoryStore()
    with contextlib.closing(reader), contextlib.suppress(StoreError):
        rows = report_budget(reader, limits, session=None, now_ms=records.now_ms())["rows"]
        yield _check([one for one in rows if one["limit_usd"] is not None], unpriced=_unpriced(rows))


def _check(held: list[Mapping[str, Any]], *, unpriced: int) -> Check:
    told = "; ".join(_told(one) for one in held) or "limits of sessions alone"
    spent = [one["name"] for one in held if one.get("left_usd") == 0]
    then = ""
    if spent:
        then = f"Used up: {', '.join(spent)}. `ullage budget` says when it frees."
    elif unpriced:
        then = f"{unpriced} of this month's calls had no known price, so no limit held: set one in [models.overrides]."
    return Check(id="budget", title="Budget", status="warn" if then else "ok", detail=told, next=then)


def _told(one: Mapping[str, Any]) -> str:
    used = f"{one['used_usd']:.2f} of " if "used_usd" in one else ""
    return f"{one['name']} {used}{one['limit_usd']:.2f} USD ({one['on_exceed']})"


def _unpriced(rows: list[Mapping[str, Any]]) -> int:
    return next((one["unpriced"] for one in rows if one["name"] == "monthly"), 0)
