"""What is told of a routed request: in its record, without a word of the prompt, and in the answer's headers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from ullage.core.routing.report import report_route
from ullage.core.translation import Loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.routing.route import Route

    from .routing import Decision, RouteStopped

RANKED_IN_FULL = 24
"""Candidates of a record with all of their terms and prices, some 700 bytes each: an aggregator offers hundreds."""
EXCLUDED_IN_FULL = 48


class RouteTold(Struct, frozen=True, kw_only=True):
    """What a client is told. `thinking` is the level that the model was asked for, empty where it was asked nothing; `line` says
    in short why, `why` at length. `losses` are what was left out of the request or said otherwise, for want of words or since the
    model does not take it; `notes` tell of the latter. `level` is the level that was chosen, empty where the client chooses,
    `policy` what was weighed by. `off`: routing is off for the session, which stays where it is."""

    target: str
    thinking: str
    line: str
    why: str
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    level: str = ""
    policy: str = ""
    off: bool = False


def tell_route(decision: Decision, thinking: str, losses: Sequence[Loss] = ()) -> RouteTold:
    """The answer's headers. `losses` are what the model does not take of the request."""
    planned = decision.planned
    route = planned.route if planned is not None else None
    reasons = route.reasons if route is not None else decision.profile.kinds
    kept = f"{decision.reason}, kept" if decision.kept else decision.reason
    told = [f"target={decision.target}", f"policy={decision.policy}"]
    if thinking:
        told.append(f"thinking={thinking}")
    if route is not None and route.confidence is not None:
        told.append(f"confidence={route.confidence:.2f}")
    changes = tuple(loss.what for loss in losses)
    told += [f"reasons={', '.join((*reasons, *decision.notes, *changes))}"]
    if route is not None and route.warnings:
        told.append(f"warnings={', '.join(route.warnings)}")
    switch = route.selection.switch if route is not None and route.selection is not None else None
    if switch is not None and switch.stay_usd is not None and switch.switch_usd is not None:
        told.append(
            f"stay={switch.stay_usd:.4f} USD at {switch.current}, switch={switch.switch_usd:.4f} to {switch.other}"
        )
    return RouteTold(
        target=decision.target,
        thinking=thinking,
        line="; ".join((kept, *decision.notes, *changes, ", ".join(reasons))),
        why="; ".join(told),
        losses=tuple(losses),
        notes=changes,
        level="" if decision.as_asked else decision.thinking,
        policy=decision.policy,
        off=decision.off,
    )


def report_stop(stopped: RouteStopped) -> dict[str, Any]:
    """The `route` of a call that nobody may take."""
    return _bounded(stopped.route)


def report_decision(decision: Decision, told: RouteTold | None, losses: Sequence[Loss] = ()) -> dict[str, Any]:
    """The `route` of a call's record. Of many candidates the first are told in full, the others by their scores. `losses` are
    what its client was not told of the answer."""
    common: dict[str, Any] = {
        "task_id": decision.task_id,
        "target": decision.target,
        "reason": decision.reason,
        "kept": decision.kept,
        "policy": decision.policy,
        "thinking": decision.thinking,
        "thinking_told": (told.thinking if told is not None else "") or None,
        "context_tokens": decision.context_tokens,
        "notes": [*decision.notes, *(told.notes if told is not None else ())],
        "dialect": decision.destination.dialect,
        "losses": to_builtins((*(told.losses if told is not None else ()), *losses)),
    }
    planned = decision.planned
    if planned is None:
        profile = decision.profile
        return {**common, "task": {"kinds": list(profile.kinds), "complexity": round(profile.complexity, 6)}}
    report = _bounded(planned.route)
    shadow = {"shadow": planned.shadow} if planned.shadow is not None else {}
    return {**report, **common, **shadow, "propensities": dict(planned.propensities)}


def _bounded(route: Route) -> dict[str, Any]:
    report: dict[str, Any] = to_builtins(report_route(route))
    others = report["ranked"][RANKED_IN_FULL:]
    if others:
        report["ranked"] = report["ranked"][:RANKED_IN_FULL]
        report["ranked_others"] = {one["target"]: one["score"] for one in others}
    excluded = report["excluded"][EXCLUDED_IN_FULL:]
    if excluded:
        report["excluded"] = report["excluded"][:EXCLUDED_IN_FULL]
        report["excluded_others"] = dict(Counter(one["code"] for one in excluded))
    return report
