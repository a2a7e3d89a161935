"""`ullage config show`: every setting with the value it has now."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ullage.cli.config.toml_text import field_lines, members, toml_value
from ullage.cli.output import print_json
from ullage.cli.records import table
from ullage.settings import catalog, load_settings, resolve_upstreams

if TYPE_CHECKING:
    from ullage.settings import Loaded, Settings


@click.command()
@click.argument("key", required=False)
@click.option("--defaults", is_flag=True, help="A table: each setting, its default, and where its value comes from.")
@click.option("--sources", is_flag=True, help="Say where each value comes from.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings file in place of the user's.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with sources, problems and paths.")
def command(key: str | None, defaults: bool, sources: bool, config: Path | None, as_json: bool) -> None:
    """Print every setting with its value, or with KEY one setting or section, as a table with its defaults.

    Without KEY and --defaults the output is itself a settings file. Values that cannot be used are named on standard error.
    """
    loaded = load_settings(config=config)
    if as_json:
        print_json(report(loaded))
        return
    tabled = defaults or key is not None
    click.echo("\n".join(default_table(loaded, key)) if tabled else toml_text(loaded, sources=sources))
    for problem in loaded.problems:
        click.echo(f"ullage: {problem}", err=True)


def report(loaded: Loaded) -> dict[str, Any]:
    """The same for programs: settings nested as in a file, everything else by dotted key."""
    settings = msgspec.to_builtins(loaded.settings)
    settings["data_dir"] = str(loaded.paths.data_dir)
    settings["upstreams"] = resolve_upstreams(loaded.settings)
    return {
        "settings": settings,
        "sources": loaded.sources,
        "problems": loaded.problems,
        "paths": msgspec.structs.asdict(loaded.paths),
    }


def values(loaded: Loaded) -> dict[str, Any]:
    """The value in force of each setting by its dotted key, in the order of the catalogue; those without one left out."""
    found = {key: value_at(loaded.settings, key) for key in catalog() if key in loaded.sources}
    found = {key: value for key, value in found.items() if value is not None or key.startswith("upstreams.")}
    found["data_dir"] = str(loaded.paths.data_dir)
    return found | {f"upstreams.{dialect}": root for dialect, root in resolve_upstreams(loaded.settings).items()}


def default_table(loaded: Loaded, key: str | None) -> list[str]:
    """Each setting, or those of one key or section, with its value, its default and its source. Raises `CallError` for a key that
    there is not."""
    from .changing import find_setting

    found = {
        name: value
        for name, value in values(loaded).items()
        if key is None or name == key or name.startswith(f"{key}.")
    }
    if not found:
        assert key is not None, "there are settings"
        found = {find_setting(key).key: value_at(loaded.settings, key)}
    rows = [
        (name, _text(value), _text(catalog()[name].default), str(loaded.sources[name])) for name, value in found.items()
    ]
    return table(("setting", "value", "default", "from"), rows)


def _text(value: Any) -> str:
    return "-" if value is None or value is msgspec.NODEFAULT else toml_value(msgspec.to_builtins(value))


def value_at(settings: Settings, key: str) -> Any:
    """The value of a dotted key; `None` for an upstream that is not set."""
    section, _, name = key.rpartition(".")
    if section == "upstreams":
        return settings.upstreams.get(name)
    return attrgetter(key)(settings)


def toml_text(loaded: Loaded, *, sources: bool) -> str:
    """The values as a settings file; with `sources`, a comment behind each."""
    lines: list[tuple[str, str]] = []
    section = ""
    for key, value in values(loaded).items():
        setting = catalog()[key]
        if setting.section != section:
            section = setting.section
            lines += [("", ""), (f"[{section}]", "")]
        lines.append((f"{setting.name} = {toml_value(value)}", str(loaded.sources[key])))
    lines += table_lines(loaded)
    width = max(len(text) for text, source in lines if source)
    return "\n".join(f"{text:{width}}  # {source}" if sources and source else text for text, source in lines)


def table_lines(loaded: Loaded) -> list[tuple[str, str]]:
    """The members of tables, each behind its header, which has the source."""
    lines: list[tuple[str, str]] = []
    for key, header, member in members(loaded.settings):
        lines += [("", ""), (header, str(loaded.sources.get(key, "")))]
        lines += [(line, "") for line in field_lines(member)]
    return lines
