"""`ullage auto metrics`: routed calls added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.quota import render_quotas
from ullage.cli.records import data_dir_option, json_option, print_lines, table

from .place import look, session_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEADER = ("calls", "success", "average", "p50", "p95", "cost", "predicted", "of these cost")


@click.command()
@click.option("--since", default="7d", show_default=True, metavar="TIME", help="Calls from then on: 24h, 7d, a date.")
@session_option
@json_option
@data_dir_option
def command(since: str, session: str | None, as_json: bool, data_dir: str | None) -> None:
    """Add up routed calls, of all sessions or of one: how many succeeded, how long they took, what they cost.

    `predicted` is what the calls were taken to cost that a target was chosen with; beside it what these did cost. `factor` is
    the one by the other, from three calls on.
    """
    from ullage.stores.metrics import parse_since
    from ullage.stores.routed import report_routed

    now_ms = records.now_ms()
    with look(session, session is None, data_dir) as place:
        report = report_routed(place.store, place.session or None, since_ms=parse_since(since, now_ms), until_ms=now_ms)
        quotas = _quotas(place, now_ms)
    if as_json:
        print_json({**report, "quota": quotas})
    else:
        print_lines(_render(report, quotas))


def _quotas(place: Any, now_ms: int) -> list[dict[str, Any]]:
    from .asking import recall_quotas

    return recall_quotas(place.settings, place.store).report(now_ms)


def _render(report: dict[str, Any], quotas: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not report["total"]["attempts"]:
        yield "No call was routed in that time."
        return
    all_rows = [("all", *_figures(report["total"]))]
    all_rows += [(one["provider"], *_figures(one)) for one in report["providers"]]
    yield from table(("provider", *_HEADER), all_rows, right=range(1, 9))
    if quotas:
        yield ""
        yield from render_quotas(quotas)
    yield ""
    hours = [(one["hour"][:13].replace("T", " "), *_figures(one)) for one in report["hourly"]]
    yield from table(("hour (UTC)", *_HEADER), hours, right=range(1, 9))
    yield ""
    targets = [(one["target"], *_figures(one), *_of_target(one)) for one in report["targets"]]
    yield from table(("target", *_HEADER, "first", "factor"), targets, right=range(1, 11))


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    times, predicted = row["latency_ms"], row["predicted"]
    return (
        str(row["attempts"]),
        "-" if row["success_rate"] is None else f"{row['success_rate']:.0%}",
        *(seconds(times[name]) for name in ("average", "p50", "p95")),
        f"{usd(row['cost_usd'])}{'+' if row['unpriced'] else ''}",
        usd(predicted["usd"]),
        usd(predicted["cost_usd"]),
    )


def _of_target(row: dict[str, Any]) -> tuple[str, str]:
    factor = row["predicted"]["factor"]
    return seconds(row["ttft_ms"]["p50"]), "-" if factor is None else f"{factor:.2f}"


def seconds(milliseconds: float | None) -> str:
    """A time for people; a dash where none is known."""
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def usd(amount: float | None) -> str:
    """Money for people; a dash where none is known."""
    return "-" if amount is None else f"${amount:.4f}"
