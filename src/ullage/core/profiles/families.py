"""Which family a model belongs to: the rows of all vendors, with the constants that were measured.

Upstream, dialect and family are three separate facts; a row may ask for any of them. Sources of what is published: accounting
specification, sections 4.2 (which ids belong together), 6 and 7 (framing, images, Claude's tool block), 24 (ratios, growth). What
is measured comes from `fitted`, which a script writes from recorded payloads.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .constants import group_constants, with_constants
from .fitted import CONSTANTS
from .records import Family, Framing, ToolRule
from .rows import CLAUDE, GEMINI, OPEN_WEIGHTS, OPENAI
from .rows.patterns import NO_IMAGES_KNOWN

ROWS: tuple[Family, ...] = (*CLAUDE, *OPEN_WEIGHTS, *OPENAI, *GEMINI)
"""All rows in the order in which they are tried, as they are published."""

UNKNOWN_ROW = Family(
    id="unknown",
    label="no family known: o200k_base as a guess",
    fitted=("unknown",),
    prose=1.05,
    dense=1.1,
    error=0.2,
    framing=Framing(base=3, system=4, user=4, assistant=4, call=10, result=8),
    tools=ToolRule(shape="openai-chat", block=15, error=0.4),
    images=NO_IMAGES_KNOWN,
)
_MEASURED = group_constants(CONSTANTS)

FAMILIES: tuple[Family, ...] = tuple(with_constants(row, _MEASURED) for row in ROWS)
"""The rows with the measured constants."""

UNKNOWN_FAMILY = with_constants(UNKNOWN_ROW, _MEASURED)
"""Used when no row matches, as for every alias whose target moves: a wide interval."""


@lru_cache(maxsize=1024)
def find_family(provider: str | None, dialect: str | None, model: str | None) -> Family:
    """The first row that fits, else `UNKNOWN_FAMILY`. Names are compared in lower case."""
    provider, model = (provider or "").lower(), (model or "").lower()
    for family in FAMILIES:
        if _fits(family, provider, dialect or "", model):
            return family
    return UNKNOWN_FAMILY


def _fits(family: Family, provider: str, dialect: str, model: str) -> bool:
    wanted = ((family.who, f"{provider}/{model}"), (family.model, model), (family.provider, provider))
    if family.dialects and dialect not in family.dialects:
        return False
    return all(pattern is None or re.search(pattern, subject) for pattern, subject in wanted)
