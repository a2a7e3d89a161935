"""Makes the block on counted payloads of docs/reference/accuracy.md from the recorded data beside the repository."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fit_constants import held_out_scores
from generated import settle_block

from ullage.evals.tables import Table
from ullage.evals.token_tables import quality_table
from ullage.evals.tokens import Quality, Scored, evaluate, qualities, quality

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "token_ground_truth.jsonl"
PAGE = "accuracy.md"
COMMAND = "make accuracy"
_OTHERS = ("openai", "anthropic", "google", "google-vertex")
_FEWEST = 5


def main() -> int:
    if not DATA.is_file():
        print("There is no recorded data beside the repository: nothing to measure.", file=sys.stderr)
        return 0
    data = DATA.read_bytes()
    scored = held_out_scores(data)
    tools = [one for one in evaluate(data.splitlines()).scored if one.kind == "one tool"]
    return settle_block(PAGE, "counted payloads", counted_payloads(scored, tools), COMMAND)


def counted_payloads(scored: Sequence[Scored], tools: Sequence[Scored]) -> str:
    """What was aimed at and what was measured, then everything by provider and by family."""
    return "\n\n".join(
        [
            f"{len(scored):,} requests, each estimated by constants that were fitted without its recording:",
            aim_table(scored, tools).as_markdown(),
            "By provider, size and content:",
            quality_table(scored, ("provider", "size", "kind")).as_markdown(),
            "By model family:",
            quality_table(scored, ("family",)).as_markdown(),
        ]
    )


def aim_table(scored: Sequence[Scored], tools: Sequence[Scored]) -> Table:
    """The acceptance bars of the accounting specification (section 21 and its issue) beside what was measured."""
    rows = [(name, aim, measured(one)) for name, aim, one, measured in _aims(scored)]
    rows.append(("OpenAI's measured tools in the data", "sum ≤ 1 %, each ≤ 8 %", _tools(tools)))
    rows.append(("every other provider, median against characters ÷ 4", "≤ half", _others(scored)))
    return Table(header=("what", "aim", "measured"), rows=tuple(rows), texts=3)


def _aims(scored: Sequence[Scored]) -> Iterator[tuple[str, str, Quality, Callable[[Quality], str]]]:
    openai = [one for one in scored if one.provider == "openai"]
    claude = [one for one in scored if one.family.startswith("claude")]
    gemini = [one for one in scored if one.family.startswith("gemini")]
    yield (
        "OpenAI text",
        "≥ 95 % exact, p90 0",
        _of(openai, "text"),
        lambda one: f"{one.exact:.1%} exact, p90 {one.p90:.1%}",
    )
    yield "OpenAI tools", "median ≤ 1.5 %, p90 ≤ 6 %", _of(openai, "tools"), _median_and_p90
    yield "Claude tools", "median ≤ 8 %, bias within 3 %", _of(claude, "tools"), _median_and_bias
    yield "Claude text", "median ≤ 8 %", _of(claude, "text"), _median_and_p90
    yield "Gemini text", "median ≤ 8 %", _of(gemini, "text"), _median_and_p90
    yield "Gemini tools", "median ≤ 15 %", _of(gemini, "tools"), _median_and_p90
    everything = quality(scored, {})
    yield "intervals", "hold ≥ 90 %, median width ≤ 25 %", everything, lambda one: f"{one.covered:.1%}, {one.width:.1%}"


def _of(scored: Sequence[Scored], kind: str) -> Quality:
    return quality([one for one in scored if one.kind == kind], {})


def _median_and_p90(one: Quality) -> str:
    return f"median {one.median:.1%}, p90 {one.p90:.1%}"


def _median_and_bias(one: Quality) -> str:
    return f"median {one.median:.1%}, bias {one.bias:+.1%}"


def _tools(tools: Sequence[Scored]) -> str:
    difference = sum(one.estimate for one in tools) / sum(one.tokens for one in tools) - 1
    return f"sum {difference:+.1%}, the worst {max(abs(one.error) for one in tools):.1%} ({len(tools)} tools)"


def _others(scored: Sequence[Scored]) -> str:
    """The provider that comes least close, among those with a handful of payloads."""
    groups = [one for one in qualities(scored, ("provider",)) if one.group["provider"] not in _OTHERS]
    ratios = {one.group["provider"]: one.median / one.plain_median for one in groups if one.cases >= _FEWEST}
    worst = max(ratios, key=lambda name: ratios[name])
    return f"{statistics.median(ratios.values()):.2f}, the worst {ratios[worst]:.2f} ({worst})"


if __name__ == "__main__":
    sys.exit(main())
