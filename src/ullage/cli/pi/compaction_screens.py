"""`/context summaries` and `compaction`: Pi decides when and what is cut, who writes it is ours to tell."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from ullage.cli import records
from ullage.cli.records import ago, open_records, print_lines, table, tokens
from ullage.core.errors import StoreError
from ullage.core.terminal import safe

from .newest import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.stores import CallRecord

    from .asked import Asked, Summary

_WIDTH = 12
_SESSION_CALLS = 1_000
_NEWEST, _SHOWN = 200, 5


def show_summaries(asked: Asked) -> int:
    """What Pi has put in the place of messages in this session, the newest first."""
    found = asked.host.summaries
    if not found:
        print_lines(["Nothing is summarised in this session."])
        return 0
    rows = [
        (
            one.id,
            one.kind.replace("_", " "),
            _ago(one.at),
            tokens(one.before),
            f"{one.chars:,}",
            usd(one.cost),
            "yes" if one.on_branch else "no",
            "an extension" if one.by_extension else "Pi",
        )
        for one in found
    ]
    header = ("entry", "kind", "when", "tokens before", "characters", "cost", "on branch", "written by")
    print_lines(table(header, rows, right=(3, 4, 5)))
    return 0


def show_compaction(asked: Asked) -> int:
    """When Pi compacts, who writes the summary, what became of the last ones, and what went wrong."""
    print_lines(safe(f"{name:<{_WIDTH}}{text}") for name, text in _facts(asked))
    done = [one for one in asked.host.summaries if one.kind == "compaction"]
    if done:
        print_lines(["", *_done(done, asked.session)])
    asked_for = _asked_for()
    if asked_for:
        print_lines(["", *asked_for])
    return 0


def due_text(asked: Asked) -> str:
    """Whether a compaction is under way, or due, by what Pi says."""
    host, most = asked.host, _most(asked)
    if host.compacting:
        return "under way"
    if host.compaction.enabled is False:
        return "idle; Pi does not compact by itself"
    if most is None:
        return "idle; this Pi does not say when it compacts"
    limit = f"idle; Pi compacts above {tokens(most)} tokens{'' if host.compaction.told else ' by default'}"
    if host.tokens is None:
        return f"{limit}, and does not know yet how many there are"
    return f"{limit}, {tokens(host.tokens)} are used: {'due with the next prompt' if host.tokens > most else 'not due'}"


def _most(asked: Asked) -> int | None:
    """The tokens above which Pi compacts."""
    window, reserve = asked.host.window, asked.host.compaction.reserve_tokens
    return window - reserve if window and reserve is not None else None


def _facts(asked: Asked) -> Iterator[tuple[str, str]]:
    from ullage.settings import load_settings

    host = asked.host
    yield "state", due_text(asked)
    if host.compaction.reserve_tokens is not None:
        told = "" if host.compaction.told else "; these are Pi's defaults, this version does not tell its settings"
        kept = tokens(host.compaction.keep_recent_tokens)
        yield "thresholds", f"{tokens(host.compaction.reserve_tokens)} reserved, the newest ~{kept} kept{told}"
    yield "writer", _rule(asked)
    most = load_settings().settings.planning.max_summary_tokens
    yield "validation", f"none of ours, the text is Pi's own; a plan sends {most:,} tokens of summaries at most"
    failed = host.failed
    yield (
        "last error",
        f"{_ago(failed.at)}, {failed.reason}: {failed.message or 'no message'}" if failed else "none since Pi began",
    )


def _rule(asked: Asked) -> str:
    if not asked.model.startswith(OURS):
        return f"{asked.model or 'the model'}, which Pi is at; with ullage/auto whichever fitting model writes it for the least"
    from ullage.settings import load_settings

    named = load_settings().settings.routing.compaction_models
    among = f" of {', '.join(named)}" if named else ""
    return f"whichever fitting model{among} writes it for the least; where there is none, Pi does not compact"


def _done(done: Sequence[Summary], session: str) -> list[str]:
    after = prompts_after(session)
    rows = []
    for one in done:
        at = _epoch_ms(one.at)
        next_prompt = next((prompt for began, prompt in after if at is not None and began > at), None)
        rows.append((one.id, _ago(one.at), tokens(one.before), tokens(next_prompt), usd(one.cost)))
    return table(("entry", "when", "tokens before", "after", "cost"), rows, right=(2, 3, 4))


def _asked_for() -> list[str]:
    """The newest summaries that the router was asked about in this folder, and whom it chose."""
    from ullage.stores.report import target_of

    here, calls = str(Path.cwd()), []
    with contextlib.suppress(StoreError):
        calls = [one for one in open_records().calls(kind="compaction", limit=_NEWEST) if one.project == here]
    now = records.now_ms()
    rows = [
        (ago(one.created_ms, now), target_of(one), tokens(one.estimated_input_tokens), _reason(one))
        for one in calls[:_SHOWN]
    ]
    return table(("routed", "to", "tokens", "why"), rows, right=(2,)) if rows else []


def _reason(call: CallRecord) -> str:
    reasons = (call.route or {}).get("reasons")
    return str(reasons[-1]) if reasons else "-"


def prompts_after(session: str) -> list[tuple[int, int]]:
    """When each request of the session was made, and how long its prompt was, the oldest first."""
    from ullage.stores.report import prompt_tokens

    with contextlib.suppress(StoreError):
        calls = open_records().calls(session, kind="conversation", limit=_SESSION_CALLS)
        found = [(call.created_ms, prompt_tokens(call)[0]) for call in reversed(calls)]
        return [(at, prompt) for at, prompt in found if prompt is not None]
    return []


def _epoch_ms(at: str) -> int | None:
    try:
        return int(dt.datetime.fromisoformat(at).timestamp() * 1000)
    except ValueError:
        return None


def _ago(at: str) -> str:
    at_ms = _epoch_ms(at)
    return "-" if at_ms is None else ago(at_ms, records.now_ms())


def usd(amount: float | None) -> str:
    """Money of one summary; a dash where it is not known."""
    return "-" if amount is None else f"${amount:.4f}"
