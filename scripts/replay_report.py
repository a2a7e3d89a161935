"""Makes the replayed blocks of docs/reference/accuracy.md: recorded sessions sent through real gateways over real sockets.

Takes one to three minutes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from accuracy_report import COMMAND, DATA, PAGE
from generated import settle_block

from ullage.evals import tables
from ullage.evals.calibrated import AFTER, CalibratedFile
from ullage.evals.files import Skipped, find_files
from ullage.testing.replay.judging import judge_all

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDED = "replayed sessions"
WHOLE = "replayed sessions, whole"


def main() -> int:
    sessions = DATA / "sessions"
    if not sessions.is_dir():
        print("There is no recorded data beside the repository: nothing to replay.", file=sys.stderr)
        return 0
    found = find_files([sessions])
    recorded = asyncio.run(judge_all(found.paths))
    whole = asyncio.run(judge_all(found.paths, whole=True))
    return max(
        settle_block(PAGE, RECORDED, as_recorded([*recorded, *found.skipped]), COMMAND),
        settle_block(PAGE, WHOLE, figures(whole), COMMAND),
    )


def as_recorded(judged: Sequence[CalibratedFile | Skipped]) -> str:
    """The tables of what the files hold, and the files left out."""
    skipped = sorted(("/".join(Path(one.path).parts[-2:]), one.reason) for one in judged if isinstance(one, Skipped))
    left_out = "; ".join(f"`{name}` ({reason})" for name, reason in skipped)
    return f"{figures(judged)}\n\nLeft out: {left_out}."


def figures(judged: Sequence[CalibratedFile | Skipped]) -> str:
    """The tables alone."""
    files = [one for one in judged if isinstance(one, CalibratedFile)]
    return "\n\n".join(
        [tables.calibrated_table(files, AFTER[-1]).as_markdown(), tables.calibrated_summary(files).as_markdown()]
    )


if __name__ == "__main__":
    sys.exit(main())
