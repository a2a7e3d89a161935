"""The file of constants: a module of rows, so that the package reads it without parsing anything."""

from __future__ import annotations

import hashlib
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from scripts.fitting.bounds import COVERAGE, find_errors, make_intervals

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scripts.fitting.fitting import Fitted, HeldOut

_HEAD = '''"""Constants that were measured on payloads that providers counted: written by scripts/fit_constants.py.

Fitted on {date} on {samples:,} requests of {recordings:,} recordings (sha256 {digest}…), by least absolute
deviations. Errors and intervals are of requests that had no part in the fit (ten folds, a recording in one of them); an
interval holds {coverage:.1%} of them.
"""

from __future__ import annotations

DATE = "{date}"
"""When the constants were fitted."""

CONSTANTS: tuple[tuple[str, str, float, int, int, float], ...] = (
    # group, place in a family, value, requests that depend on it, their recordings, their median error when held out
'''
_INTERVALS = """)

INTERVALS: tuple[tuple[str, str, int, float, float, int, int, int], ...] = (
    # group, kind of content, class of sizes, bounds relative to the estimate, requests, recordings, tokens of the largest request
"""


def module_text(fitted: Sequence[Fitted], held_out: Sequence[HeldOut], data: bytes, date: str) -> str:
    """The module's source."""
    recordings = len({one.sample.recording for one in held_out})
    head = _HEAD.format(
        date=date,
        samples=len(held_out),
        recordings=recordings,
        digest=hashlib.sha256(data).hexdigest()[:16],
        coverage=COVERAGE,
    )
    lines = [*_constants(fitted, held_out), *_errors(held_out)]
    return head + "".join(lines) + _INTERVALS + "".join(map(_line, make_intervals(held_out))) + ")\n"


def _constants(fitted: Sequence[Fitted], held_out: Sequence[HeldOut]) -> Iterable[str]:
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in held_out:
        for place in one.sample.row.slopes:
            errors[place].append(abs(one.error))
    for constant in fitted:
        if constant.samples:
            value = int(constant.value) if constant.value.is_integer() else constant.value
            error = round(statistics.median(errors[constant.group, constant.name]), 4)
            yield _line((constant.group, constant.name, value, constant.samples, constant.recordings, error))


def _errors(held_out: Sequence[HeldOut]) -> Iterable[str]:
    for (group, place), error in find_errors(held_out).items():
        kind = "tools" if place == "tools.error" else "text"
        members = [one for one in held_out if group in one.sample.groups and one.sample.kind == kind]
        recordings = len({one.sample.recording for one in members})
        median = round(statistics.median(abs(one.error) for one in members), 4)
        yield _line((group, place, error, len(members), recordings, median))


def _line(values: Iterable[Any]) -> str:
    return f"    ({', '.join(_literal(value) for value in values)}),\n"


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
