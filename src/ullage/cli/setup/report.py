"""What setup tells: for people as a page, for programs as a record."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from .client import status_of

if TYPE_CHECKING:
    from .apply import Step
    from .client import Client, Place, Status


def describe(client: Client, place: Place) -> dict[str, Any]:
    """Everything about one client and one gateway, before anything is done."""
    status, found = status_of(client, place)
    return {
        "client": client.name,
        "title": client.title,
        "url": place.url,
        "status": status,
        "found": found,
        "files": [
            {
                "file": str(edit.file),
                "snippet": edit.snippet(),
                "keys": [
                    {"key": ".".join(change.key), "value": change.value, "optional": change.optional}
                    for change in edit.changes
                ],
            }
            for edit in client.edits(place)
        ],
        "once": client.once(place),
        "notes": client.notes,
    }


def status_line(title: str, url: str, status: Status, found: list[str]) -> str:
    """How things stand, as a sentence."""
    match status:
        case "set":
            return f"{title} points at {url}."
        case "partly":
            return f"{title} points at {url} in part."
        case "other":
            return f"{title} points at {' and '.join(found)}, not at {url}."
        case "unset":
            return f"{title} does not point at {url} yet."
        case "unreadable":
            return f"A settings file of {title} {found[0]}."


def page(client: Client, place: Place) -> str:
    """What to set, and where, for somebody who wants to do it by hand."""
    about = describe(client, place)
    parts = [status_line(client.title, place.url, about["status"], about["found"])]
    for file in about["files"]:
        parts += [f"Put this into {file['file']}:", textwrap.indent(file["snippet"], "  ")]
    if about["once"]:
        parts += ["For one run only:", f"  {about['once']}"]
    call = f"ullage setup {client.name}"
    parts += [f"`{call} --write` does it with a backup, `{call} --undo` takes it back.", notes(client)]
    return "\n\n".join(parts)


def written(client: Client, place: Place, steps: list[Step]) -> str:
    """What `--write` has done."""
    if all(step.action == "kept" for step in steps):
        return f"Nothing to do: {client.title} points at {place.url} already."
    after = f"Start the daemon with `ullage serve`. `ullage setup {client.name} --undo` takes this back."
    return "\n\n".join([step_lines(steps), after, notes(client)])


def undone(client: Client, steps: list[Step]) -> str:
    """What `--undo` has done."""
    return step_lines(steps) if steps else f"Nothing to undo: setup has written nothing for {client.title}."


def step_lines(steps: list[Step]) -> str:
    lines: list[str] = []
    for file in dict.fromkeys(step.file for step in steps):
        lines.append(file)
        lines += [f"  {step_line(step)}" for step in steps if step.file == file]
    return "\n".join(lines)


def step_line(step: Step) -> str:
    match step.action:
        case "set":
            return f"set      {step.key} = {step.value}" + (f" (was {step.before})" if step.before else "")
        case "kept":
            return f"kept     {step.key} = {step.value}"
        case "restored":
            return f"restored {step.key} = {step.value}"
        case "removed":
            return f"removed  {step.key}"
        case "left":
            return f"left     {step.key}, changed since" + (f" to {step.value}" if step.value is not None else "")


def notes(client: Client) -> str:
    return "\n".join(f"- {note}" for note in client.notes)
