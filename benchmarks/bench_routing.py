"""What a route costs: one prompt among fifty models, and ten thousand lines of a batch with their reports.

    python -m benchmarks.bench_routing [--quick]

CPU time of this process, the best of several runs. It is held against the analysis of the prompt alone, within the same run.
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import TYPE_CHECKING

import msgspec

from benchmarks.parts.processes import machine
from ullage.cli.route_asking import Ask, Router, answer_line
from ullage.core.profiles import Prices
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.route import RouteConfig, prepare_candidates, resolve_route
from ullage.core.routing.task import analyze_task

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS = 50
AIM_MS = 1.0
"""A decision among fifty models may take so long."""

NAMES = (
    "claude-opus-5",
    "claude-sonnet",
    "claude-haiku",
    "gpt-5",
    "gpt-5.4-nano",
    "deepseek-v4",
    "qwen3.8",
    "unheard-of",
)
PROVIDERS = ("anthropic", "openai", "deepseek", "qwen", "gateway", "local", "other")
PROMPTS = (
    "Debug this failing test",
    "Review the architecture, identify trade-offs, then propose a migration plan.",
    "审查这个系统架构，并且给出分阶段迁移方案和取舍。",
    "Summarize this paragraph in three bullets.",
    "write a spec for the deploy step",
)


def make_models() -> list[ModelRecord]:
    """Fifty models of several prices, windows and tiers."""
    pairs = itertools.islice(itertools.product(PROVIDERS, NAMES), MODELS)
    return [
        ModelRecord(
            provider=provider,
            id=name,
            reasoning=True,
            inputs=("text", "image"),
            context_window=200_000,
            max_output_tokens=32_000,
            prices=Prices(
                input=0.5 + number, output=2.5 + 5 * number, cache_read=0.05 + 0.1 * number, cache_write=0.6 + number
            ),
        )
        for number, (provider, name) in enumerate(pairs)
    ]


def fastest_ms(work: Callable[[str], object], runs: int) -> float:
    """CPU milliseconds of the work for one prompt, in the best run over all prompts."""
    taken = []
    for _ in range(runs):
        started = time.process_time()
        for prompt in PROMPTS:
            work(prompt)
        taken.append((time.process_time() - started) / len(PROMPTS))
    return 1_000 * min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    candidates = prepare_candidates(make_models())
    router = Router(candidates=candidates, config=RouteConfig())
    lines = [msgspec.json.encode({"id": 1, "prompt": prompt, "context_tokens": 40_000}) for prompt in PROMPTS]
    runs = 20 if quick else 200
    analysis = fastest_ms(lambda prompt: analyze_task(prompt, context_tokens=40_000), runs)
    decision = fastest_ms(lambda prompt: resolve_route(candidates, prompt, context_tokens=40_000), runs)
    started = time.process_time()
    count = 500 if quick else 10_000
    for line in itertools.islice(itertools.cycle(lines), count):
        answer_line(line, router, Ask())
    batch = 1_000 * (time.process_time() - started) / count
    print(f"{machine()}\npython -m benchmarks.bench_routing{' --quick' if quick else ''}\n")
    print(f"| step, among {MODELS} models | CPU ms | analysis alone is |")
    print("|---|---|---|")
    print(f"| the analysis of a prompt | {analysis:.3f} | 1 |")
    print(f"| a decision (aim: {AIM_MS} ms) | {decision:.3f} | {decision / analysis:.1f} |")
    print(f"| a line of a batch of {count:,}, its report included | {batch:.3f} | {batch / analysis:.1f} |")


if __name__ == "__main__":
    main()
