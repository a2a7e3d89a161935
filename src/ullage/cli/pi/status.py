"""`ullage pi status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ullage.cli.records import json_option, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded

    from .place import Place


@click.command()
@json_option
def command(as_json: bool) -> int:
    """Say where the extension is installed, whether it fits, and whether the daemon runs. Exit status 1: it does not fit."""
    from ullage.cli.output import print_json
    from ullage.core.terminal import safe
    from ullage.settings import load_settings

    loaded = load_settings()
    places = [_look(place) for place in _find_places(loaded)]
    daemon = _find_daemon(loaded)
    fits = all(one["fits"] for one in places if one["installed"])
    if as_json:
        print_json({"places": places, "daemon": daemon})
    else:
        print_lines([safe(line) for line in (*_lines(places), _daemon_line(daemon))])
    return 0 if fits else 1


def _find_places(loaded: Loaded) -> Iterator[Place]:
    """Pi's places, and those of other hosts in which we are."""
    from .place import HOSTS, find_place

    seen = set()
    for host in HOSTS:
        for scope in ("user", "project"):
            place = find_place(loaded, scope, host)
            if place.folder not in seen and (host == "pi" or place.read() is not None):
                yield place
            seen.add(place.folder)


def _look(place: Place) -> dict[str, Any]:
    from .place import find_foreign, our_files

    record = place.read()
    found: dict[str, Any] = {
        "host": place.host,
        "scope": place.scope,
        "folder": place.folder,
        "installed": record is not None,
        "beside": find_foreign(place),
    }
    if record is not None:
        files = our_files()
        there = {name: _read(place, name) for name in files}
        found |= {"version": record.version, "fits": there == files}
    return found


def _read(place: Place, name: str) -> bytes | None:
    try:
        return (place.folder / name).read_bytes()
    except OSError:
        return None


def _find_daemon(loaded: Loaded) -> dict[str, Any]:
    from ullage.pi.address import is_running, read_address

    address = read_address(loaded.paths.data_dir)
    if address is None or not is_running(address):
        return {"running": False}
    return {"running": True, "url": address.url, "version": address.version, "privacy": address.privacy}


def _lines(places: list[dict[str, Any]]) -> list[str]:
    from .place import install_command

    lines = []
    for one in places:
        where = one["scope"] if one["host"] == "pi" else f"{one['host']}, {one['scope']}"
        if not one["installed"]:
            lines.append(f"{where}: not installed ({one['folder']})")
            continue
        again = f"run `{install_command(one['host'])}`"
        fits = "" if one["fits"] else f", which is another one than this ullage's: {again}"
        lines.append(f"{where}: {one['version']} in {one['folder']}{fits}")
        lines += [f"  Warning: {name} does the same work: remove one of them." for name in one["beside"]]
    return lines


def _daemon_line(daemon: dict[str, Any]) -> str:
    if not daemon["running"]:
        return "daemon: not running; Pi starts it, or `ullage serve`"
    return f"daemon: {daemon['version']} at {daemon['url']}{', privacy on' if daemon['privacy'] else ''}"
