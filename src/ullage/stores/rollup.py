"""Call records of a bounded size (planner specification, section 25.3): what is too large loses items, and says so.

A record up to 256 KiB is stored whole. Of a larger one's context report the first 128 and the last 128 items stay, with an
inventory of all. What is still larger than 1 MiB is stored without its report, then without all that is open-ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from .encoding import encode

if TYPE_CHECKING:
    from .base import CallRecord

Sections = list[dict[str, Any]]
Completeness = Literal["complete", "rollup", "omitted"]

WHOLE_BYTES = 256 * 1024
MOST_BYTES = 1024 * 1024
"""Sizes of an encoded record (planner specification, section 25.3)."""

ENDS = 128
"""Items that stay from each end of the list (planner specification, section 25.3)."""

ROLLED_UP = "breakdown_rollup"
OMITTED = "breakdown_too_large"
STRIPPED = "record_too_large"
"""Warnings of a record that lost items of its context report, the report, and all else that is open-ended."""


def bound(record: CallRecord) -> tuple[CallRecord, bytes]:
    """The record as it is stored, and its encoding, of at most 1 MiB beside its ids and names. It is `record` itself if that is
    small enough."""
    record, payload = encode(record)
    for limit_bytes, reduce in ((WHOLE_BYTES, _roll_up), (MOST_BYTES, _omit_breakdown), (MOST_BYTES, _strip)):
        if len(payload) > limit_bytes:
            record, payload = encode(reduce(record))
    return record, payload


def completeness(record: CallRecord) -> Completeness | None:
    """How much of the context report was stored. `None` for a call that never had one."""
    if record.breakdown is None:
        return "omitted" if OMITTED in record.warnings else None
    return "rollup" if ROLLED_UP in record.warnings else "complete"


def _roll_up(record: CallRecord) -> CallRecord:
    whole = (record.breakdown or {}).get("sections", [])
    if record.breakdown is None or sum(len(_items(section)) for section in whole) <= 2 * ENDS:
        return record
    kept = _keep_ends(whole)
    inventory = _take_inventory(whole, kept)
    message = (
        "Of {items:,} items the first and the last {ends} were kept: the record was too large. Sections are whole."
    )
    notice = {"code": ROLLED_UP, "message": message.format(items=inventory["counts"]["items"], ends=ENDS)}
    warnings = [*record.breakdown.get("warnings", []), notice]
    breakdown = {**record.breakdown, "sections": kept, "warnings": warnings, "inventory": inventory}
    return replace(record, breakdown=breakdown, warnings=(*record.warnings, ROLLED_UP))


def _keep_ends(sections: Sections) -> Sections:
    """The sections with those of their items that are among the first or the last of all."""
    last_from = sum(len(_items(section)) for section in sections) - ENDS
    kept, place = [], 0
    for section in sections:
        items = _items(section)
        stay = [item for at, item in enumerate(items, place) if at < ENDS or at >= last_from]
        kept.append({**section, "items": stay})
        place += len(items)
    return kept


def _take_inventory(whole: Sections, kept: Sections) -> dict[str, Any]:
    """What there was and what was kept: of all sections, and of each that lost items."""
    all_items = [item for section in whole for item in _items(section)]
    kept_items = [item for section in kept for item in _items(section)]
    return {
        "completeness": "rollup",
        "counts": {"items": len(all_items), "kept": len(kept_items)},
        "tokens": {"items": _tokens(all_items), "kept": _tokens(kept_items)},
        "sections": {
            section["id"]: {
                "items": len(_items(section)),
                "kept": len(_items(rest)),
                "tokens": _tokens(_items(section)),
            }
            for section, rest in zip(whole, kept, strict=True)
            if len(_items(rest)) < len(_items(section))
        },
    }


def _omit_breakdown(record: CallRecord) -> CallRecord:
    if record.breakdown is None:
        return record
    warnings = tuple(warning for warning in record.warnings if warning != ROLLED_UP)
    return replace(record, breakdown=None, warnings=(*warnings, OMITTED))


def _strip(record: CallRecord) -> CallRecord:
    """What is left are ids, names and numbers."""
    usage = {name: value for name, value in (record.usage or {}).items() if isinstance(value, int | None)}
    return replace(
        record,
        expected=None,
        awareness=None,
        sample=None,
        cache=None,
        plan=None,
        route=_bare_route(record.route),
        usage=usage or None,
        tool_calls=record.tool_calls[:ENDS],
        warnings=(*record.warnings[-ENDS:], STRIPPED),
    )


def _bare_route(route: dict[str, Any] | None) -> dict[str, Any] | None:
    """What says to which task a call belongs, and where it went."""
    return None if route is None else {name: route[name] for name in ("task_id", "target") if name in route}


def _items(section: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = section.get("items", [])
    return items


def _tokens(items: list[dict[str, Any]]) -> int:
    return sum(item.get("tokens", 0) for item in items)
