"""Makes the measured blocks of docs/reference/kept-evidence.md from the recorded data beside the repository."""

from __future__ import annotations

import sys
from pathlib import Path

from generated import settle_block

from ullage.evals.bench import find_benches, read_bench
from ullage.evals.bench_scores import BenchScore, Judged, judge_bench, score_bench
from ullage.evals.bench_tables import conduct_table, kind_table, recall_table

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "bench"
PAGE = "kept-evidence.md"
COMMAND = "make kept-evidence"
DETAILED = (4_000, 8_000, 32_000)
OF_KINDS = 8_000


def main() -> int:
    if not DATA.is_dir():
        print("There is no recorded data beside the repository: nothing to measure.", file=sys.stderr)
        return 0
    judged = [judge_bench(read_bench(folder)) for folder in find_benches((DATA,))]
    scores = [score for one in judged for score in score_bench(one)]
    detailed = [score for score in scores if score.limit in DETAILED]
    blocks = {
        "recall": recall_table(scores).as_markdown(),
        "conduct": conduct_table(detailed, timed=False).as_markdown(),
        "kinds": "\n\n".join(
            f"{one.set}, {OF_KINDS:,} tokens:\n\n{kind_table(_by_kind(one), OF_KINDS).as_markdown()}" for one in judged
        ),
    }
    return max(settle_block(PAGE, name, body, COMMAND) for name, body in blocks.items())


def _by_kind(judged: Judged) -> dict[str, list[BenchScore]]:
    kinds = dict.fromkeys(query.type for query in judged.queries)
    return {kind: score_bench(judged, kind=kind) for kind in sorted(kinds)}


if __name__ == "__main__":
    sys.exit(main())
