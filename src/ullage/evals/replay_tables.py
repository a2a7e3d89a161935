"""A replay as tables, for a terminal and for the manual, and as plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from .replay import ALL
from .tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .replay import Replay, Replayed
    from .replay_figures import Figures, Validation

_BASE = "sliding"
_MISSING = "-"


def report_replay(made: Replay) -> dict[str, Any]:
    """Plain data: every figure of every trace and pool."""
    return asdict(made) | {
        "traces": [_report_trace(trace) for trace in made.traces],
        "validation": {name: one.report() for name, one in made.validation.items()},
        "pooled": {name: _report_policies(pool) for name, pool in made.pooled.items()},
    }


def _report_trace(trace: Replayed) -> dict[str, Any]:
    return asdict(trace) | {"validation": trace.validation.report(), "policies": _report_policies(trace.policies)}


def _report_policies(policies: Mapping[str, Figures]) -> dict[str, Any]:
    return {name: figures.report() for name, figures in policies.items()}


def validation_table(made: Replay) -> Table:
    """What the played cache read of what was really sent, beside what was reported: by client."""
    names = [name for name in made.validation if name != ALL] + [name for name in made.validation if name == ALL]
    rows = []
    for name in names:
        one = made.validation[name]
        rows.append((name, f"{one.calls:,}", f"{one.expected:,}", f"{one.read:,}", _signed(one.error), _causes(one)))
    return Table(header=("client", "calls", "played", "reported", "off by", "not read, by cause"), rows=tuple(rows))


def disagreements(made: Replay) -> Iterator[str]:
    """The files of which the played cache is further off than allowed, and those that cannot be judged, with the reason."""
    for trace in made.traces:
        one = trace.validation
        if not one.reported:
            yield f"{_name(trace)}: {trace.model} reports no reads"
        elif not one.agrees:
            why = _causes(one) if one.causes else "the provider held more, or longer, than its rule says"
            yield f"{_name(trace)}: {one.expected:,} for {one.read:,} tokens; {why}"


def policy_table(policies: Mapping[str, Figures]) -> Table:
    """Every policy over the same calls."""
    base = policies.get(_BASE)
    rows = tuple(
        (
            name,
            f"{one.usd:.2f}",
            _change(one, base),
            f"{one.prompt_tokens:,}",
            f"{one.cache_share:.1%}",
            f"{one.kept_per_call:,.0f}",
            f"{one.evidence:.1%}",
            f"{one.shared:.1%}",
            f"{one.rewrites:,}",
        )
        for name, one in policies.items()
    )
    return Table(
        header=("policy", "USD", "cost", "prompt", "cached", "kept a call", "evidence", "of sliding", "rewrites"),
        rows=rows,
    )


def trace_table(made: Replay) -> Table:
    """Each trace that reaches the tail's limit, by each policy: cost beside that of the sliding tail, and evidence."""
    traces = [trace for trace in made.traces if trace.reaches]
    names = list(traces[0].policies) if traces else []
    rows = []
    for trace in traces:
        base = trace.policies.get(_BASE)
        costs = [_change(one, base) if name != _BASE else f"{one.usd:.2f}" for name, one in trace.policies.items()]
        evidence = [f"{one.evidence:.1%}" for one in trace.policies.values()]
        rows.append((_name(trace), trace.model or _MISSING, f"{trace.calls:,}", f"{trace.window:,}", *costs, *evidence))
    header = (
        "file",
        "model",
        "calls",
        "window",
        *(f"cost {name}" for name in names),
        *(f"evidence {name}" for name in names),
    )
    return Table(header=header, rows=tuple(rows), texts=2)


def _name(trace: Replayed) -> str:
    agent = f" {trace.agent}" if trace.agent else ""
    return f"{Path(trace.path).stem}{agent}"


def _change(one: Figures, base: Figures | None) -> str:
    if base is None or one is base or not base.usd:
        return _MISSING
    return f"{one.usd / base.usd - 1:+.1%}"


def _signed(error: float | None) -> str:
    return _MISSING if error is None else f"{error:+.1%}"


def _causes(one: Validation) -> str:
    found = sorted(one.causes.items(), key=_by_tokens)
    return ", ".join(f"{cause} {tokens:,}" for cause, tokens in found) or _MISSING


def _by_tokens(entry: tuple[str, int]) -> int:
    return -entry[1]
