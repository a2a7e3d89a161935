"""Changing one setting in a file: which file, which value, whether it could be used, and what holds then."""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ullage.cli.output import print_json
from ullage.cli.records import print_lines
from ullage.core.errors import CallError, InputError
from ullage.core.terminal import safe

from .toml_text import toml_value
from .writing import set_value, text_with, unset_value

if TYPE_CHECKING:
    from ullage.settings import Loaded, Setting

    from .writing import Set

project_option = click.option("--project", is_flag=True, help="In the project's file .ullage.toml, not in the user's.")

_LIKE = 3


def change(key: str, word: str | None, *, project: bool, as_json: bool) -> None:
    """Sets a key, or with `None` takes it out, and tells what holds. Raises `CallError` for a key that there is not, and for a
    value that could not be used; nothing is written then."""
    from ullage.settings import load_settings

    loaded = load_settings()
    setting = find_setting(key)
    file = project_file(loaded) if project else loaded.paths.user_file
    if word is None:
        written = unset_value(file, key)
    else:
        value = read_value(setting, word)
        _try(file, key, value)
        written = set_value(file, key, value, backup=False)
    after = load_settings()
    if as_json:
        print_json({"key": key, "file": written.file, "changed": written.changed, **_holds(after, setting)})
    else:
        print_lines(map(safe, _tell(after, setting, written, is_set=word is not None, project=project)))


def find_setting(key: str) -> Setting:
    """The setting of a dotted key. Raises `CallError` for one that there is not."""
    from ullage.settings import TABLES, catalog

    if key in catalog():
        return catalog()[key]
    if any(key == table or key.startswith((f"{table}.", f"{table}[")) for table in TABLES):
        raise CallError(
            f"{key[:80]} stands in a table with names of your own, which is written in the file.",
            hint="`ullage config schema` says what it may hold.",
            code="unknown_key",
        )
    like = difflib.get_close_matches(key, catalog(), n=_LIKE)
    hint = f"Did you mean {' or '.join(like)}?" if like else "`ullage config show` prints every setting."
    raise CallError(f"There is no setting {key[:80]!r}.", hint=hint, code="unknown_key")


def read_value(setting: Setting, word: str) -> Any:
    """A value as it is written in TOML, or a bare word, as the setting wants it. Raises `CallError`."""
    from ullage.settings.catalog import convert

    try:
        found: Any = tomllib.loads(f"value = {word}")["value"]
        lenient = False
    except (tomllib.TOMLDecodeError, KeyError, RecursionError):
        found, lenient = word, True
    if not isinstance(found, str | bool | int | float | list):
        found, lenient = word, True
    try:
        return msgspec.json.decode(msgspec.json.encode(convert(setting, found, lenient=lenient)))
    except ValueError as error:
        raise CallError(f"{error} Nothing was written.", code="bad_value") from error


def project_file(loaded: Loaded) -> Path:
    """The settings file of the project in this folder, which need not be there. Raises `CallError` where there is no project."""
    from ullage.settings.paths import PROJECT_FILE
    from ullage.stores import root_finder

    if loaded.paths.project_file is not None:
        return loaded.paths.project_file
    root = root_finder("project")(str(Path.cwd()))
    if root is None:
        raise CallError("This folder is no project.", hint="Go to one, or set it for yourself.", code="no_project")
    return Path(root) / PROJECT_FILE


def _try(file: Path, key: str, value: Any) -> None:
    from ullage.settings import try_text

    for problem in try_text(file, text_with(file, key, value)):
        if problem.key == key:
            raise InputError(f"{problem.message} Nothing was written.", hint=problem.hint, code=problem.code)


def _holds(loaded: Loaded, setting: Setting) -> dict[str, Any]:
    from .show import value_at

    return {
        "value": value_at(loaded.settings, setting.key),
        "source": loaded.sources.get(setting.key),
        "default": None if setting.default is msgspec.NODEFAULT else setting.default,
    }


def _tell(loaded: Loaded, setting: Setting, written: Set, *, is_set: bool, project: bool) -> list[str]:
    from ullage.pi.address import is_running, read_address

    done = f"Written to {written.file}." if is_set else f"Taken out of {written.file}."
    same = f"It stands in {written.file} already." if is_set else f"It does not stand in {written.file}."
    holds = _holds(loaded, setting)
    value = "none" if holds["value"] is None else toml_value(holds["value"])
    lines = [done if written.changed else same, f"{setting.key} is {value} here ({holds['source']})."]
    address = read_address(loaded.paths.data_dir)
    if written.changed and address is not None and is_running(address):
        lines.append(
            "A daemon that is started in this folder goes by it; that of Pi goes by your own settings (in Pi: --global)."
            if project
            else f"The daemon that runs (process {address.pid}) goes by it once it was started again."
        )
    return lines
