"""Small sets of outcomes of models, made up for the tests of routing's evaluation."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from ullage.core.profiles import Layer, ModelFacts, Prices
from ullage.evals.routing_data import STRONG, WEAK, Item, Outcome, RoutingSet

PRICES = {
    "gpt-5": Prices(input=1.25, output=10, cache_read=0.125),
    "gpt-5-mini": Prices(input=0.25, output=2, cache_read=0.025),
    STRONG: Prices(input=10, output=30),
    WEAK: Prices(input=0.6, output=0.6),
}


_OPENINGS = ("Say", "Tell", "Write", "Count", "Find", "Show", "Guess", "Reckon", "Work out", "Decide")


def layers(_provider: str, model: str) -> tuple[Layer, ...]:
    """Catalogues that know four models."""
    if model not in PRICES:
        return ()
    facts = ModelFacts(prices=PRICES[model])
    return (Layer(source="genai-prices", facts=facts, exact=True, matched=model, as_of="1"),)


def issues(count: int = 40) -> RoutingSet:
    """Issues of four repositories: the mini model fails every second one of two of them, the large one never."""
    items = [
        Item(
            id=f"made__r{number % 4}-{number}",
            group=f"made/r{number % 4}",
            prompt=f"Fix this issue in made/r{number % 4}",
            outcomes=(
                Outcome(1.0, 0.3 + number % 3 / 10, 12),
                Outcome(float(number % 4 < 2 or number % 8 < 4), 0.03 + number % 2 / 100, 14),
            ),
        )
        for number in range(count)
    ]
    return RoutingSet(
        name="swe_bench_verified",
        source="made up",
        licence="none",
        unit="USD",
        models=("gpt-5", "gpt-5-mini"),
        items=tuple(items),
    )


def questions(count: int = 60) -> RoutingSet:
    """Questions that a weak model answers if they are about apples, and a strong one always."""
    items = [
        Item(
            id=f"q{number}",
            group=None,
            prompt=f"{_OPENINGS[number // 3 % 10]} how many {'apples' if number % 3 else 'stars'} there are now",
            outcomes=(Outcome(float(number % 3 > 0), 0.0), Outcome(1.0, 1.0)),
        )
        for number in range(count)
    ]
    return RoutingSet(
        name="gsm8k_two_models",
        source="made up",
        licence="none",
        unit="strong calls",
        models=(WEAK, STRONG),
        items=tuple(items),
    )


def write_folder(folder: Path) -> Path:
    """A folder with a few outcomes of each kind."""
    folder.mkdir(parents=True, exist_ok=True)
    issue = ["instance,model,resolved,cost_usd,calls"]
    for item in issues().items:
        for model, outcome in zip(("gpt-5", "gpt-5-mini"), item.outcomes, strict=True):
            issue.append(f"{item.id},{model},{outcome.quality:.0f},{outcome.spend},{outcome.calls}")
    (folder / "swe_bench_verified.csv").write_text("\n".join(issue) + "\n")
    asked = [
        {"prompt": item.prompt + str(number), WEAK: str(item.outcomes[0].quality == 1), STRONG: "True"}
        for number, item in enumerate(questions().items)
    ]
    (folder / "gsm8k_two_models.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    scored = [
        {
            "question": f"What is {number} plus {number}?",
            "scores": {"gemma-2-9b-it": 1.0, "codegemma-7b": number % 2 / 2},
        }
        for number in range(30)
    ]
    lines = "".join(json.dumps(one) + "\n" for one in scored)
    (folder / "llmrouter_nine_models.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    (folder / "aider_polyglot.csv").write_text(
        "model,date,edit_format,reasoning_effort,pass_rate_2,total_cost_usd,seconds_per_case,test_cases\n"
        "gpt-5 (high),2025-08-23,diff,high,88.0,29.0829,194.0,225\n"
        "qwen-max-2025-01-25,2025-01-28,diff,,21.8,,39.5,225\n"
    )
    return folder
