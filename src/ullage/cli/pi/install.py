"""`ullage pi install`."""

from __future__ import annotations

import click

from ullage.cli.records import json_option, print_lines

scope_option = click.option(
    "--project", "in_project", is_flag=True, help="For the project in this folder (`.pi/`), not for all of them."
)


@click.command()
@scope_option
@json_option
def command(in_project: bool, as_json: bool) -> None:
    """Put the extension where Pi finds it.

    It goes to `extensions/ullage` of Pi's own folder (`~/.pi/agent`, or what `PI_CODING_AGENT_DIR` names). What stood there
    and is not ours is kept. Run it again after an update: an extension that does not fit the daemon says so.
    """
    from ullage.cli.output import print_json
    from ullage.core.terminal import safe
    from ullage.settings import load_settings

    from .place import find_foreign, find_place, install

    loaded = load_settings()
    place = find_place(loaded, "project" if in_project else "user")
    record, is_new = install(place, loaded)
    foreign = find_foreign(place)
    if as_json:
        print_json({"folder": place.folder, "version": record.version, "changed": is_new, "beside": foreign})
        return
    lines = [f"{'Installed' if is_new else 'In place already'}: {place.folder}"]
    if is_new and record.backup is not None:
        lines.append(f"What stood there is in {record.backup}")
    lines += [f"Warning: {name} is installed, too, and does the same work: remove one of them." for name in foreign]
    if in_project:
        lines.append("Pi reads it once it trusts the project.")
    lines.append("Start Pi, or type /reload in it; then /context.")
    print_lines([safe(line) for line in lines])
