"""What lies on this machine: packages, settings, files, the database."""

from __future__ import annotations

import os
import platform
import stat
from typing import TYPE_CHECKING

from ullage._version import __version__
from ullage.core.errors import StoreError

from .check import Check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.settings import Loaded

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def python() -> Check:
    detail = (
        f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})"
    )
    return Check(id="python", title="Python", status="ok", detail=detail)


def packages() -> Check:
    """Whether everything that ullage asks for is installed."""
    from importlib import metadata

    found: list[str] = []
    missing: list[str] = []
    for name in required_packages():
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check(
            id="packages",
            title="Packages",
            status="fail",
            detail=f"missing: {', '.join(missing)}",
            next="Install ullage again, for example with `pip install --force-reinstall ullage`.",
        )
    return Check(id="packages", title="Packages", status="ok", detail=", ".join([f"ullage {__version__}", *found]))


def required_packages() -> list[str]:
    """The names of the packages that this installation asks for on this platform."""
    import re
    from importlib import metadata

    try:
        requirements = metadata.requires("ullage") or []
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return []
    names: list[str] = []
    for requirement in requirements:
        wanted, _, marker = requirement.partition(";")
        if "extra" in marker or ("win32" in marker and platform.system() == "Windows"):
            continue
        names.append(re.split(r"[^\w.-]", wanted.strip(), maxsplit=1)[0])
    return names


def settings(loaded: Loaded) -> Check:
    if not loaded.problems:
        file = loaded.paths.user_file
        detail = str(file) if exists(file) else f"all at their defaults ({file} is not there)"
        return Check(id="settings", title="Settings", status="ok", detail=detail)
    first = (loaded.blocking or loaded.problems)[0]
    more = f", and {len(loaded.problems) - 1} more" if len(loaded.problems) > 1 else ""
    return Check(
        id="settings",
        title="Settings",
        status="fail" if loaded.blocking else "warn",
        detail=f"{first}{more}",
        next="Run `ullage config check`.",
    )


def settings_file(loaded: Loaded) -> Iterator[Check]:
    """The file that decides where requests go, in other people's reach."""
    file = loaded.paths.user_file
    if mode_of(file) & (stat.S_IWGRP | stat.S_IWOTH):
        yield Check(
            id="permissions",
            title="Permissions",
            status="warn",
            detail=f"{file} can be written by others",
            next=f"Run `chmod go-w {file}`.",
        )


def token(loaded: Loaded) -> Check:
    """The token that opens the daemon's control routes: where it is, and whether it is the user's alone."""
    from ullage.gateway.token import is_token, token_path

    file = token_path(loaded.paths.data_dir)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        detail = f"{file} is made at the first start"
        return Check(id="token", title="Control token", status="ok", detail=detail)
    except OSError as error:
        return _bad_token(f"{file} cannot be read: {error.strerror or error}", f"Make {file} yours to read.")
    if mode_of(file) & OTHERS:
        return _bad_token(f"{file} can be read by others", f"Run `chmod 600 {file}`.")
    if not is_token(content):
        return _bad_token(f"{file} holds none", "Restart `ullage serve`: it makes a new one.")
    return Check(id="token", title="Control token", status="ok", detail=f"{file}, for /ullage/v1 as a bearer token")


def _bad_token(detail: str, step: str) -> Check:
    return Check(id="token", title="Control token", status="warn", detail=detail, next=step)


def mode_of(path: Path) -> int:
    """The permission bits of a file; none where there is no file."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def exists(path: Path) -> bool:
    """Whether this account can see a path."""
    try:
        return path.exists()
    except OSError:
        return False


def data_folder(loaded: Loaded) -> Check:
    folder = loaded.paths.data_dir
    existing = next((place for place in (folder, *folder.parents) if exists(place)), folder)
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return Check(
            id="data",
            title="Data folder",
            status="fail",
            detail=f"{existing} cannot be written",
            next="Give it to this account, or set data_dir.",
        )
    if existing != folder:
        return Check(id="data", title="Data folder", status="ok", detail=f"{folder} is made at the first start")
    if mode_of(folder) & OTHERS:
        return Check(
            id="data",
            title="Data folder",
            status="warn",
            detail=f"{folder} is open to others",
            next=f"Run `chmod 700 {folder}`.",
        )
    return Check(id="data", title="Data folder", status="ok", detail=str(folder))


def database(loaded: Loaded) -> Check:
    """Whether the records of earlier runs can be read."""
    from ullage.stores import open_reader

    try:
        reader = open_reader(loaded.settings.store.url, loaded.paths.data_dir)
        try:
            sessions = len(reader.sessions(limit=1000))
        finally:
            reader.close()
    except StoreError as error:
        quiet = error.code in ("no_database", "no_reader")
        return Check(
            id="database",
            title="Database",
            status="ok" if quiet else "fail",
            detail=error.message,
            next="" if quiet else error.hint,
        )
    number = f"{sessions} session{'' if sessions == 1 else 's'}" if sessions < 1000 else "1000 sessions or more"
    return Check(id="database", title="Database", status="ok", detail=f"readable, {number}")


def catalogues(loaded: Loaded) -> Check:
    """How fresh the copies are that windows and prices are read from. An old one is no fault: it says so wherever it is used."""
    from ullage.catalogs import open_catalogs

    catalogs = open_catalogs(loaded.paths.cache_dir, refresh=loaded.settings.models.refresh)
    age_ms = catalogs.age_ms()
    told = list(catalogs.problems())
    if age_ms is not None:
        told.insert(0, f"LiteLLM's was checked {age_ms // 3_600_000} h ago.")
    renewed = "`ullage serve` renews them in the background." if told else ""
    return Check(id="catalogues", title="Catalogues", status="ok", detail=" ".join(told) or "none", next=renewed)
