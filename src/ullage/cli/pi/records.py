"""The screens of `/context` that no command of ours prints as they are: of one session's newest request."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from ullage.cli.records import open_records, print_lines, tokens
from ullage.core.errors import InputError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.stores import CallRecord

    from .words import Asked

_MOST_ROWS = 40
_NEWEST = 200


def newest_call(session: str) -> CallRecord:
    """The newest request of a session's conversation. Raises `InputError` if there was none."""
    for call in open_records().calls(session, kind="conversation", limit=1):
        return call
    raise InputError(
        "No request of this session is recorded yet.", hint="Send a prompt, then ask again.", code="not_found"
    )


def show_status(asked: Asked) -> int:
    """Phase, session, the newest request and the limits that it was planned by."""
    print_lines([safe(line) for line in _status(asked)])
    return 0


def show_tokens(asked: Asked) -> int:
    """What fills the newest request."""
    from ullage.core.accounting import load_report
    from ullage.core.accounting.views import render_view

    call = newest_call(asked.session)
    if call.breakdown is None:
        raise InputError("The newest request was not accounted for.", hint="`/context manifest` says more.")
    columns = shutil.get_terminal_size((80, 24)).columns
    print_lines(render_view(load_report(call.breakdown), "compact", width=columns, color=False).rstrip().splitlines())
    return 0


def show_included(asked: Asked) -> int:
    """The messages that the newest plan has sent."""
    return _show_items(asked, "included")


def show_excluded(asked: Asked) -> int:
    """Those that it has left out."""
    return _show_items(asked, "excluded")


def show_artifacts(asked: Asked) -> int:
    """The tool results of the session that are kept aside, the one used last first."""
    kept = open_records().artifacts(asked.session)
    lines = [f"{len(kept)} tool results are kept aside{':' if kept else '.'}"]
    lines += [f"  {one.id[:12]}  {one.tool or 'unknown tool'}, {one.size_bytes:,} bytes" for one in kept]
    print_lines([safe(line) for line in lines])
    return 0


def show_privacy(asked: Asked) -> int:
    """What the destination of the newest request may see, and what was kept from it."""
    call = newest_call(asked.session)
    privacy = (call.plan or {}).get("privacy") or getattr(call, "privacy", None)
    if not privacy:
        print_lines(["Privacy is off: set `enabled = true` in [privacy] of the settings to keep marked text in."])
        return 0
    print_lines([safe(f"{name.replace('_', ' ')}: {value}") for name, value in privacy.items()])
    return 0


def show_models(asked: Asked) -> int:
    """Pi's models that the newest choice was among, the best first, and those that were out of the question."""
    ranked, excluded = _candidates(asked)
    lines = [*ranked, *(f"{one['target']}: no, {one['reason']}" for one in excluded)]
    print_lines([safe(line) for line in lines])
    return 0


def show_providers(asked: Asked) -> int:
    """Their providers."""
    ranked, _ = _candidates(asked)
    print_lines([safe(one) for one in dict.fromkeys(target.partition("/")[0] for target in ranked)])
    return 0


def _candidates(asked: Asked) -> tuple[list[str], list[dict[str, Any]]]:
    for call in open_records().calls(asked.session, limit=_NEWEST):
        route = call.route or {}
        if "ranked" in route:
            others = list(route.get("ranked_others") or ())
            return [one["target"] for one in route["ranked"]] + others, route.get("excluded") or []
    raise InputError(
        "No model was chosen in this session yet.", hint="Select ullage/auto and send a prompt.", code="not_found"
    )


def _status(asked: Asked) -> Iterator[str]:
    from ullage._version import __version__
    from ullage.pi.address import is_running, read_address
    from ullage.settings import load_settings

    loaded = load_settings()
    address = read_address(loaded.paths.data_dir)
    there = address is not None and is_running(address)
    yield f"ullage {__version__}: {'active' if there else 'degraded, no daemon runs'}, mode {loaded.settings.mode}"
    yield f"session {asked.session}, model {asked.model or 'unknown'}"
    try:
        call = newest_call(asked.session)
    except InputError as error:
        yield error.message
        return
    usage = call.usage or {}
    parts = [usage.get(name) for name in ("input_fresh", "cache_read", "cache_write")]
    actual = sum(part or 0 for part in parts) if any(part is not None for part in parts) else None
    yield (
        f"newest request {call.id}: estimated {tokens(call.estimated_input_tokens, estimated=True)} tokens, "
        f"reported {tokens(actual)} (cache read {tokens(usage.get('cache_read'))}, "
        f"written {tokens(usage.get('cache_write'))})"
    )
    yield from _limits(call.awareness or {})
    yield from _planned(call.plan or {})
    yield "privacy: " + ("on" if loaded.settings.privacy.enabled else "off")


def _limits(awareness: dict[str, Any]) -> Iterator[str]:
    budget, learned = awareness.get("budget"), awareness.get("calibration")
    if budget:
        yield "limits: " + ", ".join(f"{name} {tokens(budget.get(name))}" for name in ("active", "soft", "hard"))
    if learned:
        ratio = learned.get("median_ratio") if learned.get("calibrated") else None
        told = f"ratio {ratio:.3f}" if ratio is not None else "collecting"
        yield f"calibration: {told}, {learned.get('accepted', 0)} of {learned.get('observed', 0)} samples accepted"


def _planned(plan: dict[str, Any]) -> Iterator[str]:
    if not plan:
        yield "plan: none, requests are sent as they are"
        return
    messages = plan.get("messages") or {}
    said = f"plan: {plan.get('status')}"
    if messages:
        said += f", {messages.get('included')} of {messages.get('total')} messages"
    yield said
    for warning in plan.get("warnings") or ():
        yield f"warning: {warning}"


def _show_items(asked: Asked, which: str) -> int:
    call = newest_call(asked.session)
    plan = call.plan or {}
    if "messages" not in plan:
        print_lines(["Nothing was planned of the newest request: it was sent as it was."])
        return 0
    rows = plan.get(which) or []
    count = plan["messages"][which]
    lines = [f"{count} messages {which}, {plan.get('tokens', 'unknown')} tokens sent of {plan.get('limit', 'unknown')}"]
    most = len(rows) if "all" in asked.rest else _MOST_ROWS
    lines += [_item(row) for row in rows[:most]]
    if len(rows) > most:
        lines.append(f"… {len(rows) - most} more: /context {which} all")
    print_lines([safe(line) for line in lines])
    return 0


def _item(row: Any) -> str:
    if not isinstance(row, dict):
        return f"  {row}"
    return "  " + ", ".join(f"{name} {value}" for name, value in row.items() if value not in (None, "", []))
