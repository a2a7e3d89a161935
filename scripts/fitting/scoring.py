"""Held-out samples as an evaluation shows its cases."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ullage.evals.tokens import CHARS_PER_TOKEN, Scored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.fitting.bounds import Bounded


def as_scored(bounded: Sequence[Bounded]) -> list[Scored]:
    """Every held-out sample, estimated and bounded by what the others told."""
    return [_scored(one) for one in bounded]


def _scored(one: Bounded) -> Scored:
    sample = one.held_out.sample
    return Scored(
        provider=sample.case.provider or "unknown",
        model=sample.case.model or "unknown",
        family=sample.family,
        kind=sample.kind,
        tokens=sample.case.tokens,
        estimate=one.held_out.tokens,
        low=one.low,
        high=one.high,
        measured=one.measured,
        plain=math.ceil(sample.chars / CHARS_PER_TOKEN),
        source=sample.case.source,
    )
