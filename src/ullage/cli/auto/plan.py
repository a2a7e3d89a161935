"""`ullage auto plan`: where a prompt would go next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli import records
from ullage.cli.inputs import STDIN, read_input
from ullage.cli.output import print_json
from ullage.cli.records import print_lines, table

from .place import look, whose
from .telling import tell_choice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NOT_SENT = "Nothing was sent."


@click.command()
@click.argument("prompt")
@click.option("--images", is_flag=True, help="The prompt has pictures.")
@whose
def command(prompt: str, images: bool, session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> int:
    """Show where PROMPT would go if it came next in the session, and why; `-` reads it from standard input.

    It goes by what is set for the session, by what was learned and by quotas. Nothing is sent, and no small model is asked.
    The exit status is 1 where nobody may take it.
    """
    from .asking import open_asking

    text = read_input(STDIN).decode("utf-8", "replace") if prompt == STDIN else prompt
    with look(session, everyone, data_dir) as place:
        asking = open_asking(place)
        preview = asking.previewing.plan(
            text, asking.standing, asking.candidates, now_ms=records.now_ms(), images=int(images)
        )
    report = preview.report()
    if as_json:
        print_json(report)
    else:
        print_lines(_render(report))
    return int(report["target"] is None)


def _render(report: dict[str, Any]) -> Iterator[str]:
    yield from tell_choice(report)
    verdicts = report.get("explanation", {}).get("verdicts") or ()
    if verdicts:
        yield ""
        rows = [(one["name"], "applies" if one["matched"] else "does not", one["reason"]) for one in verdicts]
        yield from table(("rule", "", "because"), rows)
    yield _NOT_SENT
