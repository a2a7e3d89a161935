"""One value of a settings file, set by a command: the rest of the file stays as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ullage.cli.config.toml_text import drop_line, set_line, toml_value
from ullage.cli.setup.files import back_up, write_file
from ullage.core.errors import InputError
from ullage.settings.toml_file import LARGEST_FILE_BYTES, TomlError, check_toml, flatten

if TYPE_CHECKING:
    from pathlib import Path


class Set(Struct, frozen=True, kw_only=True):
    """What became of the file; `backup` is of one that was there before. `changed` is false where it said the same already."""

    file: str
    changed: bool
    backup: str | None = None


def set_value(file: Path, key: str, value: Any, *, backup: bool = True) -> Set:
    """Writes one setting into a file, whole or not at all, with a backup unless that is not wanted.

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
        raise _unchangeable(file, section, f"Set {key} = {toml_value(value)} in it by hand.")
    return _replace(file, old, new, backup=backup)


def unset_value(file: Path, key: str) -> Set:
    """Takes one setting out of a file. Raises as `set_value` does."""
    section, _, name = key.rpartition(".")
    old = _read(file)
    before = _parse(file, old)
    if _find(before, key) is None:
        return Set(file=str(file), changed=False)
    new = drop_line(old, section, name)
    if not _differs_alone(before, new, key, None):
        raise _unchangeable(file, section, f"Take {key} out of it by hand.")
    return _replace(file, old, new, backup=False)


def text_with(file: Path, key: str, value: Any) -> str:
    """The text of a file as `set_value` would leave it. Raises `InputError` for one that cannot be read."""
    section, _, name = key.rpartition(".")
    old = _read(file)
    _parse(file, old)
    return set_line(old, section, name, value)


def _replace(file: Path, old: str, new: str, *, backup: bool) -> Set:
    kept = str(back_up(file, old)) if backup and file.exists() else None
    write_file(file, new)
    return Set(file=str(file), changed=True, backup=kept)


def _unchangeable(file: Path, section: str, hint: str) -> InputError:
    where = f"[{section}]" if section else "it"
    return InputError(f"{file} writes {where} in a way that cannot be changed, so it was left as it was.", hint=hint)


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
    """Whether a text says what was said before, but for this key; `None` is a key that is gone."""
    try:
        after = check_toml(new)
    except TomlError:
        return False
    return _without(after, key) == _without(before, key) and _find(after, key) == value


def _without(tree: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    """What is said, but for one key. Tables that hold nothing say nothing."""
    return sorted((name, value) for name, value in flatten(tree) if name != key and value != {})


def _find(tree: dict[str, Any], key: str) -> Any:
    found: Any = tree
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found
