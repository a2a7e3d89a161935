"""A breakdown as plain data for other programs (interface, section 3), and back."""

from __future__ import annotations

from typing import Any

import msgspec

from .breakdown import Breakdown, Heuristic, Item, Notice, Section, Total


def report(breakdown: Breakdown) -> dict[str, Any]:
    """The report: numbers and names, no text. `sum(tokens of sections) + gap == total`.

    `share` is of the total, `window_share` of the window; both `None` where that is unknown or zero.
    """
    total = breakdown.total
    return {
        "source": breakdown.source,
        "client": breakdown.client,
        "session": breakdown.session,
        "dialect": breakdown.dialect,
        "provider": breakdown.provider,
        "model": breakdown.model,
        "estimator": breakdown.estimator,
        "family": breakdown.family,
        "window": breakdown.window,
        "total": total.tokens,
        "total_low": total.low,
        "total_high": total.high,
        "total_kind": total.kind,
        "total_method": total.method,
        "heuristic": msgspec.to_builtins(breakdown.heuristic),
        "output": breakdown.output,
        "ullage": breakdown.ullage,
        "sections": [_section(section, breakdown) for section in breakdown.sections],
        "gap": breakdown.gap,
        "warnings": [{"code": warning.code, "message": warning.message} for warning in breakdown.warnings],
    }


def load_report(data: dict[str, Any]) -> Breakdown:
    """The breakdown behind a report, without details. Raises `msgspec.ValidationError` if it is none."""
    total = Total(
        tokens=data["total"],
        low=data.get("total_low", data["total"]),
        high=data.get("total_high", data["total"]),
        kind=data["total_kind"],
        method=data.get("total_method", data["total_kind"]),
    )
    return Breakdown(
        estimator=data.get("estimator") or "unknown",
        family=data.get("family") or "unknown",
        total=total,
        sections=tuple(msgspec.convert(section, Section) for section in data["sections"]),
        gap=data["gap"],
        heuristic=msgspec.convert(data.get("heuristic"), Heuristic | None),
        window=data.get("window"),
        output=data.get("output"),
        source=data.get("source"),
        client=data.get("client"),
        session=data.get("session"),
        dialect=data.get("dialect"),
        provider=data.get("provider"),
        model=data.get("model"),
        warnings=tuple(msgspec.convert(warning, Notice) for warning in data.get("warnings", ())),
    )


def _section(section: Section, breakdown: Breakdown) -> dict[str, Any]:
    return {
        "id": section.id,
        "title": section.title,
        "tokens": section.tokens,
        "low": section.low,
        "high": section.high,
        "chars": section.chars,
        "method": section.method,
        "share": _share(section.tokens, breakdown.total.tokens),
        "window_share": _share(section.tokens, breakdown.window),
        "measured_share": section.measured_share,
        "items": [_item(item) for item in section.items],
    }


def _item(item: Item) -> dict[str, Any]:
    optional = {"state": item.state, "loaded_tokens": item.loaded_tokens}
    return {
        "name": item.name,
        "tokens": item.tokens,
        "low": item.low,
        "high": item.high,
        "chars": item.chars,
        "count": item.count,
        **{key: value for key, value in optional.items() if value is not None},
    }


def _share(tokens: int, whole: int | None) -> float | None:
    return round(tokens / whole, 4) if whole else None
