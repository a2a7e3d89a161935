"""Writes src/ullage/core/routing/aider_rows.py from the rows of Aider's polyglot leaderboard beside the repository.

    .venv/bin/python scripts/aider_rows.py            # says whether the module is up to date
    .venv/bin/python scripts/aider_rows.py --write

A run counts for a model if the model made it by itself and `MODELS` says which id at a provider that is: the leaderboard's names
are for people, and some of them have been several models. Of several runs of one model (its efforts) the best one counts.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.evals.routing_data import AiderRun, read_aider

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "routing" / "aider_polyglot.csv"
MODULE = ROOT / "src" / "ullage" / "core" / "routing" / "aider_rows.py"

BELOW_BEST = (("frontier", 3.0), ("strong", 23.0), ("mid", 43.0))
"""How far below the best rate of all a tier begins, in points. A rate near 88 % of 225 exercises has a standard error of 2.2, so
that within 3 points nobody can be told from the best. Twenty points are more than four standard errors of the difference of two
rates (4.7 at most), so that models two tiers apart differ for certain."""

# What the leaderboard calls a model, without what it says of effort and thinking, and the id at a provider.
MODELS = {
    "gpt-5": "openai/gpt-5",
    "o3-pro": "openai/o3-pro",
    "o3": "openai/o3",
    "o4-mini": "openai/o4-mini",
    "o1-2024-12-17": "openai/o1",
    "o3-mini": "openai/o3-mini",
    "o1-mini-2024-09-12": "openai/o1-mini",
    "gpt-4.5-preview": "openai/gpt-4.5-preview",
    "gpt-4.1": "openai/gpt-4.1",
    "gpt-4.1-mini": "openai/gpt-4.1-mini",
    "gpt-4.1-nano": "openai/gpt-4.1-nano",
    "gpt-4o-2024-08-06": "openai/gpt-4o-2024-08-06",
    "gpt-4o-2024-11-20": "openai/gpt-4o-2024-11-20",
    "gpt-4o-mini-2024-07-18": "openai/gpt-4o-mini-2024-07-18",
    "gpt-oss-120b": "openai/gpt-oss-120b",
    "claude-opus-4-20250514": "anthropic/claude-opus-4-20250514",
    "claude-sonnet-4-20250514": "anthropic/claude-sonnet-4-20250514",
    "claude-3-7-sonnet-20250219": "anthropic/claude-3-7-sonnet-20250219",
    "claude-3-5-sonnet-20241022": "anthropic/claude-3-5-sonnet-20241022",
    "claude-3-5-haiku-20241022": "anthropic/claude-3-5-haiku-20241022",
    "gemini-2.5-pro-preview-06-05": "google/gemini-2.5-pro-preview-06-05",
    "Gemini 2.5 Pro Preview 05-06": "google/gemini-2.5-pro-preview-05-06",
    "Gemini 2.5 Pro Preview 03-25": "google/gemini-2.5-pro-preview-03-25",
    "gemini-2.5-flash-preview-05-20": "google/gemini-2.5-flash-preview-05-20",
    "gemini-2.5-flash-preview-04-17": "google/gemini-2.5-flash-preview-04-17",
    "Gemini 2.0 Pro exp-02-05": "google/gemini-2.0-pro-exp-02-05",
    "gemini-2.0-flash-exp": "google/gemini-2.0-flash-exp",
    "gemini-2.0-flash-thinking-exp-01-21": "google/gemini-2.0-flash-thinking-exp-01-21",
    "gemini-exp-1206": "google/gemini-exp-1206",
    "gemma-3-27b-it": "google/gemma-3-27b-it",
    "grok-4": "x-ai/grok-4",
    "Grok 3 Beta": "x-ai/grok-3-beta",
    "Grok 3 Mini Beta": "x-ai/grok-3-mini-beta",
    "DeepSeek R1 (0528)": "deepseek/deepseek-r1-0528",
    "DeepSeek R1": "deepseek/deepseek-r1",
    "DeepSeek-V3.2-Exp": "deepseek/deepseek-v3.2-exp",
    "Kimi K2": "moonshotai/kimi-k2",
    "Qwen3 32B": "qwen/qwen3-32b",
    "QwQ-32B": "qwen/qwq-32b",
    "Qwen2.5-Coder-32B-Instruct": "qwen/qwen2.5-coder-32b-instruct",
    "qwen-max-2025-01-25": "qwen/qwen-max-2025-01-25",
}

_EFFORT = re.compile(
    r" \((?:low|medium|high|default|no think(?:ing)?|\d+k think(?:ing)?(?: tokens)?|default think|Chat|Reasoner)\)$"
)

_HEAD = '''"""How well models did on Aider's polyglot benchmark: written by scripts/aider_rows.py, not by hand.

From the leaderboard of Aider-AI/aider (aider/website/_data/polyglot_leaderboard.yml, Apache-2.0), {runs} runs up to {as_of}
(sha256 {digest}… of the rows). Of each model the best run that it made by itself; runs of several models together are left
out, and those whose id at a provider the leaderboard does not tell.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .capability_rows import Tier

AS_OF = "{as_of}"
"""The day of the last run."""

EXERCISES = 225
"""Exercises of a run; some runs lack one or two."""

THRESHOLDS: tuple[tuple[float, Tier], ...] = ({thresholds})
"""Least rates of the tiers in percent: {below} points below the best one, {best}. The script says why."""

ROWS: Mapping[str, tuple[float, str, str]] = MappingProxyType(
    {{
{rows}
    }}
)
"""By `provider/model`: exercises solved at the second try in percent, day and name of the run."""
'''


def main() -> int:
    if not DATA.is_file():
        print("There is no leaderboard beside the repository: nothing to write.", file=sys.stderr)
        return 0
    text = write(read_aider(DATA), DATA.read_bytes())
    if "--write" in sys.argv[1:]:
        MODULE.write_text(text)
    elif not MODULE.exists() or MODULE.read_text() != text:
        print(f"{MODULE.relative_to(ROOT)} is not up to date: run scripts/aider_rows.py --write.", file=sys.stderr)
        return 1
    return 0


def write(runs: Sequence[AiderRun], data: bytes) -> str:
    """The module as the formatter leaves it."""
    found = find_best(runs)
    best = max(run.pass_rate for run in runs)
    rows = [
        f'        "{target}": ({run.pass_rate}, "{run.date}", "{run.model}"),'
        for target, run in sorted(found.items(), key=lambda each: (-each[1].pass_rate, each[0]))
    ]
    text = _HEAD.format(
        runs=len(runs),
        as_of=max(run.date for run in runs),
        digest=hashlib.sha256(data).hexdigest()[:12],
        thresholds=", ".join(f'({best - below}, "{tier}")' for tier, below in BELOW_BEST),
        below=", ".join(f"{below:g}" for _, below in BELOW_BEST),
        best=best,
        rows="\n".join(rows),
    )
    ruff = [sys.executable, "-m", "ruff", "format", "-q", "--stdin-filename", str(MODULE), "-"]
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def find_best(runs: Sequence[AiderRun]) -> dict[str, AiderRun]:
    """The best run of every model that `MODELS` names."""
    found: dict[str, AiderRun] = {}
    for run in runs:
        target = MODELS.get(run.model) or MODELS.get(_EFFORT.sub("", run.model))
        if target is not None and (target not in found or run.pass_rate > found[target].pass_rate):
            found[target] = run
    missing = sorted(set(MODELS.values()) - set(found))
    if missing:
        raise SystemExit(f"The leaderboard has no run of {', '.join(missing)}.")
    return found


if __name__ == "__main__":
    sys.exit(main())
