"""What is recorded of a call's route, for people: why it went where it did, who else was looked at, what a switch would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SPANS = {"task": "for the rest of the task", "request": "for the next request without any cache"}
"""What the costs of staying and leaving are for, by `Switch.span`."""
_OTHERS = 3
_FIRST_ERROR = 400
_REASONS = {
    "user": "for a new task",
    "continuation": "as a further step of its task",
    "retry": "as a repeated request",
    "helper": "as an errand of the client",
}


def route_line(route: Mapping[str, Any] | None) -> str:
    """One line of a manifest; empty for a call that named its model itself."""
    if route is None:
        return ""
    if route.get("target") is None:
        return f"none: {route['stop']['message']}" if route.get("stop") else "none"
    facts = [route["target"], *_facts(route)]
    if len(attempts := route.get("attempts") or ()) > 1:
        facts.append(f"{len(attempts)} attempts")
    kept = "kept, " if route.get("kept") else ""
    return f"{' · '.join(facts)}  ({kept}{route.get('reason', 'user')})"


def tell_routed(route: Mapping[str, Any], dialect: str) -> Iterator[str]:
    """Sentences, one a line. `dialect` is what the client speaks."""
    if route.get("target") is None:
        stop = route.get("stop") or {}
        yield f"It was not sent: {stop.get('message', 'no model could take it')} ({stop.get('code', '?')})."
        yield from _tell_excluded(route)
        return
    how = "It stayed at" if route.get("kept") else "It was routed to"
    because = _REASONS.get(route.get("reason", ""), "")
    yield f"{how} {route['target']} {because}: {', '.join(_facts(route))}.".replace(" :", ":")
    for attempt in failed_attempts(route):
        yield f"Asked was {attempt}."
    if route.get("reasons"):
        yield f"What spoke for it: {', '.join(route['reasons'])}."
    for note in (*route.get("notes", ()), *route.get("warnings", ())):
        yield f"Note: {note}."
    yield from _tell_translated(route, dialect)
    yield from tell_switch(route.get("switch"))
    yield from _tell_others(route)
    yield from _tell_excluded(route)


def failed_attempts(route: Mapping[str, Any]) -> Iterator[str]:
    """The targets that were asked and gave no answer, each with what came of it."""
    for one in route.get("attempts") or ():
        if one.get("failure") is not None:
            # An answer that began well says nothing of why it came to nothing.
            status = f", status {one['status']}" if (one.get("status") or 0) >= _FIRST_ERROR else ""
            yield f"{one['target']}, which failed ({one['failure']}{status})"


def _facts(route: Mapping[str, Any]) -> list[str]:
    facts = [f"policy {route['policy']}"] if route.get("policy") else []
    if route.get("thinking_told"):
        facts.append(f"thinking {route['thinking_told']}")
    task = route.get("task") or {}
    if task.get("kinds"):
        facts.append("/".join(task["kinds"]))
    if task.get("complexity") is not None:
        facts.append(f"complexity {task['complexity']:.2f}")
    if route.get("confidence") is not None:
        facts.append(f"{route['confidence']:.0%} sure")
    return facts


def _tell_translated(route: Mapping[str, Any], dialect: str) -> Iterator[str]:
    spoken = route.get("dialect", dialect)
    if spoken != dialect:
        yield f"It was translated from {dialect} to {spoken}, and the answer back."
        for loss in route.get("losses", ()):
            yield f"Not carried as it was ({loss['where']}): {loss['what']}"


def tell_switch(switch: Mapping[str, Any] | None) -> Iterator[str]:
    """What staying and leaving were taken to cost."""
    if switch is not None:
        span = SPANS[switch.get("span", "task")]
        yield (
            f"Staying at {switch['current']} was taken to cost {_usd(switch['stay_usd'])} {span}, leaving for"
            f" {switch['other']} {_usd(switch['switch_usd'])}, of which {_usd(switch.get('cache_loss_usd'))} fill its cache."
        )


def _tell_others(route: Mapping[str, Any]) -> Iterator[str]:
    others = [one for one in route.get("ranked", ()) if one["target"] != route["target"]]
    if others:
        told = [f"{one['target']} ({one['score']:.3f}, {_usd(one['cost']['usd'])})" for one in others[:_OTHERS]]
        more = f" and {len(others) - _OTHERS} more" if len(others) > _OTHERS else ""
        yield f"Next would have been {', '.join(told)}{more}."


def _tell_excluded(route: Mapping[str, Any]) -> Iterator[str]:
    for one in route.get("excluded", ()):
        yield f"{one['target']} was out: {one['reason']} ({one['code']})."


def _usd(amount: float | None) -> str:
    return "an unknown price" if amount is None else f"${amount:.4f}"
