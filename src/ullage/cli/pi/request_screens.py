"""What `/context tokens`, `manifest` and `explain` tell of a request: its parts, its limits, its plan in figures."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from ullage.cli.awareness_text import cache_text, calibration_text, counted, usage_text
from ullage.cli.records import open_records, print_lines, table, tokens
from ullage.core.terminal import safe

from .figures import composition, is_rolled_up, original_tokens, tokens_of
from .newest import newest_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores import CallRecord

    from .asked import Asked

_WIDTH = 13
_LIMITS = ("hard", "soft", "preferred")


def show_tokens(asked: Asked) -> int:
    """The account of the newest request, what of it is of which kind, what was counted, and the limits."""
    call = newest_call(asked.session)
    if call.breakdown is not None:
        from ullage.core.accounting import load_report
        from ullage.core.accounting.views import render_view

        columns = shutil.get_terminal_size((80, 24)).columns
        print_lines([render_view(load_report(call.breakdown), "compact", width=columns, color=False).rstrip(), ""])
    print_lines(safe(line) for line in _counts(call, asked))
    return 0


def show_manifest(asked: Asked) -> int:
    """The record of a request, and its plan in figures."""
    from ullage.cli import answer

    call = _call(asked)
    status = answer(["manifest", call.id, *asked.passed()])
    if status == 0 and not asked.has("json"):
        print_lines(["", *map(safe, _inventory(call.plan or {}))])
    return status


def show_explanation(asked: Asked) -> int:
    """Why a request was sent so, and what its plan had to go by."""
    from ullage.cli import answer

    call = _call(asked)
    status = answer(["why", call.id, *asked.passed()])
    if status == 0 and not asked.has("json"):
        print_lines(map(safe, _plan_figures(call.plan or {})))
    return status


def _call(asked: Asked) -> CallRecord:
    from ullage.cli.manifest import find_record

    return find_record(open_records(), asked.words[0]) if asked.words else newest_call(asked.session)


def _line(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}}{text}"


def _counts(call: CallRecord, asked: Asked) -> Iterator[str]:
    plan = call.plan or {}
    if "messages" in plan:
        yield _line("sent", _composition(plan))
    estimated = f"~{tokens(call.estimated_input_tokens)} by {call.estimator}" if call.estimated_input_tokens else "none"
    yield _line("estimated", estimated)
    yield _line("reported", usage_text(call.usage or {}) or "nothing yet")
    if call.cache is not None:
        yield _line("cache", cache_text(call.cache))
    if (plan.get("cache") or {}).get("reason"):
        tail = plan["cache"]
        yield _line("tail", f"from message {tail['first']} on: {tail['reason']} (planning.tail = {tail['mode']})")
    host = asked.host
    if host.window:
        used = "unknown" if host.tokens is None else tokens(host.tokens)
        yield _line("host", f"Pi counts {used} of {tokens(host.window)}")
    yield from _limits(call.awareness or {})


def _limits(awareness: dict[str, Any]) -> Iterator[str]:
    budget = awareness.get("budget")
    if not budget:
        yield _line("limits", "none: the window of the model is not known")
        return
    calibration = awareness["calibration"]
    kept = f"{tokens(budget['output_reserve'])} for the answer, {tokens(budget['safety_margin'])} for errors kept free"
    yield _line("window", f"{tokens(budget['context_window'])}: {kept}")
    yield _line("calibration", calibration_text(calibration))
    yield ""
    rows = [(name, tokens(budget[f"nominal_{name}"]), tokens(budget[name])) for name in _LIMITS]
    rows.append(("active", "", tokens(budget["active"])))
    yield from table(("limit", "provider tokens", f"by {calibration['estimator']}"), rows, right=(1, 2))


def _composition(plan: dict[str, Any]) -> str:
    """Each kind with number and tokens: `recent 12 (~8,210), current 1 (~40)`."""
    found = composition(plan)
    parts = [f"{kind} {number} (~{size:,})" for kind, (number, size) in found.items()]
    if plan["replaced"]:
        parts.append(f"artifact {len(plan['replaced'])} (~{sum(one['tokens'] for one in plan['replaced']):,})")
    return ", ".join([f"fixed (~{plan['fixed_tokens']:,})", *parts])


def _inventory(plan: dict[str, Any]) -> Iterator[str]:
    if "messages" not in plan:
        yield _line("inventory", "none: nothing was planned")
        return
    yield _line("limits", f"target {plan['target_tokens']:,}, hard {plan['limit']:,}")
    yield _line("composition", _composition(plan))
    told = "complete"
    if is_rolled_up(plan):
        counts = [plan["inventory"][which]["counts"] for which in ("included", "excluded")]
        told = f"rollup: {sum(one['kept'] for one in counts)} of {sum(one['items'] for one in counts)} items"
    yield _line("inventory", told)


def _plan_figures(plan: dict[str, Any]) -> Iterator[str]:
    if "messages" not in plan:
        return
    excluded = plan["messages"]["excluded"]
    yield (
        f"Of ~{original_tokens(plan):,} tokens ~{plan['tokens']:,} are sent; {counted(excluded, 'message')} of"
        f" ~{tokens_of(plan, 'excluded'):,} are left out, in {counted(plan['excluded_group_count'], 'group')}."
    )
    yield f"Rescued turns: {int(plan['rescued'])}. Turns larger than the tail: {plan['oversized']}."
    took = plan.get("timings_ms", {})
    if took:
        yield f"It took {', '.join(f'{milliseconds:.1f} ms to {part}' for part, milliseconds in took.items())}."
