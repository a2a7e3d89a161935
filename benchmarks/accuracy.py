"""How far estimates are from what providers counted: `python -m benchmarks.accuracy FILE.jsonl [--worst N]`.

Each line of the file is {provider, model, api, kind, payload, tokens} (accounting specification, section 23). The estimate sees
the request alone: no usage, nothing learned. Requests are told apart by what they carry: tool definitions; calls and results
without them (`calls`); an output schema; pictures (`media`); text alone; `sealed` ones replay hidden reasoning, which nothing
here can size. Relative errors per provider: median, 90th percentile, median with its sign, share that is exact.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ullage.cli.count import count_request
from ullage.core.errors import UllageError

LARGE_TOKENS = 2_000
_CALLS = re.compile(r"tool_calls|function_call|'role': 'function'|tool_use|toolUse|functionCall|additional_tools")
# Acceptance bars of section 21, where they concern an estimate of the request alone.
BARS = (
    ("openai", "text", "p90 0 %"),
    ("openai", "tools", "median 1.5 %, p90 6 %"),
    ("anthropic", "tools", "median 8 %"),
    ("google", "text", "median 8 %"),
    ("google", "tools", "median 15 %"),
)


class Error(NamedTuple):
    """One estimate beside its truth."""

    provider: str
    group: str
    tokens: int
    estimate: int
    source: str

    @property
    def relative(self) -> float:
        return (self.estimate - self.tokens) / self.tokens


def errors(path: Path) -> tuple[list[Error], dict[str, int]]:
    """The errors of all requests in the file, and why others were left out."""
    found: list[Error] = []
    skipped: dict[str, int] = defaultdict(int)
    for line in path.read_bytes().splitlines():
        row = msgspec.json.decode(line)
        if row["kind"] != "request":
            skipped[f"kind {row['kind']}"] += 1
            continue
        body = msgspec.json.encode(row["payload"])
        try:
            breakdown = count_request(body, api=row["api"], provider=row["provider"], model=row["model"])
        except UllageError as error:
            skipped[error.message] += 1
            continue
        sealed = any(notice.code == "hidden_reasoning" for notice in breakdown.warnings)
        found.append(
            Error(
                row["provider"],
                _group(row["payload"], sealed=sealed),
                row["tokens"],
                breakdown.total.tokens,
                row["source"],
            )
        )
    return found, skipped


def _group(payload: dict[str, Any], *, sealed: bool) -> str:
    if sealed:
        return "sealed"
    if payload.get("tools") or payload.get("functions") or (payload.get("toolConfig") or {}).get("tools"):
        return "tools"
    options = {"response_format", "text", "output_config", "output_format", "outputConfig"}
    schemas = [payload[key] for key in options & set(payload)]
    if "schema" in str(schemas) or "Schema" in str(payload.get("generationConfig")):
        return "schema"
    if _CALLS.search(str(payload)):
        return "calls"
    return "media" if "omitted" in str(payload) else "text"


def table(found: list[Error]) -> list[str]:
    """One row a provider and group, with the acceptance bar beside it."""
    groups: dict[tuple[str, str], list[Error]] = defaultdict(list)
    for error in found:
        groups[error.provider, error.group].append(error)
        groups[error.provider, "all" if error.tokens < LARGE_TOKENS else "≥ 2k tokens"].append(error)
    bars = {(provider, group): bar for provider, group, bar in BARS}
    head = f"{'provider':<22}{'group':<13}{'n':>5}{'median':>9}{'p90':>9}{'signed':>9}{'exact':>8}  bar"
    return [head, *(_row(*key, groups[key], bars.get(key, "")) for key in sorted(groups))]


def _row(provider: str, group: str, members: list[Error], bar: str) -> str:
    relative = [error.relative for error in members]
    sizes = sorted(map(abs, relative))
    p90 = sizes[min(len(sizes) - 1, round(0.9 * (len(sizes) - 1)))]
    exact = sum(error.estimate == error.tokens for error in members) / len(members)
    name = "< 2k tokens" if group == "all" else group
    return (
        f"{provider:<22}{name:<13}{len(members):>5}{statistics.median(sizes):>9.1%}{p90:>9.1%}"
        f"{statistics.median(relative):>+9.1%}{exact:>8.0%}  {bar}"
    ).rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--worst", type=int, default=0, help="print so many of the largest errors")
    arguments = parser.parse_args()
    found, skipped = errors(arguments.file)
    print("\n".join(table(found)))
    for reason, count in skipped.items():
        print(f"left out: {count} of {reason}")
    for error in sorted(found, key=lambda error: -abs(error.relative))[: arguments.worst]:
        print(f"{error.relative:+.0%} {error.tokens} {error.estimate} {error.provider} {error.group} {error.source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
