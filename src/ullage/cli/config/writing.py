"""One value of the user's settings file, set by a command: the rest of the file stays as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.cli.config.toml_text import set_line, toml_value
from ullage.cli.setup.files import back_up, write_file
from ullage.core.errors import InputError
from ullage.settings.toml_file import LARGEST_FILE_BYTES, TomlError, check_toml

if TYPE_CHECKING:
    from pathlib import Path


class Set(Struct, frozen=True, kw_only=True):
    """What became of the file; `backup` is of one that was there before. `changed` is false where it said the same already."""

    file: str
    changed: bool
    backup: str | None = None


def set_value(file: Path, key: str, value: Any) -> Set:
    """Writes one setting into a file, whole or not at all, with a backup.

    Raises `InputError` for a file that cannot be read, and for one that writes the section in a way that cannot be changed by
    line; it is left as it is then.
    """
    section, _, name = key.rpartition(".")
    old = _read(file)
    before = _parse(file, old)
    if _find(before, key) == value:
        return Set(file=str(file), changed=False)
    new = set_line(old, section, name, value)
    if not _differs_alone(before, new, key, value):
        raise InputError(
            f"{file} writes [{section}] in a way that cannot be changed, so it was left as it was.",
            hint=f"Set {key} = {toml_value(value)} in it by hand.",
        )
    backup = str(back_up(file, old)) if file.exists() else None
    write_file(file, new)
    return Set(file=str(file), changed=True, backup=backup)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE_BYTES:
            raise _unreadable(file, f"is larger than {LARGEST_FILE_BYTES} bytes")
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _unreadable(file, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _unreadable(file, "is not UTF-8 text") from error


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return check_toml(text)
    except TomlError as error:
        raise _unreadable(file, str(error)) from error


def _unreadable(file: Path, why: str) -> InputError:
    return InputError(f"{file} {why}, so it was left as it was.", hint="Mend it first, then try again.")


def _differs_alone(before: dict[str, Any], new: str, key: str, value: Any) -> bool:
    """Whether a text says what was said before, but for this key."""
    try:
        after = check_toml(new)
    except TomlError:
        return False
    *sections, name = key.split(".")
    table = before
    for section in sections:
        table = table.setdefault(section, {})
    table[name] = value
    return after == before


def _find(tree: dict[str, Any], key: str) -> Any:
    found: Any = tree
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found
