"""`ullage plan`: what managed mode would send of a request, and why."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.core.errors import CallError
from ullage.core.terminal import safe, safe_json

from .context_input import Request, Wishes, open_source
from .inputs import lines_of_input
from .output import is_terminal, print_json
from .preferences import estimator_option, load_preferences
from .records import json_option, print_lines, table, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ullage.core.evidence.mutations import Item
    from ullage.core.planning import Awareness
    from ullage.core.planning.proposal import Proposal
    from ullage.core.planning.rows import Row
    from ullage.core.wire import Dialect
    from ullage.engine.proposing import Planner

_GROUPS = 40
"""So many groups are shown, the newest."""


@click.command()
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--dialect", metavar="D", help="Shape of the request, if it cannot be told by its keys.")
@click.option("--provider", metavar="P", help="Who serves it.")
@click.option("--model", metavar="M", help="The model, if the request does not name it.")
@click.option(
    "--input-limit", metavar="N", type=click.IntRange(min=0), help="Most tokens to send. Default: as the model allows."
)
@click.option("--query", metavar="T", help="What the user asks next: it is put behind the messages.")
@click.option(
    "--emit", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the planned request there."
)
@click.option("--batch", metavar="FILE.jsonl", help="Many requests, one object a line; `-` reads standard input.")
@estimator_option
@json_option
def command(
    source: str | None,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    input_limit: int | None,
    query: str | None,
    emit: Path | None,
    batch: str | None,
    estimator: str | None,
    as_json: bool,
) -> int:
    """Show what managed mode would send of a request, and why.

    SOURCE is a request body, a folder with a captured request, a session file of a supported agent, or `-` for standard input.
    Without --input-limit the limits are those of the provider's model, as it is known and as its usage has taught.
    The tail begins as that of a session's first request (planning.tail of the settings; off: whole turns).

    A line of a batch is {id, dialect, request, input_limit, scope, counts, pins, excerpts, provider, model}; its answer, on the
    same line of the output, is {id, status, kept, dropped, replaced, tokens, limit, reasons, request}, or {id, error}.
    In a batch whole turns are taken, newest first.
    """
    from ullage.engine.proposing import report_proposal

    from .planner import make_planner

    planner = make_planner(load_preferences(estimator=estimator))
    if batch is not None:
        if source is not None:
            raise CallError("SOURCE and --batch exclude each other.", hint="Give one of them.")
        _plan_batch(batch, planner)
        return 0
    if source is None:
        raise CallError("plan: Give a SOURCE, or --batch.", hint="See `ullage plan --help`.")
    started = time.perf_counter()
    proposal, awareness = _propose(
        source, planner, Wishes(dialect, provider, model), input_limit=input_limit, query=query
    )
    refused = proposal.plan.status == "refused"
    if emit is not None and not refused:
        emit.write_bytes(proposal.render())
    report = report_proposal(proposal, awareness, taken_ms=1_000 * (time.perf_counter() - started))
    if as_json:
        print_json(report)
    else:
        print_lines(_screen(proposal, report))
    return int(refused)


def _propose(
    source: str, planner: Planner, wishes: Wishes, *, input_limit: int | None, query: str | None
) -> tuple[Proposal, Awareness | None]:
    """The plan of what a source holds: its request, or the newest call of a session."""
    from ullage.engine.proposing import Ask

    found = open_source(source, wishes)
    labelled: frozenset[int] = frozenset()
    kept: tuple[Item, ...] = ()
    if isinstance(found, Request):
        body, dialect = found.body, _dialect(found.shape)
        provider, model = found.wishes.provider, found.wishes.model
    else:
        from .session_request import render_session

        sent = render_session(found, follows=query is not None)
        body, dialect = sent.body, sent.dialect
        labelled, kept = sent.labelled, sent.kept
        provider, model = wishes.provider or sent.provider, wishes.model or sent.model
    if query is not None:
        body = _with_query(body, dialect, query)
    return planner.propose(
        body,
        Ask(
            dialect=dialect,
            provider=provider,
            model=model,
            input_limit=input_limit,
            live=True,
            labelled=labelled,
            kept=kept,
        ),
    )


def _dialect(shape: str) -> Dialect:
    from ullage.core.wire import DIALECTS

    found = next((dialect for dialect in DIALECTS if dialect == shape), None)
    if found is None:
        raise CallError(f"A request of the shape {shape!r} is not planned.", hint=f"Planned are {', '.join(DIALECTS)}.")
    return found


def _with_query(body: bytes, dialect: Dialect, query: str) -> bytes:
    from ullage.core.wire import parse_request, render, write_user_message

    conversation = parse_request(body, dialect)
    return render(conversation, inserted={len(conversation.messages): [write_user_message(query, dialect)]})


def _screen(proposal: Proposal, report: dict[str, Any]) -> Iterator[str]:
    from .plan_text import tell_plan

    yield f"Plan for {safe(report['target'])}: {report['status']}"
    yield ""
    yield from tell_plan(report, report["estimator"])
    yield ""
    yield from _group_table(proposal.plan.groups)


def _group_table(groups: Sequence[Row]) -> Iterator[str]:
    """The newest groups, the newest last."""
    shown = groups[-_GROUPS:]
    if len(shown) < len(groups):
        yield f"({len(groups) - len(shown):,} older groups are not shown; --json has the messages of all)"
    rows = [
        (
            row.id.partition(":")[2],
            row.kind,
            tokens(row.tokens, estimated=True),
            "sent" if row.selected else "left out",
            row.reason,
        )
        for row in shown
    ]
    yield from table(("messages", "kind", "tokens", "", "reason"), rows, right=(2,))


def _plan_batch(source: str, planner: Planner) -> None:
    """The very bytes of requests go out, unless somebody looks at them on a terminal."""
    from .plan_batch import answer_line

    readable = is_terminal(sys.stdout)
    for line in lines_of_input(source):
        answer = answer_line(line, planner)
        click.echo(safe_json(answer.decode("utf-8", "replace")) if readable else answer)
