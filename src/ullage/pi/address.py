"""Where the daemon of a data folder listens, in a file that only its owner can read: the extension looks there.

The file stays when the daemon ends: whether privacy was on decides what the extension does without a daemon.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from ullage._version import __version__
from ullage.stores.files import make_folder

from .asking import PROTOCOL

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger("ullage.pi")


class Address(Struct, frozen=True, kw_only=True):
    """A daemon: its root URL, the file that holds its control token, whether it keeps private things in, its mode."""

    url: str
    token_file: str
    privacy: bool = False
    mode: str = ""
    version: str = __version__
    protocol: int = PROTOCOL
    pid: int = msgspec.field(default_factory=os.getpid)


def address_path(data_dir: Path) -> Path:
    """The file that says it."""
    return data_dir / "daemon.json"


def write_address(data_dir: Path, address: Address) -> None:
    """Says where the daemon is, whole or not at all. Where that cannot be kept, Pi finds no daemon, which the log tells."""
    file = address_path(data_dir)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        make_folder(data_dir)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(msgspec.json.encode(address))
        draft.replace(file)
    except OSError as error:
        _log.warning("Pi will not find this daemon: %s cannot be written (%s).", file, error.strerror or error)
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def read_address(data_dir: Path) -> Address | None:
    """The daemon that listened last; `None` where none is told of."""
    try:
        return msgspec.json.decode(address_path(data_dir).read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None


def is_running(address: Address) -> bool:
    """Whether its process is there. Another program may have its number by now: who must be sure asks the daemon itself."""
    try:
        os.kill(address.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
