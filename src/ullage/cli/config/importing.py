"""`ullage config import`: the files of three extensions of Pi, the inspector, the DS4 context engine and Pi Auto Model, in the
form of our settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ullage.cli.config.ds4_samples import Samples, import_samples, is_database, sample_lines
from ullage.cli.config.learned_files import (
    FOLDER,
    NAMES,
    LearnedFile,
    import_feedback,
    import_quality,
    is_feedback,
    is_quality,
    learned_lines,
    learned_notes,
)
from ullage.cli.config.taken import (
    AUTO_MODEL,
    DS4,
    Taken,
    Written,
    merge_tables,
    toml_text,
    without_privacy,
    write_into,
)
from ullage.cli.output import print_json
from ullage.cli.records import now_ms
from ullage.core.profiles.overrides import ModelOverride
from ullage.core.terminal import safe
from ullage.settings import catalog, environment, load_settings
from ullage.settings.auto_model import NAME as AUTO_MODEL_FILE
from ullage.settings.auto_model import AutoModelFile, find_auto_model_file, is_auto_model, read_auto_model
from ullage.settings.ds4 import DATABASE, METHOD, Ds4File, agent_folder, find_ds4_files, is_ds4, read_ds4
from ullage.settings.ds4_privacy import refuse_privacy
from ullage.settings.inspector import KEYS, InspectorFile, find_inspector_files, merge_inspector_files, read_inspector
from ullage.settings.json_file import JsonFile, read_json
from ullage.settings.privacy import LOCAL_PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ullage.core.privacy import RemoteProvider
    from ullage.settings import Loaded

Found = InspectorFile | Ds4File | AutoModelFile | Samples | LearnedFile | JsonFile
"""What a file turned out to be; a `JsonFile` is one of which nothing can be used."""

KINDS = {
    InspectorFile: "inspector",
    Ds4File: "ds4",
    AutoModelFile: "auto-model",
    Samples: "samples",
    LearnedFile: "learned",
}
_Settings = InspectorFile | Ds4File | AutoModelFile


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--write", is_flag=True, help="Put the settings into the user's settings file; keeps a backup.")
@click.option("--dry-run", is_flag=True, help="Change nothing: say what would be taken over into our database.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, files: tuple[Path, ...], write: bool, dry_run: bool, as_json: bool) -> None:
    """Take over settings of the Pi inspector, of DS4 and of Pi Auto Model.

    Without FILE it reads what these extensions of Pi read, and in their order: pi-contextimate.json in ~/.pi/agent and in .pi
    of the working folder, both under the older name prefix-inspector.json, and the files that PI_CONTEXTIMATE_CONFIG and
    PI_PREFIX_INSPECTOR_CONFIG name; ds4-context.json in Pi's folder and in .pi of the working folder; auto-model.json in Pi's
    folder. It prints the same settings in our form. What has no place in them is named on standard error.

    A FILE is known by its content. Of a database of DS4 (ds4-context/context.db in Pi's folder) the samples of calibration are
    put into our own database, and of Pi Auto Model's feedback.jsonl and quality.json (auto-model in Pi's folder) what it has
    learned; doing it twice changes nothing.

    Exit status 1 if no FILE held anything to take over.
    """
    if write and dry_run:
        raise click.UsageError("--write and --dry-run exclude each other.")
    loaded = load_settings()
    found = read_all([file.absolute() for file in files] or default_files(loaded), loaded, dry_run=dry_run)
    refusal = refuse_policy(found)
    taken = together(found) if refusal is None else without_privacy(together(found))
    readable = any(isinstance(one, _Settings) for one in found)
    written = write_into(loaded.paths.user_file, taken) if write and readable else None
    notes = [
        *notes_of(found, asked=bool(files)),
        *([] if refusal is None else [f"nothing of DS4's privacy is taken over: {refusal}; set [privacy] yourself"]),
        *strangers(taken, found, loaded),
        *unheeded(taken, found, loaded),
        *([] if files else hints(found, loaded)),
    ]
    if as_json:
        print_json(report(found, taken, written, notes))
    else:
        say(found, taken, written, notes, asked=bool(files), dry_run=dry_run)
    learned = any(one.targets for one in found if isinstance(one, Samples | LearnedFile))
    context.exit(1 if files and taken.is_empty and not learned else 0)


def default_files(loaded: Loaded) -> list[Path]:
    environ, home, cwd = environment(), loaded.paths.home, Path.cwd()
    return [
        *find_inspector_files(environ, home=home, cwd=cwd),
        *find_ds4_files(environ, home=home, cwd=cwd),
        find_auto_model_file(environ, home=home),
    ]


def read_all(paths: Iterable[Path], loaded: Loaded, *, dry_run: bool) -> list[Found]:
    """Every file, in order: what a file of DS4 says is heard after the ones before it."""
    found: list[Found] = []
    for path in paths:
        if is_database(path):
            found.append(import_samples(path, loaded, now_ms, dry_run=dry_run))
            continue
        if is_feedback(path):
            found.append(import_feedback(path, loaded, now_ms, dry_run=dry_run))
            continue
        file = read_json(path)
        if file.skipped:
            found.append(file)
        elif is_quality(file):
            found.append(import_quality(file, loaded, now_ms, dry_run=dry_run))
        elif is_auto_model(file):
            found.append(read_auto_model(file))
        elif is_ds4(file) and not KEYS & file.data.keys():
            found.append(read_ds4(file, [one for one in found if isinstance(one, Ds4File)]))
        else:
            found.append(read_inspector(file))
    return found


def together(found: Sequence[Found]) -> Taken:
    """What all files say. Of DS4 a later entry for the same models or provider replaces an earlier one as a whole; prices of Pi
    Auto Model are laid over it.

    Whoever has settings of DS4 goes on to learn as it does.
    """
    values: dict[str, Any] = {}
    overrides: dict[str, ModelOverride] = {}
    remote_providers: dict[str, RemoteProvider] = {}
    inspector: list[InspectorFile] = []
    for one in found:
        if isinstance(one, Ds4File):
            values |= one.values
            overrides |= one.overrides
            remote_providers |= one.remote_providers
        elif isinstance(one, InspectorFile):
            inspector.append(one)
    if values or overrides:
        values |= dict([METHOD])
    programs = [DS4] if values or overrides or remote_providers else []
    routed = [one for one in found if isinstance(one, AutoModelFile)]
    programs += [AUTO_MODEL] if routed else []
    for one in routed:
        values |= one.values
        for key, prices in one.overrides.items():
            overrides[key] = msgspec.convert(
                {**msgspec.to_builtins(overrides.get(key, ModelOverride())), **msgspec.to_builtins(prices)},
                ModelOverride,
            )
    return Taken(
        values=values,
        overrides=overrides,
        routing=merge_tables([one.tables for one in routed]),
        budgets={name: limits for one in routed for name, limits in one.budgets.items()},
        programs=tuple(programs),
        remote_providers=remote_providers,
        heuristics=merge_inspector_files(inspector),
    )


def notes_of(found: list[Found], *, asked: bool) -> list[str]:
    """What was left out. A file that nobody asked for may be missing."""
    notes = [note for one in found if isinstance(one, _Settings) for note in one.notes]
    notes += [note for one in found if isinstance(one, LearnedFile) for note in learned_notes(one)]
    unread = (one for one in found if isinstance(one, JsonFile))
    return [*notes, *(f"{one.path} {one.skipped}" for one in unread if asked or not one.missing)]


def refuse_policy(found: Iterable[Found]) -> str | None:
    """Why nothing is taken over of what DS4's files say of privacy."""
    files = [one for one in found if isinstance(one, Ds4File)]
    return refuse_privacy(files, known_providers() if any(one.remote_providers for one in files) else frozenset())


def strangers(taken: Taken, found: Iterable[Found], loaded: Loaded) -> Iterator[str]:
    """Providers under whose names nothing is found here: Pi calls its providers as the user does, the gateway by their host, or
    by the name that they have in the settings."""
    named = {key.partition("/")[0] for key in taken.overrides if key != "*"}
    named |= {target.provider for one in found if isinstance(one, Samples) for target in one.targets}
    named |= {name for name in taken.values.get(LOCAL_PROVIDERS, ()) if not _names_server(name)}
    voted = (target for one in found if isinstance(one, LearnedFile) for target in one.targets)
    named |= {target.partition("/")[0] for target in (*taken.routing.targets, *voted)}
    for provider in sorted(named - known_providers() - loaded.settings.providers.keys()) if named else ():
        yield f"no provider is called {provider} here; a server of your own goes by host and port, as 127.0.0.1:11434"


def _names_server(name: str) -> bool:
    """Whether a local provider is one that privacy knows by this name, or by a host."""
    return name in catalog()[LOCAL_PROVIDERS].default or bool({".", ":"} & set(name))


def known_providers() -> frozenset[str]:
    from ullage.upstream.client import KNOWN_PROVIDERS  # the client of HTTP behind it costs start-up time

    return KNOWN_PROVIDERS


def unheeded(taken: Taken, found: Iterable[Found], loaded: Loaded) -> Iterator[str]:
    """That limits do not follow the samples which were taken over, as long as another method is set."""
    key, method = METHOD
    if taken.values.get(key, loaded.settings.calibration.method) == method:
        return
    if any(one.targets for one in found if isinstance(one, Samples)):
        yield f'limits follow these samples under {key} = "{method}" only, which is not set'


def hints(found: list[Found], loaded: Loaded) -> list[str]:
    """What should be known of files that were found without being asked for."""
    environ, home = environment(), loaded.paths.home
    project = find_ds4_files(environ, home=home, cwd=Path.cwd())[-1]
    told = [
        f"{project} is of a project; here it is taken over for all of them" for one in found if is_used(one, project)
    ]
    routed = Path.cwd() / ".pi" / AUTO_MODEL_FILE
    if routed.exists():
        told.append(
            f"{routed} is of a project: `ullage config import {routed}` shows what may go into its .ullage.toml"
        )
    database = agent_folder(environ, home) / DATABASE
    if is_database(database):
        told.append(f"{database} may hold samples of calibration; `ullage config import {database}` takes them over")
    learned = [path for name in NAMES if (path := agent_folder(environ, home) / FOLDER / name).exists()]
    told += [f"{path} has what Pi Auto Model learned; `ullage config import {path}` takes it over" for path in learned]
    return told


def is_used(one: Found, path: Path) -> bool:
    return isinstance(one, Ds4File) and one.path == path


def report(found: list[Found], taken: Taken, written: Written | None, notes: list[str]) -> dict[str, Any]:
    return {
        "files": [
            {"file": one.path, "kind": KINDS.get(type(one)), "used": skipped is None, "skipped": skipped}
            for one in found
            for skipped in [one.skipped if isinstance(one, JsonFile) else None]
        ],
        "accounting": taken.heuristics,
        "values": taken.values,
        "overrides": taken.overrides,
        "remote_providers": taken.remote_providers,
        "routing": taken.routing,
        "toml": toml_text(taken),
        "samples": [one for one in found if isinstance(one, Samples)],
        "learned": [one for one in found if isinstance(one, LearnedFile)],
        "notes": notes,
        "written": written,
    }


def say(
    found: list[Found], taken: Taken, written: Written | None, notes: list[str], *, asked: bool, dry_run: bool
) -> None:
    """The settings, or what was written, then samples; notes on standard error."""
    for note in notes:
        click.echo(f"ullage: {safe(note)}", err=True)  # with names that anyone may have written
    if all(isinstance(one, JsonFile) for one in found):
        click.echo("ullage: No file of the inspector, of DS4 or of Pi Auto Model could be read.", err=True)
        for one in found if not asked else []:
            click.echo(f"ullage: looked for {one.path}", err=True)
    text = toml_text(taken)
    if written is not None:
        click.echo("\n".join(written_lines(written)))
    else:
        click.echo(text, nl=False)
    # Behind settings they are comments, so that the output stays a settings file.
    sign = "# " if text and written is None else ""
    for one in found:
        if isinstance(one, Samples):
            click.echo("\n".join(f"{sign}{line}" for line in sample_lines(one, dry_run=dry_run)))
        elif isinstance(one, LearnedFile):
            click.echo("\n".join(f"{sign}{line}" for line in learned_lines(one, dry_run=dry_run)))


def written_lines(written: Written) -> list[str]:
    lines = [f"kept     {name}, which is there already" for name in written.kept]
    lines += [f"left     {name}" for name in written.left_out]
    if written.backup is not None:
        lines.append(f"backup   {written.backup}")
    return [f"written  {written.file}" if written.changed else f"nothing to write into {written.file}", *lines]
