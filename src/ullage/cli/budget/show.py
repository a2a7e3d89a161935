"""`ullage budget show`: limits, what is spent and reserved of each, and when it frees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli import records
from ullage.cli.auto.place import look
from ullage.cli.keeping import named_session
from ullage.cli.output import print_json
from ullage.cli.records import data_dir_option, json_option, print_lines, table
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HEADER = ("limit", "window", "spent", "reserved", "used / limit", "left", "when exceeded", "frees")
_BAR = 24


@click.command()
@click.option(
    "--session", metavar="ID", help="This session; the beginning of its id is enough. [the one that spent last]"
)
@json_option
@data_dir_option
def command(session: str | None, as_json: bool, data_dir: str | None) -> None:
    """Show every limit with what is spent and reserved of it, by session, day, month and provider.

    Reserved is what calls that are being answered may cost at the most. A cost that nobody told stays as it was reserved and is
    marked with ~. Limits are those of the running daemon, or of the settings where none runs.
    """
    from ullage.cli.running import ask_daemon
    from ullage.engine.budgets import newest_spender, report_budget
    from ullage.settings.budget import make_spend_limits

    with look(None, True, data_dir) as place:
        named = named_session(session, place.store) if session is not None else newest_spender(place.store.ledger)
        # A daemon may have been started with other settings than those that are found from here.
        report = ask_daemon(place.loaded.paths.data_dir, "budget", {"session": named} if named else {})
        by_daemon = report is not None
        if report is None:
            limits = make_spend_limits(place.settings.budget)
            report = report_budget(place.store, limits, session=named, now_ms=records.now_ms())
    if as_json:
        print_json(report)
    else:
        print_lines(render_budget(report, "the running daemon" if by_daemon else str(place.loaded.paths.user_file)))


def render_budget(report: Mapping[str, Any], source: str) -> Iterator[str]:
    """The report for people; `source` says whose limits these are."""
    yield from table(_HEADER, [_row(one, report["session"]) for one in report["rows"]], right=(2, 3, 4, 5))
    if not any(one["limit_usd"] is not None for one in report["rows"]):
        yield ""
        yield safe(
            f"No limit is set by {source}; [budget] of the settings sets them, `ullage budget set` those of a session."
        )
    yield from _reserved(report["reserved"])
    yield from _by_hour(report["hours"])
    yield ""
    yield f"Days and months are those of {report['time_zone']}."
    yield from _notes(report)


def _row(one: Mapping[str, Any], session: str | None) -> tuple[str, ...]:
    limit = one["limit_usd"]
    if "used_usd" not in one:
        return one["name"], "each turn", "-", "-", f"- / {_usd(limit)}", "-", one["on_exceed"], one["frees"]
    spent = one["spent_usd"] + one["estimated_usd"] + one["imported_usd"]
    return (
        one["name"],
        (session or "")[: records.SHORTEST_ID] if one["name"] == "session" else one["window"],
        ("~" if one["estimated_usd"] else "") + _usd(spent),
        _usd(one["reserved_usd"]),
        f"{_usd(one['used_usd'])} / {_usd(limit) if limit is not None else '-'}",
        _usd(one["left_usd"]) if limit is not None else "-",
        one["on_exceed"] or "-",
        one["frees"] if limit is not None else "-",
    )


def _reserved(waiting: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if waiting:
        yield ""
        yield "Reserved for calls that are being answered:"
        rows = [(one["since"], one["target"], one["kind"], _usd(one["usd"])) for one in waiting]
        yield from (f"  {line}" for line in table(("since", "target", "kind", "at most"), rows, right=(3,)))


def _by_hour(hours: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    most = max((one["usd"] for one in hours), default=0)
    if most:
        yield ""
        yield "Spent by hour, of the last 24:"
        rows = [(one["start"], _usd(one["usd"]), "#" * round(_BAR * one["usd"] / most)) for one in hours]
        yield from (f"  {line}" for line in table(("hour (UTC)", "USD", ""), rows, right=(1,)))


def _notes(report: Mapping[str, Any]) -> Iterator[str]:
    unpriced = next((one["unpriced"] for one in report["rows"] if one["name"] == "monthly"), 0)
    if unpriced:
        calls = "1 call of this month has" if unpriced == 1 else f"{unpriced} calls of this month have"
        yield f"{calls} no known price: no limit can hold for that. `ullage model` shows prices, [models.overrides] sets them."
    for session, own in report["session_limits"].items():
        told = ", ".join(f"{name} = {value}" for name, value in own.items())
        yield safe(f"Session {session[: records.SHORTEST_ID]} has its own: {told}.")
    if report["reserve_cap_usd"] is not None:
        yield f"One call counts at most {_usd(report['reserve_cap_usd'])} while its cost is not known."


def _usd(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"
