"""Makes the measured blocks of docs/reference/accuracy.md from the recorded data beside the repository."""

from __future__ import annotations

import sys
from pathlib import Path

from generated import settle_block

from ullage.evals import tables
from ullage.evals.files import find_files
from ullage.evals.transcripts import ALL, Evaluation, evaluate

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PAGE = "accuracy.md"
COMMAND = "make accuracy"


def main() -> int:
    sessions = DATA / "sessions"
    if not sessions.is_dir():
        print("There is no recorded data beside the repository: nothing to measure.", file=sys.stderr)
        return 0
    found = find_files([sessions])
    return settle_block(PAGE, "running sessions", running_sessions(evaluate(found.paths)), COMMAND)


def running_sessions(evaluation: Evaluation) -> str:
    """The tables of `ullage eval transcripts`."""
    files = len({transcript.path for transcript in evaluation.transcripts})
    calls = evaluation.pooled[ALL]["growth-v1"].calls
    return "\n\n".join(
        [
            f"{calls:,} calls of {files} recorded sessions, each estimated before it was sent:",
            tables.method_table(evaluation.pooled[ALL]).as_markdown(),
            "By client:",
            tables.client_table(evaluation).as_markdown(),
            "Where the error of growth-v1 lies, by what its calls turned out to be:",
            tables.miss_table(evaluation).as_markdown(),
            "Every file:",
            tables.file_table(evaluation).as_markdown(),
            "The whole text, with one constant fitted to each transcript of one model:",
            tables.summary_table(evaluation).as_markdown(),
            "The whole request, raw and with the ratio that the calls of the same file before it taught:",
            tables.calibrated_summary(evaluation.calibrated).as_markdown(),
            "What was learned in the end:",
            tables.law_table(evaluation).as_markdown(),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
