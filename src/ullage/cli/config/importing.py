"""`ullage config import`: the Pi inspector's files in the form of our settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from ullage.cli.config.toml_text import field_lines, members
from ullage.cli.output import print_json
from ullage.cli.setup.files import back_up, write_file
from ullage.core.errors import InputError
from ullage.core.profiles.heuristics import NO_HEURISTICS, Defaults, Heuristics
from ullage.settings import AccountingSettings, Settings, environment, load_file, load_settings
from ullage.settings.inspector import (
    InspectorFile,
    find_inspector_files,
    merge_inspector_files,
    read_inspector_file,
)
from ullage.settings.toml_file import TomlError, check_toml

if TYPE_CHECKING:
    from ullage.settings import Loaded

HEADING = """\
# Taken over from the Pi inspector. They count with `--estimator inspector-v2`, or always with accounting.estimator set to it.
"""


class Written(Struct, frozen=True, kw_only=True):
    """What `--write` did: the file, its backup if there was one before, and what was not put in because it is there already."""

    file: str
    changed: bool
    backup: str | None = None
    kept: tuple[str, ...] = ()


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Append them to the user's settings file; keeps a backup.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, files: tuple[Path, ...], write: bool, as_json: bool) -> None:
    """Take over the settings of the Pi inspector.

    Without FILE it reads what the inspector reads, and in its order: pi-contextimate.json in ~/.pi/agent and in .pi of the
    working folder, both under the older name prefix-inspector.json, and the files that PI_CONTEXTIMATE_CONFIG and
    PI_PREFIX_INSPECTOR_CONFIG name. It prints the same settings in our form. What has no place in them is named on standard
    error. Exit status 1 if no FILE held anything to take over.
    """
    loaded = load_settings()
    paths = [file.absolute() for file in files] or default_files(loaded)
    read = [read_inspector_file(path) for path in paths]
    used = [file for file in read if not file.skipped]
    heuristics = merge_inspector_files(used)
    written = append(heuristics, loaded) if write and used else None
    text = toml_text(heuristics) if used else ""
    if as_json:
        print_json(report(read, heuristics, text, written, asked=bool(files)))
    else:
        say(read, text, written, asked=bool(files))
    context.exit(1 if files and heuristics == NO_HEURISTICS else 0)


def default_files(loaded: Loaded) -> list[Path]:
    return find_inspector_files(environment(), home=loaded.paths.home, cwd=Path.cwd())


def toml_text(heuristics: Heuristics) -> str:
    """The settings as they stand in a file."""
    parts = [f"[accounting.defaults]\n{lines}"] if (lines := "\n".join(field_lines(heuristics.defaults))) else []
    for _, header, member in members(Settings(accounting=accounting_of(heuristics))):
        parts.append("\n".join([header, *field_lines(member)]))
    return HEADING + "\n" + "\n\n".join(parts) + "\n" if parts else ""


def accounting_of(heuristics: Heuristics) -> AccountingSettings:
    return AccountingSettings(**msgspec.structs.asdict(heuristics))


def append(heuristics: Heuristics, loaded: Loaded) -> Written:
    """Appends what is not there yet to the user's file. Raises `InputError`, with what to paste, if that would break the file."""
    file = loaded.paths.user_file
    fresh, kept = without_known(heuristics, file)
    text = toml_text(fresh)
    if not text:
        return Written(file=str(file), changed=False, kept=kept)
    old = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    new = f"{old.rstrip()}\n\n{text}" if old.strip() else text
    try:
        check_toml(new)
    except TomlError as error:
        raise InputError(
            f"{file} writes these tables in a way that cannot be appended to, so it was left as it is.",
            hint=f"Put this into it by hand:\n{text}",
        ) from error
    backup = str(back_up(file, old)) if file.exists() else None
    write_file(file, new)
    return Written(file=str(file), changed=True, backup=backup, kept=kept)


def without_known(heuristics: Heuristics, file: Path) -> tuple[Heuristics, tuple[str, ...]]:
    """What the user's file does not say yet, and the names of what it says already: nothing there is changed."""
    there = own_accounting(file)
    defaults, kept = heuristics.defaults, []
    if there.defaults != Defaults() and defaults != Defaults():
        kept.append("[accounting.defaults]")
        defaults = Defaults()
    kept += [f"[accounting.profiles.{name}]" for name in heuristics.profiles if name in there.profiles]
    kept += [f"[accounting.tool_shapes.{name}]" for name in heuristics.tool_shapes if name in there.tool_shapes]
    rules = tuple(rule for rule in heuristics.rules if rule not in there.rules)
    kept += ["[[accounting.rules]]"] * (len(heuristics.rules) - len(rules))
    fresh = Heuristics(
        profiles={name: one for name, one in heuristics.profiles.items() if name not in there.profiles},
        tool_shapes={name: one for name, one in heuristics.tool_shapes.items() if name not in there.tool_shapes},
        defaults=defaults,
        rules=rules,
    )
    return fresh, tuple(kept)


def own_accounting(file: Path) -> AccountingSettings:
    """What the user's own file says, without project and environment. Raises `InputError` for one that cannot be read."""
    if not file.exists():
        return AccountingSettings()
    loaded = load_file(file)
    for problem in loaded.problems:
        if problem.code == "unreadable":
            raise InputError(f"{problem.source}: {problem.message}", hint="Mend it first, then try again.")
    return loaded.settings.accounting


def report(
    read: list[InspectorFile], heuristics: Heuristics, text: str, written: Written | None, *, asked: bool
) -> dict[str, Any]:
    return {
        "files": [{"file": str(file.path), "used": not file.skipped, "skipped": file.skipped or None} for file in read],
        "accounting": heuristics,
        "toml": text,
        "notes": notes_of(read, asked=asked),
        "written": written,
    }


def say(read: list[InspectorFile], text: str, written: Written | None, *, asked: bool) -> None:
    """The settings, or what was written; notes on standard error."""
    for note in notes_of(read, asked=asked):
        click.echo(f"ullage: {note}", err=True)
    used = [file for file in read if not file.skipped]
    if not used:
        click.echo("ullage: No file of the inspector could be read.", err=True)
        for file in read if not asked else []:
            click.echo(f"ullage: looked for {file.path}", err=True)
    elif written is None:
        click.echo(text, nl=False)
    else:
        click.echo("\n".join(written_lines(written)))


def written_lines(written: Written) -> list[str]:
    lines = [f"kept     {name}, which is there already" for name in written.kept]
    if written.backup is not None:
        lines.append(f"backup   {written.backup}")
    return [f"written  {written.file}" if written.changed else f"nothing to write into {written.file}", *lines]


def notes_of(read: list[InspectorFile], *, asked: bool) -> list[str]:
    """What was left out. A file that nobody asked for may be missing."""
    skipped = [f"{file.path} {file.skipped}" for file in read if file.skipped and (asked or not file.missing)]
    return [*(note for file in read for note in file.notes), *skipped]
