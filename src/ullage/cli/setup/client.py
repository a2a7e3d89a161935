"""What there is to know of a client: which keys of which of its files point it at a gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from ullage.core.errors import CallError
from ullage.settings import DEFAULT_UPSTREAMS, Loaded, environment, is_loopback, resolve_upstreams
from ullage.settings.upstreams import without_version

from .formats import Format, Key, UnfitError, Value, shown

Status = Literal["set", "partly", "other", "unset", "unreadable"]


class Place(Struct, frozen=True, kw_only=True):
    """Where a client runs and what it shall reach: `url` is the gateway's root.

    `public` are the dialects whose requests end up at their provider's public address.
    """

    home: Path
    environ: Mapping[str, str]
    url: str
    public: frozenset[str] = frozenset()

    def folder(self, variable: str, default: str) -> Path:
        """The folder that a variable of the client names, else one below the home folder."""
        named = self.environ.get(variable, "")
        return Path(named).expanduser() if named else self.home / default


def make_place(loaded: Loaded, url: str | None = None) -> Place:
    """Where clients of this user run. `url` stands in for the address in the settings. Raises `CallError`."""
    roots = resolve_upstreams(loaded.settings)
    return Place(
        home=loaded.paths.home,
        environ=environment(),
        url=gateway_root(url) if url is not None else daemon_url(loaded),
        public=frozenset(dialect for dialect, root in roots.items() if root == DEFAULT_UPSTREAMS[dialect]),
    )


def gateway_root(url: str) -> str:
    """An address of this machine, without what follows its root. Raises `CallError` for any other, and does not repeat it: it
    may hold a password."""
    text = url.strip()
    if not _is_ours(text):
        raise CallError(
            "--url must be an address of this machine, where the daemon listens.",
            hint="For example --url http://127.0.0.1:8484.",
            code="bad_address",
        )
    return without_version(text.rstrip("/"))


def _is_ours(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    plain = parts.scheme in ("http", "https") and not any(sign in url for sign in "@?# \t\r\n")
    return plain and is_loopback(host)


def daemon_url(loaded: Loaded) -> str:
    """The daemon's address as the settings have it. Raises `CallError` if its port is picked at each start."""
    server = loaded.settings.server
    if server.port == 0:
        raise CallError("server.port is 0, so the daemon's address is not known.", hint="Give it with --url.")
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}"


class Change(Struct, frozen=True, kw_only=True):
    """One key and the value it gets. With `optional` a value that is there already stays, whatever it is."""

    key: Key
    value: Value
    optional: bool = False


class Edit(Struct, frozen=True, kw_only=True):
    """The changes of one file."""

    file: Path
    format: Format
    changes: tuple[Change, ...]

    def snippet(self) -> str:
        """The file as it would be if there were nothing else in it."""
        text = ""
        for change in self.changes:
            text = self.format.put(text, change.key, self.format.quote(change.value))
        return text.rstrip("\n")


class Client(Struct, frozen=True, kw_only=True):
    """A client that can be pointed at a gateway.

    `program` is its name on PATH, `once` the command line that points it there for one run only, `notes` are what the user
    should know before: whose login goes on working, what the setting does not reach.
    """

    name: str
    title: str
    program: str
    edits: Callable[[Place], tuple[Edit, ...]]
    once: Callable[[Place], str]
    notes: tuple[str, ...] = ()


def read_text(file: Path) -> str:
    """A file's text; empty if there is no file. Raises `UnfitError`."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UnfitError("is not UTF-8 text") from error
    except OSError as error:
        raise UnfitError(f"cannot be read: {error.strerror or error}") from error


def current_value(edit: Edit, text: str, change: Change) -> Any:
    """The value that a change's key has now; `None` without one."""
    source = edit.format.find(text, change.key)
    return None if source is None else edit.format.value(source)


def status_of(client: Client, place: Place) -> tuple[Status, list[str]]:
    """How far a client's files point at the gateway, and the other values they hold in its place."""
    matches: list[bool] = []
    others: list[str] = []
    try:
        for edit in client.edits(place):
            text = read_text(edit.file)
            for change in edit.changes:
                value = current_value(edit, text, change)
                if not change.optional:
                    matches.append(value == change.value)
                    others += [shown(value)] if value not in (None, change.value) else []
    except UnfitError as error:
        return "unreadable", [str(error)]
    if all(matches):
        return "set", []
    if others:
        return "other", others
    return ("partly" if any(matches) else "unset"), []
