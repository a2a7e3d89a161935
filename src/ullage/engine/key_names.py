"""Whose keys a daemon has, by the names of their variables, kept for commands in a shell that has others.

Never a key itself. A command that steers a daemon's routes chooses among those whom the daemon can reach.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from ullage.settings.credentials import KEY_VARIABLES
from ullage.stores import RouteOverride

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage.settings import Settings
    from ullage.settings.providers import Provider
    from ullage.stores import Reader, Store

_KEPT_UNDER = ("ullage:keys", "variables")
"""Session and key of the row. No session of a client has that name."""
_STAND_IN = "a-key-that-the-daemon-has"


def keep_key_names(store: Store, providers: Iterable[Provider], now_ms: int) -> None:
    """Keeps which variables hold keys of the providers that this daemon may ask."""
    names = {one.credential.variable for one in providers if one.credential is not None}
    session, key = _KEPT_UNDER
    value = sorted(name for name in names if ":" not in name)  # what is in a keyring, a command finds there by itself
    store.put_route_override(RouteOverride(session=session, key=key, value=value, at_ms=now_ms))


def recall_key_names(store: Reader) -> frozenset[str] | None:
    """The variables that the newest daemon had keys in; `None` where none has told."""
    session, key = _KEPT_UNDER
    with contextlib.suppress(msgspec.ValidationError):
        return msgspec.convert(store.route_overrides(session).get(key), frozenset[str])
    return None


def see_as_daemon(settings: Settings, environ: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """An environment with keys in the same variables as the daemon's. Those that are not here are a stand-in: good for finding
    out who can be reached, and for nothing else."""
    known = {variable for variables in KEY_VARIABLES.values() for variable in variables}
    known |= {one.key.removeprefix("env:") for one in settings.providers.values() if one.key.startswith("env:")}
    kept = {name: value for name, value in environ.items() if name in names or name not in known}
    return {**dict.fromkeys(names, _STAND_IN), **kept}
