"""Chooses the constants of growth-v1 (`ullage.core.calibration.TUNING`) by leaving out one recorded file at a time.

Every setting of a small grid is tried on all recorded sessions, each begun anew. For each file the setting is chosen that does
well on the others, and judged on that file. Files count alike: a setting's figure is the geometric mean of their relative errors.
Most recorded models are those that the priors were measured on, so of the settings that are nearly as good as the best the one is
chosen that trusts the prior least. `--write` puts the outcome into docs/reference/accuracy.md. Takes a few minutes.
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
from collections import Counter
from typing import TYPE_CHECKING

from accuracy_report import DATA, PAGE
from generated import settle_block

from ullage.core.calibration import METHOD, TUNING, Tuning
from ullage.core.errors import SessionError
from ullage.evals.files import find_files
from ullage.evals.methods import follow
from ullage.evals.recordings import Recording, read_recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WINDOWS = (32, 64, 128)
TEXTS = (1_000.0, 4_000.0, 16_000.0)
OUTPUTS = (20_000.0, 80_000.0)
CALLS = (1.0, 2.0, 4.0)

# An error of nothing at all is taken as a hundred-thousandth, so that a perfect file does not decide alone.
SMALLEST = 1e-5

NEARLY = 1.03
"""Settings whose figure is this many times the best one's, or less, are nearly as good."""

Errors = dict[str, list[float]]


def grid() -> Iterator[Tuning]:
    for window, text, output, calls in itertools.product(WINDOWS, TEXTS, OUTPUTS, CALLS):
        yield Tuning(window=window, trust=(text, output, 2.0, calls))


def recordings() -> list[Recording]:
    read = []
    for path in find_files([DATA / "sessions"]).paths:
        try:
            read.append(read_recording(path))
        except SessionError as error:
            print(error, file=sys.stderr)
    return [recording for recording in read if not recording.handmade]


def errors(sessions: list[Recording], tuning: Tuning) -> Errors:
    """Relative errors of every file."""
    found: Errors = {}
    for place, judged in follow(f"{METHOD}-fresh", sessions, tuning).judged.items():
        recording = sessions[place.recording]
        prompt = recording.calls[place.call].prompt
        found.setdefault(recording.path, []).append(abs(judged.tokens - prompt) / prompt)
    return found


def figure(found: Errors, files: Iterable[str]) -> float:
    """The geometric mean over files of their mean relative error."""
    return math.exp(statistics.fmean(math.log(statistics.fmean(found[file]) + SMALLEST) for file in files))


def choose(tried: dict[Tuning, Errors], files: list[str]) -> Tuning:
    """The setting that trusts the prior least among those that do nearly best on the files."""
    figures = {tuning: figure(found, files) for tuning, found in tried.items()}
    limit = NEARLY * min(figures.values())
    good = [tuning for tuning, value in figures.items() if value <= limit]
    return min(good, key=lambda tuning: (tuning.trust, figures[tuning]))


def report(tried: dict[Tuning, Errors]) -> str:
    files = sorted(next(iter(tried.values())))
    ranked = sorted(tried, key=lambda tuning: figure(tried[tuning], files))
    chosen: Counter[Tuning] = Counter()
    held_out: list[float] = []
    for file in files:
        best = choose(tried, [other for other in files if other != file])
        chosen[best] += 1
        held_out += tried[best][file]
    calls = len(held_out)
    shown = dict.fromkeys([choose(tried, files), *chosen, *ranked[:3], TUNING, ranked[len(ranked) // 2], ranked[-1]])
    rows = [row(tuning, tried[tuning], files, chosen[tuning]) for tuning in shown if tuning in tried]
    text, output, items, each_call = TUNING.trust
    told = (
        f"{len(tried)} settings on {calls:,} calls of {len(files)} files, every file begun anew. Chosen on the other files and "
        f"judged on the one left out, the mean relative error is {statistics.fmean(held_out):.4%}. In force: window "
        f"{TUNING.window}, trust in k {text:,.0f} tokens, in b {output:,.0f}, in each {items:g} items, in a {each_call:g} calls."
    )
    header = ("window", "trust in k", "in b", "in a", "geometric mean over files", "all calls", "chosen for files")
    return "\n".join([told, "", f"| {' | '.join(header)} |", "|---:" * len(header) + "|", *rows])


def row(tuning: Tuning, found: Errors, files: list[str], chosen: int) -> str:
    text, output, _, calls = tuning.trust
    pooled = statistics.fmean(error for file in files for error in found[file])
    cells = (str(tuning.window), f"{text:,.0f}", f"{output:,.0f}", f"{calls:g}", f"{figure(found, files):.4%}")
    return f"| {' | '.join(cells)} | {pooled:.4%} | {chosen or '-'} |"


def main() -> int:
    sessions = recordings()
    tried = {tuning: errors(sessions, tuning) for tuning in grid()}
    body = report(tried)
    print(body)
    if "--write" in sys.argv[1:]:
        return settle_block(PAGE, "growth constants", body, "scripts/growth_constants.py --write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
