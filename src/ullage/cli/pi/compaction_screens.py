"""`/context summaries`, `compaction` and `compact-preview`: Pi decides when and what is cut; who writes it is ours to tell."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ullage.cli import records
from ullage.cli.records import ago, open_records, print_lines, table, tokens
from ullage.core.errors import CallError, InputError, StoreError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.cli.auto.place import Place
    from ullage.core.routing.compaction import Summarizer
    from ullage.stores import CallRecord

    from .asked import Asked, Summary

_WIDTH = 12
_OURS = "ullage/"
_SESSION_CALLS = 1_000
_NEWEST, _SHOWN = 200, 5
_CUT_CHARS = 2_000
"""What Pi lets a tool result be in what it has summarised."""


class _Author(NamedTuple):
    """Who would write a summary of so many tokens, what it would cost in USD, and who else might."""

    target: str
    usd: float | None
    others: tuple[Summarizer, ...] = ()


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
            _usd(one.cost),
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


def show_preview(asked: Asked) -> int:
    """What a compaction now would do. Nothing is sent."""
    print_lines(map(safe, _preview(asked)))
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
    if not asked.model.startswith(_OURS):
        return f"{asked.model or 'the model'}, which Pi is at; with ullage/auto whichever fitting model writes it for the least"
    from ullage.settings import load_settings

    named = load_settings().settings.routing.compaction_models
    among = f" of {', '.join(named)}" if named else ""
    return f"whichever fitting model{among} writes it for the least; where there is none, Pi does not compact"


def _done(done: Sequence[Summary], session: str) -> list[str]:
    after = _prompts_after(session)
    rows = []
    for one in done:
        at = _epoch_ms(one.at)
        next_prompt = next((prompt for began, prompt in after if at is not None and began > at), None)
        rows.append((one.id, _ago(one.at), tokens(one.before), tokens(next_prompt), _usd(one.cost)))
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


def _prompts_after(session: str) -> list[tuple[int, int]]:
    """When each request of the session was made, and how long its prompt was, the oldest first."""
    from ullage.stores.report import prompt_tokens

    with contextlib.suppress(StoreError):
        calls = open_records().calls(session, kind="conversation", limit=_SESSION_CALLS)
        found = [(call.created_ms, prompt_tokens(call)[0]) for call in reversed(calls)]
        return [(at, prompt) for at, prompt in found if prompt is not None]
    return []


def _preview(asked: Asked) -> Iterator[str]:
    total, keep = _total(asked), asked.host.compaction.keep_recent_tokens
    if total is None:
        yield "How long the context is, is not known yet: send a prompt, then ask again."
        return
    if keep is None:
        yield "This Pi does not say how much it keeps when it compacts, so nothing can be told of it."
        return
    if total <= keep:
        yield f"There is nothing to compact: all of ~{tokens(total)} tokens is within the newest ~{tokens(keep)} that stay."
        return
    cut = total - keep
    yield (
        f"Of ~{tokens(total)} tokens the newest ~{tokens(keep)} would stay, and a summary would stand for the other"
        f" ~{tokens(cut)} at most: Pi cuts tool results at {_CUT_CHARS:,} characters for it."
    )
    yield from _author_lines(asked, cut)
    yield "Nothing was sent. /compact does it."


def _author_lines(asked: Asked, cut: int) -> Iterator[str]:
    from ullage.core.routing.compaction import SUMMARY_TOKENS

    try:
        author = _author(asked, cut)
    except (CallError, InputError) as error:
        yield f"Nobody could write it: {error.message}"
        return
    if author is None:
        yield f"No model has room for ~{tokens(cut)} tokens and their summary, so Pi would not compact."
        return
    cost = "at an unknown price" if author.usd is None else f"for ${author.usd:.4f} at most"
    yield f"{author.target} would write it {cost}, if it is {SUMMARY_TOKENS:,} tokens long."
    for other in author.others[:2]:
        yield f"  {other.target} would for {_usd(other.usd)}."


def _author(asked: Asked, cut: int) -> _Author | None:
    from ullage.cli.auto.place import look, offering

    from .auto_screens import candidates

    if not asked.host.models:
        raise InputError("Pi has not told which models it has.", hint="`ullage pi install` updates the extension.")
    with offering(lambda config: candidates(asked, config)), look(None, True, None) as place:
        return _chosen(place, cut) if asked.model.startswith(_OURS) else _own(asked, place, cut)


def _chosen(place: Place, cut: int) -> _Author | None:
    """As the router chooses: whoever may take it for the least."""
    from ullage.cli.auto.asking import open_asking
    from ullage.core.routing.compaction import rank_summarizers

    routing = place.settings.routing
    scoped = replace(routing, models=routing.compaction_models or routing.models)
    asking = open_asking(place._replace(loaded=replace(place.loaded, settings=replace(place.settings, routing=scoped))))
    standing = replace(asking.standing, context_tokens=cut)
    eligible = asking.previewing.eligible(standing, asking.candidates, now_ms=records.now_ms())
    ranked = rank_summarizers(eligible.candidates, tokens=cut, warm={})
    return _Author(ranked[0].target, ranked[0].usd, ranked[1:]) if ranked else None


def _own(asked: Asked, place: Place, cut: int) -> _Author:
    """Pi's own model."""
    from ullage.core.routing.compaction import summary_usd
    from ullage.settings.route_config import make_route_config

    from .auto_screens import candidates

    found = candidates(asked, make_route_config(place.settings))
    price = next((one.price for one in found if one.target == asked.model), None)
    return _Author(asked.model, summary_usd(price, tokens=cut) if price is not None else None)


def _total(asked: Asked) -> int | None:
    """Tokens of the context: by Pi's count, else as long as the newest prompt was."""
    if asked.host.tokens is not None:
        return asked.host.tokens
    prompts = _prompts_after(asked.session) if asked.session else []
    return prompts[-1][1] if prompts else None


def _epoch_ms(at: str) -> int | None:
    try:
        return int(dt.datetime.fromisoformat(at).timestamp() * 1000)
    except ValueError:
        return None


def _ago(at: str) -> str:
    at_ms = _epoch_ms(at)
    return "-" if at_ms is None else ago(at_ms, records.now_ms())


def _usd(amount: float | None) -> str:
    return "-" if amount is None else f"${amount:.4f}"
