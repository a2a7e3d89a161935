"""`ullage quota`: how near each provider is to its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import records
from .auto.place import look
from .output import print_json
from .records import data_dir_option, json_option, print_lines, table

if TYPE_CHECKING:
    from collections.abc import Sequence

_MINUTE_MS = 60_000
_HEADER = ("provider", "status", "UVI", "usage / limit", "burn/h", "cooldown ends")


@click.command()
@json_option
@data_dir_option
def command(as_json: bool, data_dir: str | None) -> None:
    """Show of each provider how much of its quota is used, by your own limits and by what its answers said.

    UVI is the part of a quota that is used, or will be at this rate; 1 is all of it. No billing is asked.
    """
    from ullage.cli.auto.asking import recall_quotas

    with look(None, True, data_dir) as place:
        report = recall_quotas(place.settings, place.store).report(records.now_ms())
    if as_json:
        print_json({"enabled": place.settings.routing.quota.enabled, "providers": report})
    elif not place.settings.routing.quota.enabled:
        print_lines(["Quotas are not watched: routing.quota.enabled is false."])
    else:
        print_lines(render_quotas(report) if report else ["Nothing is known of any provider's quota yet."])


def render_quotas(report: Sequence[dict[str, Any]]) -> list[str]:
    """A table with a row for each provider."""
    return table(_HEADER, [_row(one) for one in report], right=(2, 4))


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    uvi = one["uvi"]
    return (
        one["provider"],
        one["status"],
        "-" if uvi is None else f"{uvi:.2f}",
        ", ".join(_used(one)) or "-",
        f"${one['burn_usd_per_hour']:.2f}" if one["burn_usd_per_hour"] else "-",
        _until(one["retry_at_ms"], one["reason"]),
    )


def _used(one: dict[str, Any]) -> list[str]:
    """Money and requests of this window, each with its limit where one is set."""
    told = []
    if one["usd"] or one["max_usd"]:
        limit = f" / ${one['max_usd']:g}" if one["max_usd"] else ""
        told.append(f"${one['usd'] or 0:.2f}{limit}")
    if one["requests"] or one["max_requests"]:
        limit = f" / {one['max_requests']:g}" if one["max_requests"] else ""
        told.append(f"{one['requests'] or 0}{limit} requests")
    return told


def _until(retry_at_ms: int | None, reason: str | None) -> str:
    """How long it wants to be left alone, and why."""
    left = (retry_at_ms or 0) - records.now_ms()
    if left <= 0:
        return "-"
    return f"in {-(-left // _MINUTE_MS)} min{f' ({reason})' if reason else ''}"
