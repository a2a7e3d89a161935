"""Which models take thinking back only behind what it was made on: rows of data, each with its source.

Such a model signs its thinking for prompt, tools and messages before it. Where one of them has changed, and with some where
thinking between others has left, the request is refused (status 400) or the thinking ignored: by Anthropic for every account that
was opened since 2026-08-31, from 5.2 on for all, and for any request that says how it wants it (autumn 2026).
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

_PAGES = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking"
_FABLE_5_1 = "https://platform.claude.com/docs/en/models/fable-5-1/whats-new-fable-5-1"
_FABLE_5_2 = "https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2"


class BindingRow(Struct, frozen=True):
    """A family by a pattern in the model's id, lower case; whether it refuses thinking behind something else, and who says so."""

    model: str
    refuses: bool
    source: str


ROWS: tuple[BindingRow, ...] = (
    # It signs likewise, and takes any.
    BindingRow(r"claude-mythos-5[-.]1", False, _FABLE_5_1),
    BindingRow(r"claude-fable-5[-.]1", True, _FABLE_5_1),
    BindingRow(r"claude-(?:fable|mythos)-5[-.]2", True, _FABLE_5_2),
    BindingRow(r"claude-(?:opus|sonnet|haiku)-5[-.]5", True, f"{_PAGES}/prefix-checks"),
)
"""The first that matches counts; what none matches does not bind."""

_COMPILED = tuple((re.compile(rf"{row.model}(?!\d)"), row) for row in ROWS)


@lru_cache(maxsize=1_000)
def binds_thinking(model: str) -> bool:
    """Whether a model, by its id with or without its maker before it, refuses thinking behind something else."""
    name = model.lower()
    return next((row.refuses for pattern, row in _COMPILED if pattern.search(name)), False)
