"""`ullage sessions`: the sessions that went through the daemon, and the calls of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.core.terminal import safe

from . import records
from .output import print_json
from .records import (
    ago,
    complete_id,
    data_dir_option,
    json_option,
    open_records,
    print_lines,
    shorten_ids,
    table,
    tokens,
)

if TYPE_CHECKING:
    from ullage.stores import CallRecord, EventRecord, Reader, SessionRecord

MOST_SHOWN = 10_000
"""More than anybody reads, and a number that SQLite takes."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(1, MOST_SHOWN),
    default=20,
    show_default=True,
    help="Show at most so many, the newest.",
)


@click.group(invoke_without_command=True)
@json_option
@limit_option
@data_dir_option
@click.pass_context
def command(context: click.Context, as_json: bool, limit: int, data_dir: str | None) -> None:
    """List the sessions seen, or show one.

    A session is named by the client's own id where it sends one; the beginning of an id is enough.
    """
    if context.invoked_subcommand is None:
        print_sessions(as_json, limit, data_dir)


@command.command("list")
@json_option
@limit_option
@data_dir_option
def list_command(as_json: bool, limit: int, data_dir: str | None) -> None:
    """List sessions, newest activity first."""
    print_sessions(as_json, limit, data_dir)


@command.command("show")
@click.argument("session_id", metavar="ID")
@json_option
@limit_option
@data_dir_option
def show_command(session_id: str, as_json: bool, limit: int, data_dir: str | None) -> None:
    """Show one session, its newest calls and what happened in it."""
    store = open_records(data_dir)
    full_id = complete_session(session_id, store)
    session = store.find_session(full_id)
    assert session is not None, "its id was just found"
    calls = store.calls(full_id, limit=limit)
    events = store.events(full_id, limit=limit)
    if as_json:
        from ullage.stores import report_call, report_event, report_session

        print_json(
            {
                **report_session(session),
                "newest_calls": [without_context(report_call(call)) for call in calls],
                "events": [report_event(event) for event in events],
            }
        )
        return
    print_lines([*describe(session), "", *list_calls(calls), *list_events(events)])


def print_sessions(as_json: bool, limit: int, data_dir: str | None) -> None:
    store = open_records(data_dir)
    sessions = store.sessions(limit=limit)
    prompts = {session.id: newest_prompt(store, session.id) for session in sessions}
    if as_json:
        print_json({"sessions": [session_with_prompt(session, *prompts[session.id]) for session in sessions]})
        return
    if not sessions:
        click.echo("No sessions yet. Send a prompt through `ullage serve`; `ullage setup CLIENT` says how.")
        return
    short = shorten_ids(session.id.partition("/")[0] for session in sessions)
    rows = [
        (
            short_name(session.id, short),
            client_of(session),
            session.model or "-",
            str(session.calls),
            prompt_text(*prompts[session.id]),
            ago(session.last_ms, records.now_ms()),
        )
        for session in sessions
    ]
    print_lines(table(("session", "client", "model", "calls", "prompt", "last"), rows, right=(3, 4)))


def short_name(session_id: str, short: dict[str, str]) -> str:
    """The id with its client's part cut; a sub-agent's part behind the slash stays."""
    head, slash, agent = session_id.partition("/")
    return short[head] + slash + agent


def complete_session(name: str, store: Reader) -> str:
    """The id behind a beginning, or behind a name as the list shows it: `3f2a91c0/explorer`."""
    head, slash, agent = name.partition("/")
    if slash:
        head = complete_id(head, "session", store.session_ids)
    return complete_id(head + slash + agent, "session", store.session_ids)


def session_with_prompt(session: SessionRecord, prompt: int | None, estimated: bool) -> dict[str, Any]:
    from ullage.stores import report_session

    kind = None if prompt is None else "estimate" if estimated else "usage"
    return {**report_session(session), "prompt_tokens": prompt, "prompt_kind": kind}


def without_context(call: dict[str, Any]) -> dict[str, Any]:
    """A call for a list of many: its context report is the long part, and `ullage manifest` has it."""
    return {name: value for name, value in call.items() if name != "context"}


def newest_prompt(store: Reader, session_id: str) -> tuple[int | None, bool]:
    """The prompt of the session's newest call of its own conversation, and whether it is an estimate."""
    from ullage.stores.report import prompt_tokens

    for call in store.calls(session_id, limit=20):
        if call.kind in ("conversation", "subagent") and prompt_tokens(call)[0] is not None:
            return prompt_tokens(call)
    return None, True


def prompt_text(prompt: int | None, estimated: bool) -> str:
    return tokens(prompt, estimated=estimated)


def client_of(session: SessionRecord) -> str:
    return f"{session.client} {session.client_version}" if session.client_version else session.client


def describe(session: SessionRecord) -> list[str]:
    now = records.now_ms()
    origin = {"header": "named by x-ullage-session", "client": "named by the client"}
    facts = {
        "session": f"{session.id}  ({origin.get(session.identity, 'found by its messages')})",
        "client": client_of(session),
        "agent": session.agent,
        "parent": session.parent,
        "model": "/".join(part for part in (session.provider, session.model) if part) or None,
        "calls": f"{session.calls}, first {ago(session.started_ms, now)}, last {ago(session.last_ms, now)}",
    }
    return [f"{name:<9}{safe(value)}" for name, value in facts.items() if value]


def list_calls(calls: list[CallRecord]) -> list[str]:
    from ullage.stores.report import prompt_tokens

    if not calls:
        return ["No calls are kept any more."]
    rows = [
        (
            call.id,
            ago(call.created_ms, records.now_ms()),
            call.kind,
            prompt_text(*prompt_tokens(call)),
            tokens((call.usage or {}).get("output")),
            call.outcome if call.outcome != "ok" else call.stop_reason or "ok",
            call.answered_by or call.model or "-",
        )
        for call in calls
    ]
    return table(("call", "when", "kind", "prompt", "output", "end", "model"), rows, right=(3, 4))


def list_events(events: list[EventRecord]) -> list[str]:
    if not events:
        return []
    rows = [
        (
            ago(event.created_ms, records.now_ms()),
            event.kind,
            ", ".join(f"{name} {records.plain(value)}" for name, value in event.details.items()),
        )
        for event in events
    ]
    return ["", *table(("when", "event", "details"), rows)]
