"""`ullage manifest`: the record of one call, in numbers and names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import InputError
from ullage.core.terminal import safe

from . import records
from .awareness_text import awareness_facts, cache_text, sample_text, usage_text
from .output import print_json
from .plan_text import plan_line
from .records import ago, complete_id, data_dir_option, json_option, open_records, print_lines, table, tokens
from .routed_text import route_line

if TYPE_CHECKING:
    from ullage.stores import CallRecord, Reader

_LABEL_WIDTH = 13
_KEPT = {"rollup": "of the context report the first and the last items", "omitted": "all but the context report"}
"""What is said of a record that was too large to be stored whole."""


@click.command()
@click.argument("call_id", metavar="[ID]", required=False)
@json_option
@data_dir_option
def command(call_id: str | None, as_json: bool, data_dir: str | None) -> None:
    """Show the record of one call: who asked, what was sent, what came back.

    ID is a call's id or its beginning (`ullage sessions show` lists them); without it, the newest call. Records hold numbers
    and names, never the text of a message.
    """
    from ullage.stores import report_call

    call = find_record(open_records(data_dir), call_id)
    if as_json:
        print_json(report_call(call))
    else:
        print_lines([*describe(call), *list_sections(call.breakdown)])


def find_record(store: Reader, call_id: str | None) -> CallRecord:
    """The call whose id begins so, else the newest one. Raises `InputError` if there is none."""
    if call_id is not None:
        found = store.find_call(complete_id(call_id, "call", store.call_ids))
        assert found is not None, "its id was just found"
        return found
    newest = store.calls(limit=1)
    if not newest:
        raise InputError("No call is recorded yet.", hint="Send one prompt through `ullage serve`.", code="not_found")
    return newest[0]


def describe(call: CallRecord) -> list[str]:
    """One line per question about the call; a question without an answer is left out."""
    from ullage.stores.report import iso_time, target_of
    from ullage.stores.rollup import completeness

    answered = f", answered by {call.answered_by}" if call.answered_by not in (None, call.model) else ""
    facts = {
        "call": call.id,
        "session": call.session,
        "project": call.project,
        "when": f"{ago(call.created_ms, records.now_ms())}  ({iso_time(call.created_ms)})",
        "target": f"{target_of(call)}{answered}",
        "request": " · ".join(
            (call.path, call.dialect, call.kind, "streamed" if call.streamed else "whole", size(call.request_bytes))
        ),
        "answer": " · ".join(answer_facts(call)),
        "route": route_line(call.route),
        "plan": plan_line(call.plan or {}),
        "estimate": estimate_of(call),
        "expected": expectation_of(call.expected or {}),
        **(dict(awareness_facts(call.awareness)) if call.awareness is not None else {}),
        "usage": usage_text(call.usage or {}),
        "spent": spent_text(call.spend or {}),
        "sample": sample_text(call.sample),
        "cache": cache_text(call.cache),
        "tools": ", ".join(call.tool_calls),
        "kept": _KEPT.get(completeness(call) or "", ""),
        "warnings": ", ".join(call.warnings),
    }
    return [f"{name:<{_LABEL_WIDTH}}{safe(value)}" for name, value in facts.items() if value]


def answer_facts(call: CallRecord) -> list[str]:
    timings = [
        f"{label} {milliseconds(number)}"
        for label, number in (
            ("first byte", call.first_byte_ms),
            ("first output", call.first_output_ms),
            ("in all", call.duration_ms),
        )
        if number is not None
    ]
    status = [] if call.status is None else [str(call.status)]
    stop = [] if call.stop_reason is None else [f"stop: {call.stop_reason}"]
    return [call.outcome, *status, *stop, size(call.answer_bytes), *timings]


def estimate_of(call: CallRecord) -> str:
    if call.estimated_input_tokens is None:
        return ""
    return f"~{tokens(call.estimated_input_tokens)} prompt tokens ({call.estimator})"


def spent_text(spend: dict[str, Any]) -> str:
    """What the call cost, what was reserved for it, and the limit that it went beyond."""
    told = [] if spend.get("usd") is None else [f"{spend['usd']:.6f} USD"]
    if spend.get("reserved_usd"):
        told.append(f"at most {spend['reserved_usd']:.6f} were reserved")
    if spend.get("exceeded"):
        told.append(f"{spend['action']}: {', '.join(spend['exceeded'])}")
    if spend.get("unenforced"):
        told.append(f"not held to {', '.join(spend['unenforced'])}")
    return " · ".join(told)


def expectation_of(expected: dict[str, Any]) -> str:
    """What the prompt was taken to be before the answer came, from the session's last usage."""
    if "tokens" not in expected:
        return ""
    low, high = tokens(expected["low"]), tokens(expected["high"])
    pairs = expected["pairs"]
    learned = f"learned from {pairs} {'pair' if pairs == 1 else 'pairs'} of calls" if pairs else "nothing learned yet"
    return f"~{tokens(expected['tokens'])} prompt tokens, {low} to {high} ({expected['method']}, {learned})"


def list_sections(breakdown: dict[str, Any] | None) -> list[str]:
    """The sections of the context report; `ullage context` shows it in full."""
    if breakdown is None:
        return []
    rows = [(row["title"], tokens(row["tokens"]), percent(row.get("share"))) for row in breakdown["sections"]]
    if breakdown.get("gap"):
        rows.append(("Unattributed", f"{'+' if breakdown['gap'] > 0 else ''}{tokens(breakdown['gap'])}", ""))
    rows.append(("total", tokens(breakdown["total"]), breakdown["total_kind"]))
    return ["", *table(("section", "tokens", "share"), rows, right=(1, 2))]


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def size(number: int) -> str:
    """Bytes for people, in decimal units."""
    if number < 1000:
        return f"{number} B"
    return f"{number / 1000:.1f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def milliseconds(number: float) -> str:
    return f"{number:.0f} ms" if number < 1000 else f"{number / 1000:.1f} s"
