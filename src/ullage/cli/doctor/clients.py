"""The clients of this user, and whether they point at the daemon."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from ullage.cli.setup.client import make_place, status_of
from ullage.cli.setup.clients import CLIENTS
from ullage.cli.setup.report import status_line
from ullage.core.errors import CallError

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.cli.setup.client import Status
    from ullage.settings import Loaded


def clients(loaded: Loaded, *, running: bool) -> Iterator[Check]:
    """Each client that is installed or set up, and where it points."""
    try:
        place = make_place(loaded)
    except CallError:
        return  # without a fixed port there is nothing to point at
    for client in CLIENTS.values():
        status, found = status_of(client, place)
        installed = shutil.which(client.program) is not None
        if client.name == "pi" and _has_extension(loaded):
            yield _with_extension(place.url, status)
            continue
        if not installed and status == "unset":
            continue
        doubtful = status in ("partly", "other", "unreadable")
        stranded = status == "set" and not running
        step = "" if status == "set" else f"Run `ullage setup {client.name}`."
        yield Check(
            id="client",
            title="Client",
            status="warn" if doubtful or stranded else "ok",
            detail=status_line(client.title, place.url, status, found) + ("" if installed else " It is not on PATH."),
            next="Run `ullage serve`: without the daemon its requests fail." if stranded else step,
        )


def _has_extension(loaded: Loaded) -> bool:
    """Whether our extension is in Pi, of the user or of the project in this folder."""
    from ullage.cli.pi.place import find_place

    return any(find_place(loaded, scope).read() is not None for scope in ("user", "project"))


def _with_extension(url: str, status: Status) -> Check:
    """Pi sends its requests itself then; what passes the gateway as well is seen twice."""
    twice = status in ("set", "partly")
    more = f" and points at {url} as well: its requests are accounted for twice" if twice else ""
    return Check(
        id="client",
        title="Client",
        status="warn" if twice else "ok",
        detail=f"Pi has the extension{more}.",
        next="Run `ullage setup pi --undo`." if twice else "",
    )
