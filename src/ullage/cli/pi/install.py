"""`ullage pi install`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ullage.cli.records import json_option, print_lines

if TYPE_CHECKING:
    from ullage.settings import Loaded

    from .place import Place

scope_option = click.option(
    "--project", "in_project", is_flag=True, help="For the project in this folder (`.pi/`), not for all of them."
)
host_option = click.option(
    "--host",
    type=click.Choice(["pi", "omp"]),
    default="pi",
    help="Pi, or Oh My Pi (`omp`), whose folders are `~/.omp/agent` and `.omp/`.",
)


@click.command()
@scope_option
@host_option
@json_option
def command(in_project: bool, host: str, as_json: bool) -> None:
    """Put the extension where Pi finds it.

    It goes to `extensions/ullage` of Pi's own folder (`~/.pi/agent`, or what `PI_CODING_AGENT_DIR` names). What stood there
    and is not ours is kept. Run it again after an update: an extension that does not fit the daemon says so. If you have no
    settings of ours yet, those of pi-contextimate, DS4 and Pi Auto Model are taken over.
    """
    from ullage.cli.output import print_json
    from ullage.core.terminal import safe
    from ullage.settings import load_settings

    from .place import HOSTS, find_foreign, find_place, install

    loaded = load_settings()
    place = find_place(loaded, "project" if in_project else "user", host)
    record, is_new, kept = install(place, loaded)
    foreign = find_foreign(place)
    if as_json:
        print_json({"folder": place.folder, "version": record.version, "changed": is_new, "beside": foreign})
        return
    lines = [f"{'Installed' if is_new else 'In place already'}: {place.folder}"]
    if kept is not None:
        lines.append(f"What stood there is in {kept}")
    lines += [f"Warning: {name} is installed, too, and does the same work: remove one of them." for name in foreign]
    if host == "pi":
        lines += ["Pi reads it once it trusts the project."] if in_project else _take_over(place, loaded)
    program = HOSTS[host]
    lines.append(f"Start {program.name}{', or type /reload in it' if host == 'pi' else ''}; then {program.command}.")
    print_lines([safe(line) for line in lines])


def _take_over(place: Place, loaded: Loaded) -> list[str]:
    """Takes settings of the extensions that ours does the work of, where the user has none of ours yet."""
    from ullage.cli import answer

    from .place import find_legacy

    legacy = find_legacy(place)
    if not legacy:
        return []
    named = ", ".join(legacy)
    if loaded.paths.user_file.exists():
        return [f"Settings of other extensions are there ({named}): `ullage config import` shows them in our form."]
    if answer(["config", "import", "--write"]) != 0:
        return [f"Nothing could be taken over from {named}."]
    return [f"Taken over from {named}: {loaded.paths.user_file}. `ullage config show --sources` says what holds."]
