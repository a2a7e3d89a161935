"""`/context adapter`: what this Pi offers to extensions, and what ullage does with it (planner specification, section 30)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli.records import print_lines, table
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .asked import Asked

_WIDTH = 12
_MEANINGS = {
    "registerVirtualModel": (
        "ullage/auto stands for a model of Pi's",
        "a provider of ours stands in, in the same request",
    ),
    "getSettings": ("quietStartup and thresholds of compaction are heeded", "Pi's defaults are assumed"),
    "scopedModels": ("the choice keeps to Pi's scope", "the choice is among all with credentials"),
    "mode": ("the panel is drawn in the terminal alone", "told by whether there is a screen"),
    "isProjectTrusted": ("whether Pi trusts the folder is known", "it is not asked"),
    "getContextUsage": ("Pi's own count is shown", "ours alone is shown"),
    "convertToLlm": ("messages are read as Pi sends them", "messages of their protocol alone are read"),
    "appendEntry": ("pins stand in the session's file, too", "pins stand in ullage's records alone"),
    "setWidget": ("the panel of the context is drawn", "there is no panel"),
    "setStatus": ("the footer tells of the route", "the footer tells nothing"),
    "buildSessionContext": ("the panel counts what a session holds already", "the panel begins with nothing"),
}
"""Of each optional part: what it serves, and what happens without it."""


def show_adapter(asked: Asked) -> int:
    """Versions and the protocol between Pi and the daemon, then every optional part."""
    print_lines(safe(f"{name:<{_WIDTH}}{text}") for name, text in _facts(asked))
    rows = [_row(name, there) for name, there in asked.host.apis.items()]
    if rows:
        print_lines(["", *table(("optional part", "there", "so"), rows)])
    return 0


def _facts(asked: Asked) -> Iterator[tuple[str, str]]:
    from ullage._version import __version__
    from ullage.pi.address import is_running, read_address
    from ullage.pi.asking import PROTOCOL
    from ullage.settings import load_settings

    host = asked.host
    yield "host", f"Pi {host.version or 'of an unknown version'}{f', {host.mode} mode' if host.mode else ''}"
    yield "ullage", f"{__version__}, protocol {PROTOCOL}"
    address = read_address(load_settings().paths.data_dir)
    if address is None or not is_running(address):
        yield "daemon", "does not run"
    else:
        yield "daemon", f"{address.version}, protocol {address.protocol}, {address.url}"
    if host.trusted is not None:
        yield "project", "trusted by Pi" if host.trusted else "not trusted by Pi"
    yield "session", host.file or "not in a file: pins of it end with Pi"


def _row(name: str, there: bool) -> tuple[str, ...]:
    with_it, without = _MEANINGS.get(name, ("", ""))
    return name, "yes" if there else "no", with_it if there else without
