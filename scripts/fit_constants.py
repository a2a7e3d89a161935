"""Fits every measured constant: `python scripts/fit_constants.py FILE.jsonl --date 2026-11-30 [--write]`.

FILE holds payloads that providers counted (accounting specification, section 23). Without `--write` what comes out is compared
with the constants that the package has. The same file and date always give the same bytes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # a script finds only its own folder: what follows is imported behind this line

from scripts.fitting.bounds import bound  # noqa: E402
from scripts.fitting.design import Sample, make_samples, remember_counts  # noqa: E402
from scripts.fitting.fitting import HeldOut, cross_validate, fit_all  # noqa: E402
from scripts.fitting.plan import PLAN  # noqa: E402
from scripts.fitting.scoring import as_scored  # noqa: E402
from scripts.fitting.writing import module_text  # noqa: E402
from ullage.core.errors import UllageError  # noqa: E402
from ullage.evals.token_tables import quality_table  # noqa: E402
from ullage.evals.tokens import Case, Scored, read_case  # noqa: E402

TARGET = ROOT / "src" / "ullage" / "core" / "profiles" / "fitted.py"
FOLDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--date", required=True, help="when the fit was made, as YYYY-MM-DD")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    data = arguments.file.read_bytes()
    samples, held_out = hold_out(data)
    text = module_text(fit_all(samples, PLAN), held_out, data, arguments.date)
    print(quality_table(as_scored(bound(held_out, FOLDS)), ("provider", "kind")).as_text())
    if arguments.write:
        TARGET.write_text(text)
        return 0
    if TARGET.read_text() == text:
        return 0
    print(f"{TARGET.name} does not match: run again with --write.", file=sys.stderr)
    return 1


def hold_out(data: bytes) -> tuple[list[Sample], list[HeldOut]]:
    """The samples in the data, and each of them estimated by a fit that had no part of its recording."""
    remember_counts()
    samples = make_samples(read_cases(data.splitlines()), PLAN, FOLDS)
    return samples, cross_validate(samples, PLAN, FOLDS)


def held_out_scores(data: bytes) -> list[Scored]:
    """The held-out samples as an evaluation shows its cases."""
    return as_scored(bound(hold_out(data)[1], FOLDS))


def read_cases(lines: list[bytes]) -> list[Case]:
    """The requests among the lines; anything else has no part in the fit."""
    cases = []
    for line in lines:
        try:
            case = read_case(line)
        except UllageError:
            continue
        if case.what == "request" and case.api is not None:
            cases.append(case)
    return cases


if __name__ == "__main__":
    sys.exit(main())
