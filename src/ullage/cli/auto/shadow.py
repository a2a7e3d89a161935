"""`ullage auto shadow`: what would have been chosen while routing only watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines, table

from .place import look

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores.shadow import Compared, ShadowReport


@click.command()
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="Tasks from then on: 24h, 7d, a date.")
@json_option
@data_dir_option
def command(since: str, as_json: bool, data_dir: str | None) -> None:
    """Add up what tasks cost while `routing.shadow` was set, and what they would have cost where they would have gone."""
    from ullage.engine.learning import Learning
    from ullage.stores.metrics import parse_since
    from ullage.stores.shadow import report_shadow, watched_tasks

    now_ms = records.now_ms()
    since_ms = parse_since(since, now_ms)
    with look(None, True, data_dir) as place:
        learning = Learning(place.store)
        learning.read(now_ms)
        watched = watched_tasks(place.store, since_ms=since_ms)
        report = report_shadow(watched, input_ratio=lambda target: learning.ratios(target).input)
    if as_json:
        print_json(report)
    else:
        print_lines(_render(report))


def _render(report: ShadowReport) -> Iterator[str]:
    if not report.tasks:
        yield "No task was watched in that time; `routing.shadow = true` has routing watch."
        return
    yield f"{report.tasks} {_tasks(report.tasks)} watched; for {report.differing} another target was selected."
    yield ""
    rows = [
        ("predicted, for all calls of a task", *_figures(report.predicted)),
        ("by the tokens that were paid for", *_figures(report.actual)),
    ]
    yield from table(("", "tasks", "kept", "selected"), rows, right=(1, 2, 3))
    if report.pairs:
        yield ""
        pairs = [(one.kept, one.selected, str(one.tasks), *_figures(one.actual)[1:]) for one in report.pairs]
        yield from table(("kept", "selected", "tasks", "cost", "would have cost"), pairs, right=(2, 3, 4))
    yield ""
    yield report.caveat


def _figures(compared: Compared) -> tuple[str, str, str]:
    if not compared.tasks:
        return "0", "-", "-"
    return str(compared.tasks), f"${compared.kept_usd:.4f}", f"${compared.selected_usd:.4f}"


def _tasks(number: int) -> str:
    return "task was" if number == 1 else "tasks were"
