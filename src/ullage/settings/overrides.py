"""Overrides of models in settings: whom a key is for, what one entry cannot say at once, and how far a project may go.

Planner specification, sections 2.1 and 3.1; design, sections 10 and 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.planning.categories import find_tier

from .catalog import catalog
from .provenance import Choice, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .provenance import Source

OVERRIDES = "models.overrides"
HOW_TO_NAME = f'For example [{OVERRIDES}."anthropic/claude-opus-4-8"].'

# Budgets of categories by their name in an override, which is the one in [planning] too, and in a tier.
_BUDGETS = {
    "recent_tail_tokens": "tail",
    "max_retrieved_history_tokens": "history",
    "max_project_tokens": "project",
}
_WINDOW, _ANSWER = "context_window", "max_output_tokens"


def find_key_problem(key: str) -> str | None:
    """Why no override may stand under a key; `None` for `*`, `provider/*` and `provider/model`, whose model may hold slashes."""
    if key != key.strip():
        return "has spaces around it"
    provider, _, model = key.partition("/")
    if key != "*" and (not provider or not model or model.endswith("/")):
        return "is neither `*` nor `provider/*` nor `provider/model`"
    return "names models of every provider, which only `*` does" if provider == "*" and key != "*" else None


def refuse_to_project(key: str, field: str, value: Any, below: Mapping[str, Choice]) -> tuple[str, str] | None:
    """Why a project's file may not say this of the models under `key`, and what else to do. `below` is what the user has set."""
    if field not in _BUDGETS:
        return f"A project file may not set {OVERRIDES}.{key}.{field}.", "It belongs in the user's own file."
    most = _ceiling(key, field, below)
    if value <= most:
        return None
    return (
        f"A project file may only lower {OVERRIDES}.{key}.{field}, here to {most} or less.",
        f"To lower it for every model there is planning.{field}.",
    )


def narrow(entry: Choice, of_user: Choice | None) -> Choice:
    """A project's budgets laid over the user's entry for the same models: whatever else stands there, it must not wipe out."""
    return entry if of_user is None else Choice(of_user.value | entry.value, entry.source)


def drop_contradictions(key: str, entry: dict[str, Any], places: Mapping[tuple[str, str], Source]) -> list[Problem]:
    """Takes window and answer out of an entry whose answer would be longer than its window, and names both.

    Those of two entries are not compared: an answer is cut to the window when a profile is resolved. `key` is the entry's among
    all settings, `places` are where keys and fields were written.
    """
    window, answer = entry.get(_WINDOW), entry.get(_ANSWER)
    if window is None or answer is None or answer <= window:
        return []
    return [
        Problem(
            code="conflict",
            key=f"{key}.{field}",
            source=places[key, field],
            message=f"{key}.{field} is {entry.pop(field)}: no answer of {answer} tokens fits a window of {window}.",
            hint="Neither is used.",
        )
        for field in (_WINDOW, _ANSWER)
    ]


def _ceiling(key: str, field: str, below: Mapping[str, Choice]) -> int:
    """The most that a project may give a category, in tokens: what these models have without it.

    That is what the user's overrides say. Where they are silent it is the cap of [planning] or the automatic tier, which an
    override takes the place of: the tier of the window that the user's overrides give, else of the smallest ones.
    """
    said = _said(key, field, below)
    if said is not None:
        return said
    cap = below.get(f"planning.{field}")
    most: int = catalog()[f"planning.{field}"].default if cap is None else cap.value
    tier: int = getattr(find_tier(_said(key, _WINDOW, below) or 0), _BUDGETS[field])
    return min(most, tier)


def _said(key: str, field: str, below: Mapping[str, Choice]) -> int | None:
    """What overrides say of the models under a key: the last of `*`, `provider/*` and the key itself that says anything."""
    found: int | None = None
    for one in ("*", f"{key.partition('/')[0]}/*", key):
        entry = below.get(f"{OVERRIDES}.{one}")
        found = found if entry is None else entry.value.get(field, found)
    return found
