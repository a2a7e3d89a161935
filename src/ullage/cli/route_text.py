"""A route for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ullage.core.routing.task import explain_complexity
from ullage.core.terminal import safe

from .records import table
from .routed_text import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.routing.exclusions import Excluded
    from ullage.core.routing.route import Route
    from ullage.core.routing.selection import Flip, Selection, Tolerance

_SHOWN = 10
_FLIPS = 3
_ALIKE = 3
_TERMS = ("quality", "cost", "stickiness", "latency", "reliability", "quota", "pool")


def tell_route(route: Route, *, explain: bool) -> Iterator[str]:
    """What was chosen and why; with `explain` all of the figures."""
    if route.target is None or route.selection is None:
        yield from _tell_stop(route)
    else:
        yield f"Route: {safe(route.target)}, thinking {route.thinking}, by the policy {route.policy}"
        yield from _tell_doubt(route.selection, "of cost" if route.policy == "cost" else "of score")
        yield f"Why: {safe(', '.join(route.reasons))}"
        yield from _tell_switch(route.selection)
    if route.rule is not None:
        yield f"Rule: {safe(route.rule)}"
    for warning in route.warnings:
        yield f"Note: {safe(warning)}"
    if explain:
        yield f"Task: {', '.join(route.task.kinds)}; {explain_complexity(route.task)}"
    if route.ranked:
        yield ""
        yield from _tell_ranked(route, explain=explain)
    if route.excluded:
        yield ""
        yield from _tell_excluded(route.excluded, explain=explain)
    if explain:
        yield from _tell_explanation(route)


def _tell_stop(route: Route) -> Iterator[str]:
    stop = route.stop
    yield "Route: none"
    if stop is not None:
        yield f"Why: {safe(stop.message)} ({stop.code})"
        if stop.hint:
            yield f"hint: {safe(stop.hint)}"


def _tell_doubt(selection: Selection, unit: str) -> Iterator[str]:
    if selection.tolerance is not None:
        yield _tell_tolerance(selection.tolerance)
        return
    if selection.rival is None or selection.margin is None or selection.interval is None:
        yield "Sure: no other could have been chosen"
        return
    low, high = selection.interval
    yield (
        f"Sure: {selection.confidence:.0%}; {safe(selection.rival)} lacks {selection.margin:.4f} {unit} "
        f"(95 %: {low:.4f} to {high:.4f})"
    )


def _tell_tolerance(tolerance: Tolerance) -> str:
    return (
        f"Decided by the next request: at {safe(tolerance.current)} it costs {tolerance.ratio:.2f} times what it does at "
        f"{safe(tolerance.other)}; the session stays up to {tolerance.allowed:.2f} times"
    )


def _tell_switch(selection: Selection) -> Iterator[str]:
    switch = selection.switch
    if switch is None:
        return
    yield (
        f"Staying at {safe(switch.current)} costs {_usd(switch.stay_usd)} {SPANS[switch.span]}, "
        f"leaving for {safe(switch.other)} {_usd(switch.switch_usd)}; "
        f"the next request {_usd(switch.next_stay_usd)} against {_usd(switch.next_switch_usd)}, "
        f"of which {_usd(switch.cache_loss_usd)} fill the other's cache"
    )


def _tell_ranked(route: Route, *, explain: bool) -> Iterator[str]:
    shown = route.ranked if explain else route.ranked[:_SHOWN]
    if len(shown) < len(route.ranked):
        yield f"({len(route.ranked) - len(shown):,} more are not shown; --explain has all)"
    terms = _TERMS if explain else _TERMS[:3]
    rows = [
        (
            one.target,
            f"{one.utility:.4f}",
            *(f"{getattr(one.terms, term):.3f}" for term in terms),
            _usd(one.cost_usd),
            one.candidate.capability.overall,
        )
        for one in shown
    ]
    is_request = route.weighing is not None and route.weighing.situation.cache_model == "v1"
    cost = "cost of request" if is_request else "cost of task"
    yield from table(("target", "score", *terms, cost, "tier"), rows, right=range(1, len(terms) + 3))


def _tell_excluded(excluded: Sequence[Excluded], *, explain: bool) -> Iterator[str]:
    """Each with why; of a code that many have only the first."""
    counts = Counter(one.code for one in excluded)
    told: Counter[str] = Counter()
    rows = []
    for one in excluded:
        told[one.code] += 1
        folded = not explain and counts[one.code] > _ALIKE
        if folded and told[one.code] == 1:
            rows.append((f"{one.target} and {counts[one.code] - 1:,} more", one.code, one.reason))
        elif not folded:
            rows.append((one.target, one.code, one.reason))
    yield from table(("left out", "code", "because"), rows)
    if len(rows) < len(excluded):
        yield "(--explain has all)"


def _tell_explanation(route: Route) -> Iterator[str]:
    flips = route.selection.flips if route.selection is not None else ()
    if flips:
        yield ""
        yield "It would have been otherwise with"
        yield from (f"  {_tell_flip(flip)}" for flip in flips[:_FLIPS])
    if route.verdicts:
        yield ""
        rows = [(one.name, "applies" if one.matched else "does not", one.reason) for one in route.verdicts]
        yield from table(("rule", "", "because"), rows)


def _tell_flip(flip: Flip) -> str:
    return safe(f"{flip.term} of {flip.of} at {flip.needed:.3f} in place of {flip.was:.3f}, for {flip.rival}")


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"${value:.4f}"
