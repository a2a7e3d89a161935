"""Settings that must stand in an order: whoever breaks it is not heard on any of them (planner specification, section 2.2)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .catalog import catalog, shown
from .provenance import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .provenance import Choice


class Order(Struct, frozen=True):
    """Keys whose values must rise from left to right; equal ones are allowed unless `strictly`."""

    keys: tuple[str, ...]
    strictly: bool = False

    def __str__(self) -> str:
        return (" < " if self.strictly else " <= ").join(self.keys)

    def holds(self, values: list[Any]) -> bool:
        return all(low < high if self.strictly else low <= high for low, high in pairwise(values))


ORDERS = (
    Order(("planning.target_fill_ratio", "planning.soft_limit_ratio", "planning.hard_limit_ratio")),
    Order(("planning.minimum_output_reserve", "planning.preferred_output_reserve")),
    Order(("calibration.lower_bound", "calibration.upper_bound"), strictly=True),
    Order(("calibration.minimum_samples", "calibration.window")),
    Order(("artifacts.search_bytes", "artifacts.object_bytes")),
    Order(("artifacts.excerpt_chars", "artifacts.inline_chars")),
)


def drop_disorder(accepted: dict[str, Choice], below: Mapping[str, Choice]) -> list[Problem]:
    """Takes out of what a place sets the keys of every order that would be broken with them, and names each.

    What was there before, `below` and the defaults, is in order, so it stays.
    """
    problems: list[Problem] = []
    for order in ORDERS:
        values = [_value(key, accepted, below) for key in order.keys]
        if order.holds(values):
            continue
        for key in order.keys:
            if key in accepted:
                choice = accepted.pop(key)
                problems.append(
                    Problem(
                        code="conflict",
                        key=key,
                        source=choice.source,
                        message=f"{key} is {shown(choice.value)}, which breaks {order}.",
                        hint=f"Together they would be {', '.join(map(shown, values))}.",
                    )
                )
    return problems


def _value(key: str, accepted: Mapping[str, Choice], below: Mapping[str, Choice]) -> Any:
    choice = accepted.get(key) or below.get(key)
    return catalog()[key].default if choice is None else choice.value
