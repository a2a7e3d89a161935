"""Pins: texts that go with every request of their session, branch or project until they are taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.core.errors import InputError

from .changes import Change, NewItem, Stamp, active_of, add, check_new, end, need_active, report_kept
from .evidence_text import pin_text

if TYPE_CHECKING:
    from .changes import Count
    from .mutations import Item, Kept


class PinLimits(Struct, frozen=True, kw_only=True):
    """The most that one pin may have in characters (UTF-16 units), and all active ones of an owner in tokens (planner
    specification, sections 2.2 and 14.2)."""

    chars: int = 4_000
    tokens: int = 16_000


class NewPin(NewItem, frozen=True, kw_only=True):
    """A text that is to be pinned. `source_file` is where it is from, too; it is not read."""

    text: str
    source_file: str | None = None


def add_pin(kept: Kept, new: NewPin, stamp: Stamp, *, limits: PinLimits, count: Count) -> Change:
    """Pins a text, in the place of another pin if `supersedes` names it. What its owner has pinned already changes nothing.

    Raises `CallError` for what cannot be pinned at all; `InputError` where the pins of its owner would exceed the limit, and for
    a superseded pin that is none or no longer active (planner specification, section 14.2).
    """
    checked = check_new(kept, "pin", new, new.text, noun="pin", most_chars=limits.chars)
    if checked.duplicate is not None:
        return Change(checked.duplicate, None)
    change = add("pin", new, stamp, text=checked.text, source_file=new.source_file)
    others = [pin for pin in active_of(kept, "pin", new.owner) if pin is not checked.superseded]
    _check_room([*others, change.item], limits, count)
    return change


def remove_pin(kept: Kept, pin_id: str, stamp: Stamp, *, reason: str | None = None) -> Change:
    """Takes a pin back. Raises `InputError` for a pin that is none or no longer active."""
    return end(need_active(kept, pin_id, "pin"), "deleted", reason, stamp)


def report_pin(pin: Item, tokens: int, reason: str) -> dict[str, Any]:
    """A pin as a manifest tells of it."""
    return report_kept(pin, tokens, reason, branch=pin.branch, source_file=pin.source_file)


def _check_room(pins: list[Item], limits: PinLimits, count: Count) -> None:
    total = sum(count(pin_text(pin)) for pin in pins)
    if total > limits.tokens:
        raise InputError(
            f"With this pin, the {len(pins)} of its {pins[-1].scope} take {total:,} tokens; {limits.tokens:,} is the most.",
            hint="Remove others (`ullage pin list`), or raise planning.max_pinned_tokens.",
            code="pins_over_limit",
        )
