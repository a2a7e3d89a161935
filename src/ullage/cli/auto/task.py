"""`ullage auto task`: what became of the newest task that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import ago, print_lines
from ullage.core.terminal import safe

from .place import look, whose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores.tasks import TaskSummary


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Tell what the newest task that is over cost, how long it took, and what became of it.

    A task is one turn of the user with all calls of its tool loop, and what its client asked for meanwhile.
    """
    from ullage.engine.judging import settled_task
    from ullage.stores.tasks import report_task

    with look(session, everyone, data_dir) as place:
        found = settled_task(place.store, session=place.session or None)
    if as_json:
        print_json(report_task(found))
    else:
        print_lines(map(safe, tell_task(found)))


def tell_task(task: TaskSummary) -> Iterator[str]:
    """A line for each question about a task."""
    begun = ago(task.started_ms, records.now_ms())
    facts = {
        "task": f"{task.task_id[: records.SHORTEST_ID]}, begun {begun}",
        "cost": _cost(task),
        "duration": f"{task.duration_ms / 1000:.1f} s, {task.calls} {'call' if task.calls == 1 else 'calls'}",
        "outcome": _outcome(task),
        "escalated": "yes, to a stronger model" if task.escalated else "no",
    }
    yield from (f"{name:<11}{value}" for name, value in facts.items())


def _cost(task: TaskSummary) -> str:
    if task.cost_usd is None:
        return "unknown: no price is known"
    return f"${task.cost_usd:.4f}{'' if task.cost_kind == 'known' else ' (estimated)'}"


def _outcome(task: TaskSummary) -> str:
    said = f"; you said {task.assessment}" if task.assessment is not None else ""
    return f"{task.delivery_outcome}{said}"
