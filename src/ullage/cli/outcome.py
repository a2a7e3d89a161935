"""`ullage outcome`: what became of a task, as its user sees it."""

from __future__ import annotations

import click

from ullage.core.terminal import safe

from . import records
from .auto.place import look, session_option, writing
from .output import print_json
from .records import data_dir_option, json_option, print_lines

JUDGEMENTS = ("success", "failure", "unknown")


@click.command()
@click.argument("judgement", metavar="success|failure|unknown", type=click.Choice(JUDGEMENTS))
@click.option("--task", metavar="ID", help="This task; the beginning of its id is enough. [the newest that is over]")
@session_option
@json_option
@data_dir_option
def command(judgement: str, task: str | None, session: str | None, as_json: bool, data_dir: str | None) -> None:
    """Say how a task went; `unknown` takes back what was said before.

    It is your word, no proof: it counts for the target that ended the task, and only the last thing said of a task holds.
    """
    from ullage.core.routing.learning import MOST
    from ullage.engine.judging import assess, report_assessed

    said = next(one for one in ("success", "failure", "unknown") if one == judgement)
    with look(session, task is not None and session is None, data_dir) as place:
        asked = place.session or None
    with writing(data_dir) as (_, store):
        found = assess(store, said, task=task, session=asked, now_ms=records.now_ms())
    if as_json:
        print_json(report_assessed(found))
        return
    target, kinds = found.record.target, ", ".join(found.record.kinds) or "any kind"
    print_lines(
        [
            safe(f"Task {found.task.task_id[: records.SHORTEST_ID]}: {said}."),
            safe(
                f"{target} is at {found.quality.assessed:+.3f} for tasks of {kinds} by what was said of them"
                f" (at most {MOST:.2f} either way)."
            ),
        ]
    )
