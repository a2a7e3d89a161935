"""`ullage context`: what fills the window."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import CallError

from .output import is_terminal, print_json, wants_color
from .preferences import Preferences, estimator_option, load_preferences, style_option
from .records import json_option, print_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.accounting import Breakdown

    from .context_input import Wishes
    from .inspection import Inspection

_VIEWS = ("summary", "compact", "expanded")
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}

_PAGE_START = b"<!doctype html"


def _tokens(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Tokens with an optional k or M: `200000`, `200k`, `1M`."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)([kKmM]?)", value)
    tokens = round(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if tokens < 1:
        raise click.BadParameter(f"{value!r} is no number of tokens; write 200000, 200k or 1M", ctx, param)
    return tokens


@click.command()
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--dialect", metavar="D", help="Take SOURCE for a request body of this shape.")
@click.option("--provider", metavar="P", help="Who serves it.")
@click.option("--model", metavar="M", help="Count for this model instead of the one named in the source.")
@click.option("--window", metavar="TOKENS", callback=_tokens, help="The model's context window, as 200k.")
@click.option("--call", metavar="N", type=click.IntRange(1), help="An earlier call of a session, counted from 1.")
@estimator_option
@click.option("--view", type=click.Choice(_VIEWS), default="summary", show_default=True, help="How much to show.")
@style_option
@click.option(
    "--insights", is_flag=True, help="Also show what can be acted on; part of the expanded view and of --json."
)
@click.option("--exact", is_flag=True, help="Have --provider count a request body; its key is in its own variable.")
@click.option(
    "--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write all of it as one page for a browser."
)
@json_option
def command(
    source: str | None,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    window: int | None,
    call: int | None,
    estimator: str | None,
    view: str,
    style: str | None,
    insights: bool,
    exact: bool,
    html: str | None,
    as_json: bool,
) -> int:
    """Show what fills the context window.

    SOURCE is a session file of Pi, Claude Code, Codex or OpenHands, a request body (`-` reads either from standard input), a
    folder with a captured request (request.json, and perhaps meta.json and response.*), or nothing for the newest call that went
    through the daemon.
    """
    _refuse_to_replace(html)
    from .context_input import Wishes, inspect

    if source is None and estimator is not None:
        raise CallError(
            "--estimator counts a request or a session; what the daemon recorded is counted already.",
            hint="Give a SOURCE, or set accounting.estimator for the daemon.",
        )
    preferences = load_preferences(estimator=estimator, style=style)
    wishes = Wishes(dialect=dialect, provider=provider, model=model, window=window, call=call, preferences=preferences)
    if exact:
        _refuse_beside_exact(insights=insights, html=html)
        return _show_exactly(source, wishes, view, as_json=as_json)
    inspection = inspect(source, wishes, _progress())
    if as_json or html is not None:
        _tell(make_report(inspection), html, as_json=as_json)
        return 0
    _draw(inspection.breakdown, view, preferences)
    if insights or view == "expanded":
        _draw_insights(inspection, preferences)
    return 0


def _refuse_beside_exact(*, insights: bool, html: str | None) -> None:
    option = "--html" if html is not None else "--insights" if insights else None
    if option is not None:
        raise CallError(
            f"--exact shows what a provider counted; {option} goes with estimates and usage.",
            hint=f"Give one of --exact and {option}.",
        )


def _tell(report: dict[str, Any], html: str | None, *, as_json: bool) -> None:
    """Writes the report as a page and says where it is, prints it as JSON, or both."""
    if html is not None:
        from ullage.web import render_report

        _write_page(Path(html), render_report(report))
        click.echo(f"written to {html}", err=True)
    if as_json:
        print_json(report)


def _refuse_to_replace(html: str | None) -> None:
    """A page may replace a page, nothing else: the file named could be the session itself."""
    path = Path(html) if html is not None else None
    if path is None or not path.is_file():
        return
    with path.open("rb") as stream:
        start = stream.read(len(_PAGE_START))
    if start and start.lower() != _PAGE_START:
        raise CallError(
            f"{path} is there already and is no page of ours.", hint="Give `--html` another name.", code="would_replace"
        )


def _write_page(path: Path, page: str) -> None:
    """Writes beside the place and moves it there, so that a failure leaves what was there before."""
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text(page, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def make_report(inspection: Inspection) -> dict[str, Any]:
    """The whole report of a source, as `--json` prints it."""
    from ullage.core.accounting import report
    from ullage.core.accounting.insights import report_insights
    from ullage.core.calibration import report_course
    from ullage.stores.report import iso_time

    breakdown, course = inspection.breakdown, inspection.find_course()
    return {
        **report(breakdown),
        "insights": report_insights(inspection.find_insights(), breakdown, time_text=iso_time),
        "calibration": report_course(course, time_text=iso_time, name_of=inspection.name_call) if course else None,
    }


def _show_exactly(source: str | None, wishes: Wishes, view: str, *, as_json: bool) -> int:
    """The counted breakdown with the counts beside it; status 1 if the provider gave one that cannot be true."""
    from .exact import exact_lines, exact_report, read_exactly

    breakdown, exact, estimate = read_exactly(source, wishes)
    if as_json:
        from ullage.core.accounting import report

        print_json({**report(breakdown), "exact": exact_report(exact, estimate)})
    else:
        _draw(breakdown, view, wishes.preferences)
        print_lines(exact_lines(exact, estimate))
    return int(exact.failed)


def _draw(breakdown: Breakdown, view: str, preferences: Preferences) -> None:
    from ullage.core.accounting import VIEWS, render_view

    chosen = next(name for name in VIEWS if name == view)
    screen = render_view(breakdown, chosen, width=_columns(), color=wants_color(), style=preferences.style)
    click.echo(screen, nl=False)


def _draw_insights(inspection: Inspection, preferences: Preferences) -> None:
    from ullage.core.accounting.insights import render_insights

    insights = inspection.find_insights()
    click.echo(render_insights(insights, width=_columns(), color=wants_color(), style=preferences.style), nl=False)


def _columns() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _progress() -> Callable[[int, int], None] | None:
    """A line on standard error that counts up while a long file is read; nothing where no one looks."""
    if not is_terminal(sys.stderr):
        return None

    def show(done: int, size: int) -> None:
        if size >= 8 * 2**20:
            click.echo(f"\rreading {100 * done // size}%\x1b[K" if done < size else "\r\x1b[K", err=True, nl=False)

    return show
