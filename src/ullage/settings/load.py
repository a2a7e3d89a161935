"""Default, user file, project file, environment, flags: five layers resolved to one value per setting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, convert
from msgspec.structs import replace

from ullage.core.errors import SettingsError

from .catalog import UPSTREAMS, catalog
from .judge import judge
from .layers import Layer, read_environment, read_file, read_flags, read_text
from .paths import PROJECT_FILE, Paths, find_paths, home_folder
from .project_limits import keep_to_models, keep_to_pool
from .provenance import Choice, Problem, Source
from .records import Settings
from .tables import missing_pools, missing_profiles, place, renumbered
from .upstreams import SHORT_NAMES, is_own_address, provider_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT = Source(kind="default")


class Loaded(Struct, frozen=True, kw_only=True):
    """Settings with the source of each (by dotted key, upstreams by dialect, a member of a table by table and name), and
    everything that could not be used."""

    settings: Settings
    sources: dict[str, Source]
    problems: tuple[Problem, ...]
    paths: Paths

    @property
    def blocking(self) -> tuple[Problem, ...]:
        """The problems that a daemon must not start with."""
        return tuple(problem for problem in self.problems if problem.blocking)

    def require_usable(self) -> None:
        """Raises `SettingsError` with the first blocking problem."""
        for problem in self.blocking:
            raise SettingsError(f"{problem.source}: {problem.message}", hint=problem.hint)


def load_settings(
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    config: Path | None = None,
) -> Loaded:
    """All settings of this user in this folder. `flags` are dotted keys to values, `None` for a flag that was not given.

    Nothing but a flag can make it fail: a bad or unknown key is left out alone and told in `problems`, and so are the keys that
    break a rule between them. Raises `SettingsError` for a wrong flag, for a `config` file that is not there and for an account
    without a home folder.
    """
    environ = environment() if environ is None else environ
    cwd = current_folder(environ) if cwd is None else cwd
    paths = find_paths(environ, cwd=cwd, config=config)
    layers = [read_file(paths.user_file, "user", required=config is not None)]
    if paths.project_file is not None:
        layers.append(read_file(paths.project_file, "project"))
    layers += [read_environment(environ, cwd), read_flags(flags or {}, cwd)]
    return resolve(layers, paths)


def try_text(path: Path, text: str, *, environ: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What would be wrong with this text in a settings file, where everything else stays: the user's, else the project's."""
    environ = environment() if environ is None else environ
    paths = find_paths(environ, cwd=path.parent)
    user = path == paths.user_file
    layers = [
        read_text(text, path, "user") if user else read_file(paths.user_file, "user"),
        *(() if user else (read_text(text, path, "project"),)),
    ]
    return tuple(one for one in resolve(layers, paths).problems if one.source.file == str(path))


def check_file(path: Path, *, environ: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What is wrong with one settings file, judged by itself."""
    return load_file(path, environ=environ).problems


def load_file(path: Path, *, environ: Mapping[str, str] | None = None, required: bool = True) -> Loaded:
    """One settings file by itself, as a project file if it is named so. Raises `SettingsError` if a required one is not there."""
    paths = find_paths(environment() if environ is None else environ, cwd=path.parent)
    layer = read_file(path, "project" if path.name == PROJECT_FILE else "user", required=required)
    return resolve([layer], paths)


def environment() -> dict[str, str]:
    """The process's environment as it is now. The only place that reads it."""
    return dict(os.environ)


def current_folder(environ: Mapping[str, str]) -> Path:
    """The working folder; where it has been deleted, the home folder."""
    try:
        return Path.cwd()
    except OSError:
        return home_folder(environ)


def debug_wanted() -> bool:
    """Whether `ULLAGE_DEBUG` asks for tracebacks."""
    return os.environ.get("ULLAGE_DEBUG", "") not in ("", "0")


def resolve(layers: Iterable[Layer], paths: Paths) -> Loaded:
    """The layers, lowest first, put together. Raises `SettingsError` for a problem of a flag."""
    chosen: dict[str, Choice] = {}
    problems: list[Problem] = []
    for layer in layers:
        accepted, refused = judge(layer, home=paths.home, below=chosen)
        chosen |= accepted | keep_to_models(layer, accepted, chosen)
        problems += (*layer.problems, *refused)
    chosen = renumbered(chosen)
    problems += (*drop_loops(chosen), *missing_profiles(chosen), *missing_pools(chosen))
    chosen |= keep_to_pool(chosen)
    for problem in problems:
        if problem.source.kind == "flag":
            raise SettingsError(problem.message, hint=problem.hint)
    settings = build(chosen)
    return Loaded(
        settings=settings,
        sources={
            key: chosen[key].source if key in chosen else DEFAULT
            for key in (*catalog(), *(key for key in chosen if key not in catalog()))
            if key.removeprefix(f"{UPSTREAMS}.") not in SHORT_NAMES
        },
        problems=tuple(problems),
        paths=replace(paths, data_dir=Path(settings.data_dir)) if settings.data_dir else paths,
    )


def drop_loops(chosen: dict[str, Choice]) -> list[Problem]:
    """Takes out every upstream that is the daemon's own address: its requests would go round for ever."""
    settings = build(chosen)
    looping = {f"{UPSTREAMS}.{name}": url for name, url in settings.upstreams.items() if is_own_address(url, settings)}
    looping |= {
        f"providers.{name}": one.url
        for name, one in settings.providers.items()
        if one.url and is_own_address(provider_root(one.url), settings)
    }
    return [
        Problem(
            code="conflict",
            key=key,
            source=chosen.pop(key).source,
            message=f"{key} is {url}, ullage's own address.",
            hint="An upstream is a provider; `ullage setup` points clients at ullage.",
            blocking=True,
        )
        for key, url in looping.items()
    ]


def build(chosen: Mapping[str, Choice]) -> Settings:
    """The record that holds the chosen values and, for the rest, the defaults."""
    tree: dict[str, Any] = {}
    for key, choice in chosen.items():
        if not place(tree, key, choice.value):
            *sections, name = key.split(".")
            table = tree
            for section in sections:
                table = table.setdefault(section, {})
            table[name] = choice.value
    return convert(tree, Settings)
