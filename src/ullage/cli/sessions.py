"""`ullage sessions`: the sessions that went through the daemon, and the calls of one."""

from __future__ import annotations

import itertools
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from ullage.core.terminal import safe

from . import records
from .awareness_text import ratio_text
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
    from collections.abc import Iterator

    from ullage.stores import CallRecord, EventRecord, Reader, SessionRecord

_SWITCH = "model_switch"
"""The event of a switch, and the cause of the miss that comes with it: one mark says both."""

MOST_SHOWN = 10_000
"""More than anybody reads, and a number that SQLite takes."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(1, MOST_SHOWN),
    default=20,
    show_default=True,
    help="Show at most so many, the newest.",
)


project_option = click.option("--project", metavar="PATH", help="Show only sessions of projects in this folder.")


@click.group(invoke_without_command=True)
@json_option
@limit_option
@project_option
@data_dir_option
@click.pass_context
def command(context: click.Context, as_json: bool, limit: int, project: str | None, data_dir: str | None) -> None:
    """List the sessions seen, or show one.

    A session is named by the client's own id where it sends one; the beginning of an id is enough.
    """
    if context.invoked_subcommand is None:
        print_sessions(as_json, limit, project, data_dir)


@command.command("list")
@json_option
@limit_option
@project_option
@data_dir_option
def list_command(as_json: bool, limit: int, project: str | None, data_dir: str | None) -> None:
    """List sessions, newest activity first."""
    print_sessions(as_json, limit, project, data_dir)


@command.command("show")
@click.argument("session_id", metavar="ID")
@json_option
@limit_option
@data_dir_option
def show_command(session_id: str, as_json: bool, limit: int, data_dir: str | None) -> None:
    """Show one session, its newest calls and what happened in it.

    Of each call: our estimate of its prompt, what was expected from the calls before, what the provider reported, the ratio of
    that to the planner's raw estimate, and how much of it was read from cache.
    """
    store = open_records(data_dir)
    full_id = complete_session(session_id, store)
    session = store.find_session(full_id)
    assert session is not None, "its id was just found"
    calls = store.calls(full_id, limit=limit)
    happened = store.events(full_id, limit=MOST_SHOWN)
    events = happened[:limit]
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
    print_lines([*describe(session), "", *list_calls(calls, session, happened), *list_events(events)])


def print_sessions(as_json: bool, limit: int, project: str | None, data_dir: str | None) -> None:
    store = open_records(data_dir)
    sessions = store.sessions(limit=limit) if project is None else sessions_of(Path(project), store, limit)
    prompts = {session.id: newest_prompt(store, session.id) for session in sessions}
    if as_json:
        print_json({"sessions": [session_with_prompt(session, *prompts[session.id]) for session in sessions]})
        return
    if not sessions:
        click.echo(
            "No sessions yet. Send a prompt through `ullage serve`; `ullage setup CLIENT` says how."
            if project is None
            else f"No session of a project in {safe(project)}."
        )
        return
    short = shorten_ids(session.id.partition("/")[0] for session in sessions)
    heads = ["session", "client", "model", "calls", "prompt", "last"]
    rows = [
        [
            short_name(session.id, short),
            client_of(session),
            session.model or "-",
            str(session.calls),
            prompt_text(*prompts[session.id]),
            ago(session.last_ms, records.now_ms()),
        ]
        for session in sessions
    ]
    if any(session.project for session in sessions):
        heads.append("project")
        for row, session in zip(rows, sessions, strict=True):
            row.append(PurePath(session.project).name if session.project else "-")
    print_lines(table(heads, rows, right=(3, 4)))


def sessions_of(folder: Path, store: Reader, limit: int) -> list[SessionRecord]:
    """The newest sessions whose project is this folder or lies in it. A link names the folder as well as its own path."""
    folders = {folder.absolute(), folder.resolve()}
    found = (
        session
        for session in store.sessions(limit=MOST_SHOWN)
        if session.project is not None and any(PurePath(session.project).is_relative_to(one) for one in folders)
    )
    return list(itertools.islice(found, limit))


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
        "project": session.project,
        "model": "/".join(part for part in (session.provider, session.model) if part) or None,
        "calls": f"{session.calls}, first {ago(session.started_ms, now)}, last {ago(session.last_ms, now)}",
    }
    if len(session.targets) > 1:
        facts["targets"] = ", ".join(session.targets)
    return [f"{name:<9}{safe(value)}" for name, value in facts.items() if value]


def list_calls(calls: list[CallRecord], session: SessionRecord, events: list[EventRecord]) -> list[str]:
    if not calls:
        return ["No calls are kept any more."]
    happened = {call.id: [event.kind for event in events if event.call == call.id] for call in calls}
    rows = [
        (
            call.id,
            ago(call.created_ms, records.now_ms()),
            tokens(call.estimated_input_tokens, estimated=True) if call.estimated_input_tokens is not None else "-",
            tokens(call.expected["tokens"], estimated=True) if call.expected is not None else "-",
            tokens(reported_prompt(call)),
            ratio_text((call.sample or {}).get("ratio")),
            cached_text(call),
            tokens((call.usage or {}).get("output")),
            call.outcome if call.outcome != "ok" else call.stop_reason or "ok",
            ", ".join(marks(call, session, happened[call.id])),
        )
        for call in calls
    ]
    heads = ("call", "when", "estimate", "expected", "prompt", "ratio", "cached", "output", "end", "marks")
    return table(heads, rows, right=(2, 3, 4, 5, 6, 7))


def reported_prompt(call: CallRecord) -> int | None:
    """The prompt as the provider counted it."""
    from ullage.stores.report import prompt_tokens

    prompt, estimated = prompt_tokens(call)
    return None if estimated else prompt


def cached_text(call: CallRecord) -> str:
    """The share of the prompt that was read from cache; a dash where the provider reports none."""
    prompt, read = reported_prompt(call), (call.usage or {}).get("cache_read")
    return f"{read / prompt:.0%}" if prompt and read is not None else "-"


def marks(call: CallRecord, session: SessionRecord, happened: list[str]) -> Iterator[str]:
    """What sets the call apart from the one before: a helper request, another model, a switch, a miss, a rewritten history."""
    if call.kind != "conversation":
        yield call.kind
    if call.model != session.model and call.model is not None:
        yield call.model
    if ((call.awareness or {}).get("switch") or {}).get("switched"):
        yield _SWITCH
    miss = (call.cache or {}).get("miss")
    if miss is not None and miss["cause"] != _SWITCH:
        yield f"cache miss: {miss['cause']}"
    yield from (kind for kind in happened if kind not in (_SWITCH, "cache_miss"))


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
