"""`ullage auto doctor`: everything that the routes of a session go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli import records
from ullage.cli.output import print_json
from ullage.cli.records import print_lines, table, tokens
from ullage.core.errors import CallError, InputError
from ullage.core.terminal import safe

from .holding import hold, told
from .metrics import seconds, usd
from .place import look, whose
from .rules import routing_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.routing.filtering import Candidate, Eligible
    from ullage.stores import Reader

    from .asking import Asking
    from .place import Place

_HEADER = (
    "target",
    "key",
    "eligible",
    "window",
    "images",
    "tier",
    "calls",
    "success",
    "median",
    "first",
    "cost",
    "circuit",
    "quota",
)
_MONTH_MS = 30 * 24 * 3_600_000


@click.command()
@whose
def command(session: str | None, everyone: bool, as_json: bool, data_dir: str | None) -> None:
    """Look at everything that a session's routes go by: settings, candidates with what keeps each out, what was learned."""
    with look(session, everyone, data_dir) as place:
        report = examine(place)
    if as_json:
        print_json(report)
    else:
        print_lines(map(safe, _render(report)))


def examine(place: Place) -> dict[str, Any]:
    """As programs get it."""
    from ullage.engine.health import Health
    from ullage.settings.route_config import make_route_config
    from ullage.stores.routed import list_decisions

    from .asking import open_asking

    held = hold(place)
    entries = make_route_config(place.settings).rules.entries
    report: dict[str, Any] = {
        "session": place.session or None,
        "enabled": place.settings.routing.enabled,
        "problems": routing_problems(place.loaded),
        "rules": sum(not one.scenario for one in entries),
        "scenarios": sum(one.scenario for one in entries),
        **held,
        "scope": list(place.settings.routing.models),
        "current": _current(place),
        "dialects": [],
        "failover": place.settings.routing.failover.max_attempts,
        "decisions": len(list_decisions(place.store, place.session or None, limit=records.MATCHES)),
        "preferences": _preferences(place.store),
        "circuits": Health(place.store).report(records.now_ms()),
        "cold": None,
        "context_tokens": 0,
        "candidates": [],
        "fault": None,
    }
    try:
        asking = open_asking(place)
        now = records.now_ms()
        eligible = asking.previewing.eligible(asking.standing, asking.candidates, now_ms=now)
        preview = asking.previewing.plan("", asking.standing, asking.candidates, now_ms=now)
    except (CallError, InputError) as error:  # settings that make no sense, or nobody to choose among
        return {**report, "fault": f"{error.message} {error.hint}".strip()}
    return {
        **report,
        "cold": next((note for note in preview.planned.notes if note.startswith("cache cold")), None),
        "context_tokens": asking.standing.context_tokens,
        "dialects": sorted({one.model.api for one in asking.candidates if one.model.api is not None}),
        "fault": f"{eligible.stop.code}: {eligible.stop.message}" if eligible.stop is not None else None,
        "candidates": _candidates(place, asking, eligible),
    }


def _candidates(place: Place, asking: Asking, eligible: Eligible) -> list[dict[str, Any]]:
    from ullage.engine.health import Health
    from ullage.stores.routed import report_routed

    from .asking import recall_quotas

    now = records.now_ms()
    quotas = recall_quotas(place.settings, place.store).signals(now)
    rows = report_routed(place.store, since_ms=now - _MONTH_MS, until_ms=now)["targets"]
    metrics = {row["target"]: row for row in rows}
    circuits = {one["target"]: one["state"] for one in Health(place.store).report(now)}
    out = {one.target: one for one in eligible.excluded}
    return [
        {
            "target": one.target,
            "authenticated": None if asking.found.surmised else one.model.authenticated,
            "excluded": out.get(one.target),
            "context_window": one.model.context_window,
            "images": None if one.model.inputs is None else "image" in one.model.inputs,
            "tier": one.capability.overall,
            "attempts": metrics.get(one.target, {}).get("attempts", 0),
            "success_rate": metrics.get(one.target, {}).get("success_rate"),
            "latency_ms": metrics.get(one.target, {}).get("latency_ms"),
            "ttft_ms": metrics.get(one.target, {}).get("ttft_ms"),
            "cost_usd": metrics.get(one.target, {}).get("cost_usd"),
            "predicted": metrics.get(one.target, {}).get("predicted"),
            "circuit": circuits.get(one.target, "closed"),
            "quota": quotas.get(one.model.provider, ("unknown", None))[0],
        }
        for one in sorted(asking.candidates, key=_by_target)
    ]


def _current(place: Place) -> str | None:
    """The target that the session is at."""
    from ullage.engine.judging import newest_decision

    newest = newest_decision(place.store, place.session) if place.session else None
    return (newest.route or {}).get("target") if newest is not None else None


def _by_target(candidate: Candidate) -> str:
    return candidate.target


def _preferences(store: Reader) -> dict[str, float]:
    """What votes and judged tasks make of each target that they are of, in utility."""
    from ullage.stores.judging import quality_of

    said = {one.target for one in store.feedback()} | {one.target for one in store.outcomes()}
    now = records.now_ms()
    return {target: round(quality_of(store, target, (), now).offset, 6) for target in sorted(said)}


def _render(report: dict[str, Any]) -> Iterator[str]:
    scope = ", ".join(report["scope"]) or "all that can be reached and are known well enough"
    facts = {
        "session": report["session"] or "all",
        "activation": "on" if report["enabled"] and report["activation"].value == "active" else "off",
        "current": report["current"] or "none yet",
        "policy": told(report["policy"]),
        "pin": told(report["pin"]),
        "pool": told(report["pool"]),
        "thinking": told(report["thinking"]),
        "scope": scope,
        "candidates": f"{len(report['candidates'])}, {_eligible(report)} of them eligible now",
        "dialects": ", ".join(report["dialects"]) or "none",
        "failover": _failover(report["failover"]),
        "rules": f"{report['rules']}; scenarios: {report['scenarios']}",
        "context": f"{tokens(report['context_tokens'])} tokens",
        "cache": report["cold"] or "warm, or not known",
        "decisions": str(report["decisions"]),
        "votes": ", ".join(f"{target} {value:+.3f}" for target, value in report["preferences"].items()) or "none",
    }
    yield from (f"{name:<12}{value}" for name, value in facts.items())
    yield from (f"{'circuit':<12}{_tell_circuit(one)}" for one in report["circuits"])
    yield from (f"Problem: {one}" for one in report["problems"])
    if report["fault"]:
        yield f"Nobody may take a request: {report['fault']}"
    if report["candidates"]:
        yield ""
        yield from table(_HEADER, [_cells(one) for one in report["candidates"]], right=(3, 6, 7, 8, 9, 10))


def _eligible(report: dict[str, Any]) -> int:
    return sum(one["excluded"] is None for one in report["candidates"])


def _failover(attempts: int) -> str:
    """Whether a request that fails is sent again within itself."""
    if attempts == 1:
        return "off: a request that fails is not sent to another target"
    return f"up to {attempts} targets for a request, until one says something"


def _tell_circuit(one: dict[str, Any]) -> str:
    """A target that has failed lately."""
    from ullage.stores.report import iso_time

    if one["state"] == "closed":
        return f"{one['target']}: closed, it failed lately"
    states = {"open": f"open until {iso_time(one['retry_at_ms'])}", "half-open": "the next request tries it"}
    state = "a request is trying it" if one["trying"] else states[one["state"]]
    times = f"{one['openings']} times in a row" if one["openings"] > 1 else "once"
    return f"{one['target']}: {state}; it opened {times}"


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    out = one["excluded"]
    images = {True: "yes", False: "no", None: "?"}[one["images"]]
    return (
        one["target"],
        {True: "yes", False: "no", None: "?"}[one["authenticated"]],
        "yes" if out is None else f"{out.code}: {out.reason}",
        tokens(one["context_window"]),
        images,
        one["tier"],
        str(one["attempts"] or "-"),
        "-" if one["success_rate"] is None else f"{one['success_rate']:.0%}",
        seconds((one["latency_ms"] or {}).get("p50")),
        seconds((one["ttft_ms"] or {}).get("p50")),
        usd(one["cost_usd"]),
        one["circuit"],
        one["quota"],
    )
