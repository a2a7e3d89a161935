"""The checks, in the order they are told: each looks at one thing and never raises."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ullage._version import __version__
from ullage.core.errors import CallError, StoreError

from .network import Listener, find_listener, no_proxy_covers, reach_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from ullage.core.wire import Dialect
    from ullage.settings import Loaded, ServerSettings

Status = Literal["ok", "warn", "fail"]

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Check(Struct, frozen=True, kw_only=True):
    """What was found of one thing. `next` is what to do about it, or with it."""

    id: str
    title: str
    status: Status
    detail: str
    next: str = ""


def worst(checks: Iterable[Check]) -> Status:
    found = {check.status for check in checks}
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"


def check_all(loaded: Loaded, environ: Mapping[str, str], *, online: bool) -> list[Check]:
    """Every check. With `online` the providers are asked too, which may take seconds."""
    listener = find_daemon(loaded.settings.server)
    return [
        python(),
        packages(),
        settings(loaded),
        *private_files(loaded),
        data_folder(loaded),
        database(loaded),
        daemon(loaded, listener),
        *upstreams(loaded),
        *(reached(loaded) if online else ()),
        *proxy(loaded, environ),
        *clients(loaded, running=listener.kind == "ullage"),
    ]


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
            next="install ullage again, for example with pip install --force-reinstall ullage",
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
        next="ullage config check",
    )


def private_files(loaded: Loaded) -> Iterator[Check]:
    """Files that decide where requests go, or that open the daemon, in other people's reach."""
    for path, mask, right in (
        (loaded.paths.user_file, stat.S_IWGRP | stat.S_IWOTH, "written"),
        (loaded.paths.data_dir / "token", OTHERS, "read"),
    ):
        if mode_of(path) & mask:
            yield Check(
                id="permissions",
                title="Permissions",
                status="warn",
                detail=f"{path} can be {right} by others",
                next=f"chmod {'go-w' if right == 'written' else '600'} {path}",
            )


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
            next="give it to this account, or set data_dir",
        )
    if existing != folder:
        return Check(id="data", title="Data folder", status="ok", detail=f"{folder} is made at the first start")
    if mode_of(folder) & OTHERS:
        return Check(
            id="data",
            title="Data folder",
            status="warn",
            detail=f"{folder} is open to others",
            next=f"chmod 700 {folder}",
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


def find_daemon(server: ServerSettings) -> Listener:
    """Who has the daemon's own address."""
    if server.port == 0:
        return Listener(kind="nobody")
    host = f"[{server.host}]" if ":" in server.host else server.host
    return find_listener(f"http://{host}:{server.port}")


def daemon(loaded: Loaded, listener: Listener) -> Check:
    """Whether the daemon runs, or could."""
    host, port = loaded.settings.server.host, loaded.settings.server.port
    address = f"{host}:{port}"
    match listener.kind:
        case "ullage" if listener.version == __version__:
            return Check(id="daemon", title="Daemon", status="ok", detail=f"running on {address}")
        case "ullage":
            return Check(
                id="daemon",
                title="Daemon",
                status="warn",
                detail=f"version {listener.version} is running on {address}, this is {__version__}",
                next="restart it: stop it and call ullage serve",
            )
        case "other":
            return Check(
                id="daemon",
                title="Daemon",
                status="fail",
                detail=f"another program has {address}",
                next="stop that program, or choose another port with server.port or --port",
            )
        case "nobody":
            detail = f"not running, {address} is free" if port else "not running; it picks a port at each start"
            return Check(id="daemon", title="Daemon", status="ok", detail=detail, next="ullage serve")


def upstreams(loaded: Loaded) -> Iterator[Check]:
    """Where requests go, and what is strange about it."""
    from urllib.parse import urlsplit

    from ullage.settings import is_loopback, resolve_upstreams

    for root, dialects in by_root(resolve_upstreams(loaded.settings)).items():
        title, detail = "Upstream", f"{root} for {', '.join(dialects)}"
        parts = urlsplit(root)
        local = is_loopback(parts.hostname or "")
        if local and (kind := find_listener(root).kind) != "other":
            told = (
                "nobody listens there"
                if kind == "nobody"
                else "that is an ullage itself: requests would go through two, or in a circle"
            )
            yield Check(
                id="upstream",
                title=title,
                status="warn",
                detail=f"{detail}: {told}",
                next="start what should be there, or set upstreams to the provider",
            )
        elif parts.scheme == "http" and not local:
            yield Check(
                id="upstream",
                title=title,
                status="warn",
                detail=f"{detail}: keys and conversations go there unencrypted",
                next="use https",
            )
        else:
            yield Check(id="upstream", title=title, status="ok", detail=detail)


def by_root(roots: Mapping[Dialect, str]) -> dict[str, list[str]]:
    """The dialects that each root serves."""
    found: dict[str, list[str]] = {}
    for dialect, root in roots.items():
        found.setdefault(root, []).append(dialect)
    return found


def reached(loaded: Loaded) -> Iterator[Check]:
    """Whether each provider answers at all; what it answers does not matter."""
    from ullage.settings import resolve_upstreams

    roots = list(by_root(resolve_upstreams(loaded.settings)))
    for root, fault in reach_all(roots, use_proxy=loaded.settings.upstream.use_proxy_environment).items():
        yield Check(
            id="reach",
            title="Reach",
            status="fail" if fault else "ok",
            detail=f"{root}: {fault}" if fault else f"{root} answers",
            next="check the network, the proxy and the address" if fault else "",
        )


def proxy(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[Check]:
    """A proxy that clients would ask for the daemon, too."""
    host = loaded.settings.server.host
    named = [name for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") if environ.get(name)]
    if named and not no_proxy_covers(host, environ):
        yield Check(
            id="proxy",
            title="Proxy",
            status="warn",
            detail=f"{named[0]} is set and NO_PROXY does not name {host}: clients may ask the proxy for the daemon",
            next=f"add {host} to NO_PROXY",
        )


def clients(loaded: Loaded, *, running: bool) -> Iterator[Check]:
    """Each client that is installed or set up, and where it points."""
    from ullage.cli.setup.client import make_place, status_of
    from ullage.cli.setup.clients import CLIENTS
    from ullage.cli.setup.report import status_line

    try:
        place = make_place(loaded)
    except CallError:
        return  # without a fixed port there is nothing to point at
    for client in CLIENTS.values():
        status, found = status_of(client, place)
        installed = shutil.which(client.program) is not None
        if not installed and status == "unset":
            continue
        doubtful = status in ("partly", "other", "unreadable")
        stranded = status == "set" and not running
        step = "" if status == "set" else f"ullage setup {client.name}"
        yield Check(
            id="client",
            title="Client",
            status="warn" if doubtful or stranded else "ok",
            detail=status_line(client.title, place.url, status, found) + ("" if installed else " It is not on PATH."),
            next="ullage serve: without the daemon its requests fail" if stranded else step,
        )
