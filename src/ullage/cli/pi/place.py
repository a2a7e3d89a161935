"""Where the extension lies: with us, and where Pi finds it; putting it there, and taking it away."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec import Struct

import ullage
from ullage._version import __version__
from ullage.core.errors import CallError, InputError
from ullage.settings import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.settings import Loaded

Scope = Literal["user", "project"]


class Host(NamedTuple):
    """A program that loads the extension: its `name` for people, its `folder` in a home and in a project, and the command that
    our `/context` answers to there."""

    name: str
    folder: str
    command: str


HOSTS = {"pi": Host("Pi", ".pi", "/context"), "omp": Host("Oh My Pi", ".omp", "/ullage")}
"""By the names of their programs. Oh My Pi has a `/context` of its own."""

NAME = "ullage"
RECORD = "install.json"
_KEPT = "extensions.ullage-backup"
_FOREIGN = ("pi-contextimate", "pi-auto-model", "pi-ds4", "ds4")
"""Extensions of which ours does the work as well: two of a kind would both change what is sent."""


_LEGACY = ("pi-contextimate.json", "prefix-inspector.json", "ds4-context.json", "auto-model.json")


class Installed(Struct, kw_only=True):
    """What an installation notes of itself. `command` starts ullage, `address` is the file that says where its daemon is, `again`
    installs anew, `privacy` is whether private things must stay in as long as no daemon has said so, `files` are ours by their
    digests, `made` the folders that were not there before, `backup` what stood in our place."""

    version: str
    protocol: int
    command: list[str]
    address: str
    again: str = ""
    privacy: bool = False
    files: dict[str, str]
    made: list[str] = []
    backup: str | None = None


class Place(NamedTuple):
    """Where a host looks for extensions: `root` is its own folder, of the user or of a project."""

    host: str
    scope: Scope
    root: Path

    @property
    def folder(self) -> Path:
        """The folder of our extension."""
        return self.root / "extensions" / NAME

    def read(self) -> Installed | None:
        """What is installed there; `None` where that is nothing of ours."""
        try:
            return msgspec.json.decode((self.folder / RECORD).read_bytes(), type=Installed)
        except (OSError, msgspec.DecodeError):
            return None


def find_place(loaded: Loaded, scope: Scope, host: str = "pi") -> Place:
    """The place of a scope; the project is the working folder. Both hosts go where `PI_CODING_AGENT_DIR` names."""
    folder = HOSTS[host].folder
    if scope == "project":
        return Place(host, scope, Path.cwd() / folder)
    named = environment().get("PI_CODING_AGENT_DIR", "")
    return Place(host, scope, Path(named).expanduser() if named else loaded.paths.home / folder / "agent")


def install_command(host: str) -> str:
    """What puts the extension in place for a host."""
    return "ullage pi install" if host == "pi" else f"ullage pi install --host {host}"


def our_files() -> dict[str, bytes]:
    """The files of the extension by their names. Raises `InputError` if they are not where they belong."""
    inside = Path(ullage.__file__).parent
    for folder in (inside / "pi" / "extension", inside.parents[1] / "extensions" / "pi"):
        found = {file.name: file.read_bytes() for file in sorted(folder.glob("*")) if file.suffix in (".ts", ".json")}
        if "index.ts" in found:
            return found
    raise InputError("The extension is not part of this installation.", hint="Install ullage again.")


class Installation(NamedTuple):
    """What came of it. `is_new`: it was not there already. `kept` is where that is now which was not as we left it."""

    record: Installed
    is_new: bool
    kept: str | None


def install(place: Place, loaded: Loaded) -> Installation:
    """Puts the extension in place; what stood there and is not as we left it is kept beside. Raises `OSError`."""
    files = our_files()
    before = place.read()
    record = _record(place, loaded, files)
    kept = None
    if before is None:
        record.made = [str(folder) for folder in _missing(place.folder.parent)]
        record.backup = kept = _keep(place)
    else:
        record.made, record.backup = before.made, before.backup
        if not _is_untouched(place, before):
            kept = _keep(place)
        elif before == record:
            return Installation(record, is_new=False, kept=None)
    place.folder.parent.mkdir(parents=True, exist_ok=True)
    # Not where Pi looks for extensions: it must never find half of one.
    draft = Path(tempfile.mkdtemp(dir=place.root, prefix=".ullage-"))
    try:
        for name, content in {**files, RECORD: msgspec.json.format(msgspec.json.encode(record))}.items():
            (draft / name).write_bytes(content)
        draft.chmod(0o755)
        shutil.rmtree(place.folder, ignore_errors=True)
        draft.replace(place.folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return Installation(record, is_new=True, kept=kept)


def uninstall(place: Place) -> Literal["nothing", "removed", "put back"]:
    """Takes the extension away, and puts back what stood in its place.

    Raises `CallError` for a folder that is not ours, or not as we left it.
    """
    record = place.read()
    if record is None:
        if place.folder.exists():
            raise CallError(f"{place.folder} is no extension of ours.", hint="Remove it yourself, if you want it gone.")
        return "nothing"
    if not _is_untouched(place, record):
        raise CallError(
            f"{place.folder} was changed since it was installed.",
            hint=f"Keep what you need of it, run `{install_command(place.host)}`, which keeps a backup, then uninstall.",
        )
    shutil.rmtree(place.folder)
    is_back = record.backup is not None and Path(record.backup).exists()
    if record.backup is not None and is_back:
        Path(record.backup).replace(place.folder)
        with contextlib.suppress(OSError):
            Path(record.backup).parent.rmdir()
    for folder in record.made:
        with contextlib.suppress(OSError):  # somebody has put something there since
            Path(folder).rmdir()
    return "put back" if is_back else "removed"


def find_foreign(place: Place) -> list[str]:
    """The extensions beside ours that do the same work."""
    try:
        text = (place.root / "settings.json").read_text()
    except (OSError, UnicodeDecodeError):
        text = ""
    present = {entry.name for entry in place.folder.parent.glob("*")}
    return [name for name in _FOREIGN if name in present or f"npm:{name}" in text or f"/{name}" in text]


def find_legacy(place: Place) -> list[str]:
    """The settings files of such extensions, by their names."""
    return [name for name in _LEGACY if (place.root / name).is_file()]


def _record(place: Place, loaded: Loaded, files: dict[str, bytes]) -> Installed:
    from ullage.pi.address import address_path
    from ullage.pi.asking import PROTOCOL

    return Installed(
        version=__version__,
        protocol=PROTOCOL,
        command=[sys.executable, "-m", "ullage"],
        address=str(address_path(loaded.paths.data_dir)),
        again=install_command(place.host),
        privacy=loaded.settings.privacy.enabled,
        files={name: _digest(content) for name, content in files.items()},
    )


def _is_untouched(place: Place, record: Installed) -> bool:
    try:
        present = {entry.name for entry in place.folder.iterdir()} - {RECORD}
        return present == set(record.files) and all(
            _digest((place.folder / name).read_bytes()) == digest for name, digest in record.files.items()
        )
    except OSError:
        return False


def _keep(place: Place) -> str | None:
    """Moves what stands in our place out of Pi's sight."""
    if not place.folder.exists():
        return None
    kept = place.root / _KEPT
    kept.mkdir(exist_ok=True)
    backup = next(one for number in count(1) if not (one := kept / f"{NAME}-{number}").exists())
    place.folder.replace(backup)
    return str(backup)


def _missing(folder: Path) -> Iterator[Path]:
    """The folders that are to be made, the innermost first."""
    while not folder.exists():
        yield folder
        folder = folder.parent


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
