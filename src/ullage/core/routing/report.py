"""A route as plain data, and as text for people (interface specification, section 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

if TYPE_CHECKING:
    from .route import Route
    from .scoring import RouteScore

_DIGITS = 6


def report_route(route: Route, *, explain: bool = True) -> dict[str, Any]:
    """What programs read of a route. Without `explain` it has no terms of a complexity, no verdicts and no changes that would
    have turned it."""
    selection = route.selection
    report: dict[str, Any] = {
        "target": route.target,
        "thinking": route.thinking,
        "policy": route.policy,
        "confidence": _short(route.confidence),
        "margin": _short(route.margin),
        "reasons": route.reasons,
        "task": _report_task(route, explain=explain),
        "ranked": [_report_score(route, one) for one in route.ranked],
        "excluded": [to_builtins(one) for one in route.excluded],
        "rule": route.rule,
        "warnings": route.warnings,
    }
    if route.stop is not None:
        report["stop"] = to_builtins(route.stop)
    if selection is not None and selection.switch is not None:
        report["switch"] = _round(to_builtins(selection.switch))
    if selection is not None and selection.tolerance is not None:
        report["tolerance"] = _round(to_builtins(selection.tolerance))
    if explain:
        report["explanation"] = {
            "kept": selection.kept if selection else None,
            "rival": selection.rival if selection else None,
            "interval": _round(selection.interval) if selection else None,
            "flips": [_round(to_builtins(flip)) for flip in selection.flips] if selection else [],
            "verdicts": [to_builtins(verdict) for verdict in route.verdicts],
            "prefix": to_builtins(route.prefix),
        }
    return report


def _report_task(route: Route, *, explain: bool) -> dict[str, Any]:
    task = to_builtins(route.task)
    terms = task.pop("terms")
    if explain:
        task["terms"] = {term["name"]: term["value"] for term in terms}
    rounded: dict[str, Any] = _round(task)
    return rounded


def _report_score(route: Route, one: RouteScore) -> dict[str, Any]:
    price, capability, terms = one.candidate.price, one.candidate.capability, one.terms
    low, high = one.quality_range
    return {
        "target": one.target,
        "score": round(one.utility, _DIGITS),
        "thinking": route.thinking_for(one),
        "terms": {
            "quality": round(terms.quality, _DIGITS),
            "cost": round(terms.cost, _DIGITS),
            "stickiness": terms.stickiness,
            "latency": round(terms.latency, _DIGITS),
            "reliability": round(terms.reliability, _DIGITS),
            "quota": round(terms.quota, _DIGITS),
            "pool": round(terms.pool, _DIGITS),
        },
        "quality_range": (round(low, _DIGITS), round(high, _DIGITS)),
        "preference": round(one.preference, _DIGITS),
        "adjustment": round(one.adjustment, _DIGITS),
        "capability": {
            "tier": capability.overall,
            "source": capability.source,
            "confidence": capability.confidence,
        },
        "cost": {
            "usd": _short(one.cost_usd),
            "request_usd": _short(one.request_usd),
            "input": price.prices.input,
            "output": price.prices.output,
            "cache_read": price.prices.cache_read,
            "cache_write": price.prices.cache_write,
            "coefficient": price.coefficient,
            "source": price.source,
            "approximate": price.approximate,
        },
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {key: _round(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round(one) for one in value]
    return value
