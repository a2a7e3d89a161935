"""`ullage context`: what fills the window."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import click

from .output import print_json
from .records import json_option, print_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.accounting import Breakdown

    from .context_input import Wishes

_VIEWS = ("summary", "compact", "expanded")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


def _tokens(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Tokens with an optional k or M: `200000`, `200k`, `1M`."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmM]?)", value)
    tokens = round(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if tokens < 1:
        raise click.BadParameter(f"{value!r} is no number of tokens; write 200000, 200k or 1M", ctx, param)
    return tokens


@click.command()
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--dialect", metavar="D", help="Shape of a request body, if it cannot be told by its keys.")
@click.option("--provider", metavar="P", help="Who serves it.")
@click.option("--model", metavar="M", help="Count for this model instead of the one named in the source.")
@click.option("--window", metavar="TOKENS", callback=_tokens, help="The model's context window, as 200k.")
@click.option("--call", metavar="N", type=click.IntRange(1), help="An earlier call of a session, counted from 1.")
@click.option("--view", type=click.Choice(_VIEWS), default="summary", show_default=True, help="How much to show.")
@click.option("--exact", is_flag=True, help="Have --provider count a request body; its key is in its own variable.")
@json_option
def command(
    source: str | None,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    window: int | None,
    call: int | None,
    view: str,
    exact: bool,
    as_json: bool,
) -> int:
    """Show what fills the context window.

    SOURCE is a session file of Pi, Claude Code, Codex or OpenHands, a request body (`-` reads it from standard input), a folder
    with a captured request (request.json, and perhaps meta.json and response.*), or nothing for the newest call that went
    through the daemon.
    """
    from .context_input import Wishes, read_breakdown

    wishes = Wishes(dialect=dialect, provider=provider, model=model, window=window, call=call)
    if exact:
        return _show_exactly(source, wishes, view, as_json=as_json)
    breakdown = read_breakdown(source, wishes, _progress())
    if as_json:
        from ullage.core.accounting import report

        print_json(report(breakdown))
    else:
        _draw(breakdown, view)
    return 0


def _show_exactly(source: str | None, wishes: Wishes, view: str, *, as_json: bool) -> int:
    """The counted breakdown with the counts beside it; status 1 if the provider gave one that cannot be true."""
    from .exact import exact_lines, exact_report, read_exactly

    breakdown, exact, estimate = read_exactly(source, wishes)
    if as_json:
        from ullage.core.accounting import report

        print_json({**report(breakdown), "exact": exact_report(exact, estimate)})
    else:
        _draw(breakdown, view)
        print_lines(exact_lines(exact, estimate))
    return int(exact.failed)


def _draw(breakdown: Breakdown, view: str) -> None:
    from ullage.core.accounting import VIEWS, render_view

    chosen = next(name for name in VIEWS if name == view)
    columns = shutil.get_terminal_size((100, 24)).columns
    click.echo(render_view(breakdown, chosen, width=columns, color=_wants_color()), nl=False)


def _wants_color() -> bool:
    if not sys.stdout.isatty():
        return False
    from ullage.settings import environment

    return not environment().get("NO_COLOR")


def _progress() -> Callable[[int, int], None] | None:
    """A line on standard error that counts up while a long file is read; nothing where no one looks."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, size: int) -> None:
        if size >= 8 * 2**20:
            click.echo(f"\rreading {100 * done // size}%\x1b[K" if done < size else "\r\x1b[K", err=True, nl=False)

    return show
