"""`ullage metrics`: what recorded calls add up to: attempts, times, cost, and how caches served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import records
from .output import print_json
from .records import data_dir_option, json_option, open_records, print_lines, shorten_ids, table, tokens

if TYPE_CHECKING:
    from ullage.stores.metrics import Group

# Named here and in stores.metrics, which is not loaded to print a help screen.
_GROUPS = ("target", "provider", "client", "session")


@click.command()
@click.option(
    "--since",
    default="24h",
    show_default=True,
    metavar="TIME",
    help="Calls from then on: 30m, 24h, 7d, 2w, or a date.",
)
@click.option("--by", type=click.Choice(_GROUPS), default="target", show_default=True, help="What the rows are.")
@json_option
@data_dir_option
def command(since: str, by: Group, as_json: bool, data_dir: str | None) -> None:
    """Show what recorded calls add up to: attempts, times, cost, caches.

    `read` is the share of the prompts that providers read from their caches, `missed` what they should have read and did not,
    without a reason that was known before. `cost` is of the calls whose prices are known.
    """
    from ullage.stores.metrics import parse_since, report_metrics

    now_ms = records.now_ms()
    since_ms = parse_since(since, now_ms)
    report = report_metrics(open_records(data_dir), since_ms=since_ms, until_ms=now_ms, by=by)
    if as_json:
        print_json(report)
    else:
        print_lines(render(report))


def render(report: dict[str, Any]) -> list[str]:
    """The table, and below it why caches were missed."""
    by = report["by"]
    rows = report[f"{by}s"]
    if not rows:
        return ["No call was recorded in that time."]
    shown = shorten_ids(row[by] for row in rows) if by == "session" else {row[by]: row[by] for row in rows}
    header = (by, "calls", "failed", "median", "p95", "first", "prompt", "read", "missed", "cost")
    cells = [(shown[row[by]] or "-", *_figures(row)) for row in rows]
    return [*table(header, cells, right=range(1, len(header))), *_causes(rows)]


def _figures(row: dict[str, Any]) -> tuple[str, ...]:
    cache = row["cache"]
    prompt = sum(cache[part] for part in ("input_fresh", "cache_read", "cache_write"))
    return (
        str(row["attempts"]),
        str(row["failures"] or "-"),
        _time(row["latency_ms"]["p50"]),
        _time(row["latency_ms"]["p95"]),
        _time(row["ttft_ms"]["p50"]),
        tokens(prompt or None),
        f"{cache['read_share']:.0%}" if prompt else "-",
        tokens(cache["missed_tokens"] or None),
        _cost(row),
    )


def _time(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _cost(row: dict[str, Any]) -> str:
    """A plus sign where some calls are missing from the sum."""
    if row["cost_usd"] is None:
        return "-"
    return f"${row['cost_usd']:,.2f}{'+' if row['unpriced'] else ''}"


def _causes(rows: list[dict[str, Any]]) -> list[str]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        for cause, figures in row["cache"]["misses"].items():
            known = sums.setdefault(cause, [0, 0])
            known[0] += figures["calls"]
            known[1] += figures["tokens"]
    if not sums:
        return []
    ordered = sorted(sums.items(), key=lambda entry: -entry[1][1])
    cells = [(cause, str(calls), tokens(missed or None)) for cause, (calls, missed) in ordered]
    return ["", *table(("not read from cache because", "calls", "tokens"), cells, right=(1, 2))]
