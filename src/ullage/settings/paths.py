"""Where the user's files lie: the XDG folders, the user file and the project file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

USER_FILE = "config.toml"
PROJECT_FILE = ".ullage.toml"


class Paths(Struct, frozen=True, kw_only=True):
    """Every path that settings decide. Files and folders need not exist; `project_file` is there or `None`."""

    home: Path
    config_dir: Path
    data_dir: Path
    cache_dir: Path
    user_file: Path
    project_file: Path | None = None


def find_paths(environ: Mapping[str, str], *, cwd: Path, config: Path | None = None) -> Paths:
    """The default paths; `config` stands in for the user file."""
    home = home_folder(environ)
    config_dir = xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config") / "ullage"
    return Paths(
        home=home,
        config_dir=config_dir,
        data_dir=xdg_folder(environ, "XDG_DATA_HOME", home / ".local" / "share") / "ullage",
        cache_dir=xdg_folder(environ, "XDG_CACHE_HOME", home / ".cache") / "ullage",
        user_file=cwd / config if config is not None else config_dir / USER_FILE,
        project_file=find_project_file(cwd),
    )


def home_folder(environ: Mapping[str, str]) -> Path:
    """The user's home folder. Raises `SettingsError` for an account without one."""
    named = environ.get("HOME", "")
    if named:
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as error:
        raise SettingsError("This account has no home folder.", hint="Set HOME.") from error


def xdg_folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """The folder a variable names. Relative ones are ignored, as the XDG Base Directory Specification asks."""
    folder = Path(environ.get(variable, ""))
    return folder if folder.is_absolute() else default


def find_project_file(start: Path) -> Path | None:
    """The project file of the nearest folder upward from `start`."""
    for folder in (start, *start.parents):
        candidate = folder / PROJECT_FILE
        try:
            if candidate.is_file():
                return candidate
        except OSError:
            continue  # a folder that may not be looked into cannot hold this user's project
    return None


def absolute_folder(text: str, *, home: Path, base: Path) -> Path:
    """A folder as the user wrote it, made absolute: `~` is the home folder, anything relative starts at `base`."""
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    return base / text
