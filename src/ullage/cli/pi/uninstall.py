"""`ullage pi uninstall`."""

from __future__ import annotations

import click

from ullage.cli.records import json_option, print_lines

from .install import host_option, scope_option


@click.command()
@scope_option
@host_option
@json_option
def command(in_project: bool, host: str, as_json: bool) -> None:
    """Take the extension away again. Pi is left as it was; what was recorded stays with ullage."""
    from ullage.cli.output import print_json
    from ullage.core.terminal import safe
    from ullage.settings import load_settings

    from .place import find_place, uninstall

    place = find_place(load_settings(), "project" if in_project else "user", host)
    done = uninstall(place)
    if as_json:
        print_json({"folder": place.folder, "changed": done != "nothing"})
        return
    lines = [f"{'Nothing was installed' if done == 'nothing' else 'Removed'}: {place.folder}"]
    lines += ["What stood there before is back."] if done == "put back" else []
    print_lines(map(safe, lines))
