"""Makes the measured blocks of docs/reference/routing-quality.md from the outcomes of models beside the repository.

Prices are those of genai-prices alone, so that the page is the same on every machine. The day is written with `--write` only.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from generated import settle_block

from ullage.catalogs import load_now
from ullage.evals import routing_tables as tables
from ullage.evals.resampling import SEED
from ullage.evals.routing import evaluate

if TYPE_CHECKING:
    from ullage.evals.routing import RoutingEvaluation

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "routing"
PAGE = "routing-quality.md"
COMMAND = "make routing-quality"


def main() -> int:
    if not DATA.is_dir():
        print("There are no outcomes of models beside the repository: nothing to measure.", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        evaluation = evaluate(DATA, load_now(Path(folder), refresh=False).layers)
    blocks = {
        "published": tables.checks_table(evaluation.checks).as_markdown(),
        "knowledge": tables.knowledge_table(evaluation.knowledge).as_markdown(),
        "sets": sets(evaluation),
        "thresholds": tables.threshold_table(evaluation.thresholds).as_markdown(),
        "verdicts": "\n".join(f"- {told}" for told in tables.verdicts(evaluation)),
    }
    if evaluation.switching is not None:
        blocks["switching"] = tables.switch_table(evaluation.switching).as_markdown()
    if "--write" in sys.argv[1:]:
        blocks["measured"] = measured(evaluation)
    return max(settle_block(PAGE, name, body, COMMAND) for name, body in blocks.items())


def sets(evaluation: RoutingEvaluation) -> str:
    parts = []
    for score in evaluation.sets:
        parts.append(
            f"### {score.name}\n\n{score.tasks:,} tasks; spend in {score.unit}. {score.source}; {score.licence}."
        )
        parts += [tables.set_table(score).as_markdown(), tables.share_table(score).as_markdown()]
    return "\n\n".join(parts)


def measured(evaluation: RoutingEvaluation) -> str:
    sizes = ", ".join(f"{score.tasks:,} tasks of {score.name}" for score in evaluation.sets)
    return (
        f"Measured on {datetime.now(UTC).date()}: {sizes}; {evaluation.draws:,} paired draws of the bootstrap, seed {SEED}; "
        f"prices of genai-prices {version('genai-prices')}."
    )


if __name__ == "__main__":
    sys.exit(main())
