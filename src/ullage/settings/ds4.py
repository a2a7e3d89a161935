"""Configuration files of the DS4 context engine, an extension of Pi, read as they are (planner specification, section 2).

DS4 leaves out a whole file for one value out of range. Here what is wrong is left out alone, and named with what DS4 would have
done. What has no place here is named too: "not yet" or "no counterpart".
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.privacy.policy import RemoteProvider
from ullage.core.profiles.overrides import ModelOverride

from .catalog import catalog, convert, encodable, record_settings, shown
from .ds4_keys import KEYS, NO_COUNTERPART, ORDERS, OVERRIDE_FIELDS, OVERRIDES, REMOTE_PROVIDERS
from .overrides import find_key_problem
from .privacy import ALLOWED, SECTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .ds4_keys import Key
    from .json_file import JsonFile

NAME = "ds4-context.json"
DATABASE = "ds4-context/context.db"
"""The shared database of samples, from Pi's folder on."""

METHOD = ("calibration.method", "ratio-v1")
"""Our setting for how DS4 learns, which is not our default. It has no key of DS4's, since it knows one way only."""

_SECTIONS = frozenset(name[:dot] for name in KEYS for dot in range(len(name)) if name[dot] == ".")
_WINDOW, _ANSWER = "contextWindow", "maxOutputTokens"


class Ds4File(Struct, frozen=True, kw_only=True):
    """One file: what it sets, by our keys, by the keys of overrides and by the names of providers, and what of it is not used.

    `privacy_is_whole` says that nothing of what it says of privacy is left out.
    """

    path: Path
    values: dict[str, Any] = {}
    overrides: dict[str, ModelOverride] = {}
    remote_providers: dict[str, RemoteProvider] = {}
    privacy_is_whole: bool = True
    notes: tuple[str, ...] = ()


def agent_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Pi's own folder."""
    named = environ.get("PI_CODING_AGENT_DIR", "")
    return home / named.removeprefix("~/") if named else home / ".pi" / "agent"


def find_ds4_files(environ: Mapping[str, str], *, home: Path, cwd: Path) -> list[Path]:
    """Where DS4 looks, in its order: the user's file, then the project's, which overrides it. None need be there."""
    return [agent_folder(environ, home) / NAME, cwd / ".pi" / NAME]


def is_ds4(file: JsonFile) -> bool:
    """Whether a file is one of DS4, by its sections; by its name where it has none."""
    return bool(_SECTIONS & file.data.keys()) or file.path.name == NAME


def read_ds4(file: JsonFile, earlier: Iterable[Ds4File] = ()) -> Ds4File:
    """One file that has been read, as it is heard after `earlier` ones."""
    reading = _Reading(file.path)
    values = reading.values(file.data, {ours: value for one in earlier for ours, value in one.values.items()})
    overrides, remote_providers = reading.overrides(file.data), reading.remote_providers(file.data)
    return Ds4File(
        path=file.path,
        values=values,
        overrides=overrides,
        remote_providers=remote_providers,
        privacy_is_whole=SECTION not in reading.faulty,
        notes=tuple(reading.notes()),
    )


class _Reading:
    """Reads one file and collects what is wrong with it on the way. `faulty` are the sections of which something is left out."""

    def __init__(self, path: Path) -> None:
        self.faulty: set[str] = set()
        self._path = path
        self._ignored: list[str] = []
        self._violations: list[str] = []
        self._homeless: dict[str, list[str]] = {}

    def values(self, data: dict[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
        """What the file sets, by our keys. `earlier` is what files before it have set."""
        told = {name: value for name, value in self._told(data) if self._is_usable(name, KEYS[name], value)}
        self._drop_disorder(told, earlier)
        found: dict[str, Any] = {}
        for name, value in told.items():
            key = KEYS[name]
            if not key.ours:
                self._note_homeless(name)
            elif (converted := self._converted(name, key, value)) is not None:
                found[key.ours] = converted
        return found

    def overrides(self, data: dict[str, Any]) -> dict[str, ModelOverride]:
        section = data.get("modelAwareness")
        table = section.get("overrides") if isinstance(section, dict) else None
        if not isinstance(table, dict):
            return {}
        entries = ((key, self._override(key, entry)) for key, entry in table.items())
        return {key: entry for key, entry in entries if entry is not None}

    def remote_providers(self, data: dict[str, Any]) -> dict[str, RemoteProvider]:
        section = data.get(SECTION)
        table = section.get(REMOTE_PROVIDERS.partition(".")[2]) if isinstance(section, dict) else None
        found: dict[str, RemoteProvider] = {}
        for name, classes in table.items() if isinstance(table, dict) else ():
            try:
                if not name.strip() or not encodable(name):
                    raise ValueError
                found[name] = msgspec.convert({ALLOWED: classes}, RemoteProvider)
            except ValueError:
                where = f"{REMOTE_PROVIDERS}.{name}"
                self._ignore(
                    where, f"must be a provider with a list of normal, internal, sensitive, not {shown(classes)}"
                )
        return found

    def notes(self) -> Iterator[str]:
        lines = [*self._ignored, *self._violations]
        if self._violations:
            lines.append("DS4 uses nothing of a file with such a fault in it; here the rest of it is taken over")
        for fate, names in self._homeless.items():
            lines.append(f"{fate}: {', '.join(names)}")
        return (f"{self._path}: {line}" for line in lines)

    def _told(self, data: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
        """The values of known keys by their dotted names."""
        for word, value in data.items():
            name = prefix + word
            if name in KEYS:
                if name not in (OVERRIDES, REMOTE_PROVIDERS) or not isinstance(value, dict):
                    yield name, value
            elif name not in _SECTIONS:
                self._ignore(name, "is no key of DS4")
            elif isinstance(value, dict):
                yield from self._told(value, f"{name}.")
            else:
                self._ignore(name, f"must be an object, not {shown(value)}")

    def _is_usable(self, name: str, key: Key, value: Any) -> bool:
        if not key.is_of_kind(value):
            self._ignore(name, f"must be {key.kind}, not {shown(value)}")
        elif not key.lets_in(value):
            self._violations.append(f"{name} must be {key.allowed}, not {shown(value)}")
        else:
            return True
        return False

    def _ignore(self, name: str, why: str) -> None:
        self.faulty.add(name.partition(".")[0])
        self._ignored.append(f"{name} {why}")

    def _drop_disorder(self, told: dict[str, Any], earlier: Mapping[str, Any]) -> None:
        for order in ORDERS:
            values = [told.get(name, earlier.get(KEYS[name].ours, KEYS[name].default)) for name in order.keys]
            if not order.holds(values):
                for name in order.keys:
                    if name in told:
                        self._violations.append(f"{name} is {shown(told.pop(name))}, which breaks {order}")

    def _note_homeless(self, name: str) -> None:
        known = any(f"{name}.".startswith(f"{words}.") for words in NO_COUNTERPART)
        fate = "no counterpart here" if known else "not yet here"
        self._homeless.setdefault(fate, []).append(name)

    def _converted(self, name: str, key: Key, value: Any) -> Any:
        """The value as our setting has it; `None`, and a note, for one that DS4 alone lets in."""
        value = key.values.get(value, value) if key.values else value
        try:
            return convert(catalog()[key.ours], value, lenient=False)
        except ValueError as error:
            self.faulty.add(name.partition(".")[0])
            self._ignored.append(f"{name}: {error}")
            return None

    def _override(self, key: str, entry: Any) -> ModelOverride | None:
        """An entry; `None` for one of which nothing can be used, so that it replaces none."""
        where = f"{OVERRIDES}.{key}"
        if (reason := find_key_problem(key)) is not None:
            self._violations.append(f"the key of {where} {reason}")
            return None
        if not isinstance(entry, dict):
            self._violations.append(f"{where} must be an object, not {shown(entry)}")
            return None
        fields = {name: value for name, value in entry.items() if self._is_field(where, name, value)}
        window, answer = fields.get(_WINDOW), fields.get(_ANSWER)
        if window is not None and answer is not None and answer > window:
            self._violations.append(f"{where}: no answer of {answer:g} tokens fits a window of {window:g}")
            fields = {name: value for name, value in fields.items() if name not in (_WINDOW, _ANSWER)}
        if entry and not fields:
            return None
        return msgspec.convert({OVERRIDE_FIELDS[name]: value for name, value in fields.items()}, ModelOverride)

    def _is_field(self, where: str, name: str, value: Any) -> bool:
        if name not in OVERRIDE_FIELDS:
            self._violations.append(f"{where}.{name} is no field of an override")
            return False
        field = next(one for one in record_settings(ModelOverride) if one.key == OVERRIDE_FIELDS[name])
        try:
            convert(msgspec.structs.replace(field, key=f"{where}.{name}"), value, lenient=False)
        except ValueError as error:
            self._violations.append(str(error).removesuffix("."))
            return False
        return True
