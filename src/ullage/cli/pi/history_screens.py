"""`/context history …`: what was said before in this project, by the functions of the MCP server's tools."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.cli.awareness_text import counted
from ullage.cli.records import print_lines
from ullage.cli.setup.files import write_file
from ullage.core.errors import CallError
from ullage.core.terminal import safe
from ullage.sources.recall import Passage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.mcp.tools import Tools
    from ullage.settings import Loaded

    from .asked import Asked

_FILE = "history-handles.json"
_KEPT_MS = 600_000
"""How long a result can be read (planner specification, section 18.7)."""


class _Handle(Struct, frozen=True):
    """A passage that was found, without its text, and when that was, epoch milliseconds."""

    passage: Passage
    found_ms: int


def show_status(_: Asked) -> int:
    """What a search goes through."""
    tools, _loaded = _open()
    extent = tools.history.extent()
    print_lines(
        [
            f"sessions    the newest {extent.sessions} of {extent.sessions_in_all} recorded in this project, of all clients",
            f"results     {counted(extent.artifacts, 'kept tool result')}",
            "index       none: the session files themselves are read, from the newest on",
            "retrieved   nothing by itself in this version: requests hold what was said in them, pins and memory",
        ]
    )
    return 0


def show_found(asked: Asked) -> int:
    """The messages that hold a phrase, or all its words, each with a handle to read it by."""
    tools, loaded = _open()
    answer = msgspec.json.decode(tools.history.search(asked.text))
    _keep(loaded, tools.history.handles)
    print_lines(map(safe, _found(answer)))
    return 0


def show_lines(asked: Asked) -> int:
    """Lines of what a search has found in the last ten minutes."""
    handle, *numbers = asked.words
    if not all(number.isdecimal() and 0 < int(number) < 10**9 for number in numbers):
        raise CallError("Lines are numbers from 1 on.", hint="Write /context history read HANDLE [LINE [LINES]].")
    tools, loaded = _open()
    tools.history.recall({name: one.passage for name, one in _read(loaded).items()})
    answer = msgspec.json.decode(tools.history.read(handle, *map(int, numbers)))
    first = answer["first_line"]
    print_lines(
        [
            safe(
                f"{answer['client']}, {answer['role']}, {answer['time'] or 'time unknown'}, session {answer['session']}"
            ),
            *(safe(f"{number:>5}  {line}") for number, line in enumerate(answer["lines"], first)),
            f"{answer['lines_in_all']:,} lines in all",
        ]
    )
    return 0


def _open() -> tuple[Tools, Loaded]:
    from ullage.mcp.opening import open_tools
    from ullage.settings import load_settings

    loaded = load_settings()
    tools = open_tools(
        loaded.settings,
        data_dir=loaded.paths.data_dir,
        home=loaded.paths.home,
        folder=Path.cwd(),
        clock_ms=_now_ms,
    )
    return tools, loaded


def _found(answer: dict[str, Any]) -> Iterator[str]:
    searched = answer["searched"]
    yield f"Searched: {searched['sessions']}, {counted(searched['kept_tool_results'], 'kept tool result')}."
    if searched["unreadable"]:
        yield f"{counted(searched['unreadable'], 'file')} could not be read."
    if not answer["matches"]:
        yield "Nothing was found."
    for one in answer["matches"]:
        yield ""
        if "handle" in one:
            yield f"{one['handle']}  {one['client']}, {one['role']}, {one['time'] or 'time unknown'}"
        else:
            yield f"artifact {one['artifact']}  {one['tool'] or 'unknown tool'}"
        yield from (f"  {line}" for line in one["text"].splitlines())


def _keep(loaded: Loaded, found: dict[str, Passage]) -> None:
    """Notes what was found, for the commands that follow; where that cannot be written, they find nothing."""
    from ullage.mcp.history import HANDLES

    now = _now_ms()
    new = {name: _Handle(msgspec.structs.replace(one, text=""), now) for name, one in found.items()}
    kept = list({**_read(loaded), **new}.items())[-HANDLES:]
    with contextlib.suppress(OSError):
        write_file(loaded.paths.data_dir / _FILE, msgspec.json.encode(dict(kept)).decode())


def _read(loaded: Loaded) -> dict[str, _Handle]:
    """What was found lately."""
    try:
        kept = msgspec.json.decode((loaded.paths.data_dir / _FILE).read_bytes(), type=dict[str, _Handle])
    except (OSError, msgspec.DecodeError):
        return {}
    now = _now_ms()
    return {name: one for name, one in kept.items() if 0 <= now - one.found_ms <= _KEPT_MS}


def _now_ms() -> int:
    return int(time.time() * 1000)
