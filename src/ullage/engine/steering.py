"""What a user sets for routes: which words make sense, and how they are kept (routing specification, sections 3.1 and 29).

Commands and control routes alike go by this. What is set holds from the next request on: routing reads it from the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec.structs import replace

from ullage.core.errors import CallError, StoreError
from ullage.core.routing.filtering import Limits, Pin, find_eligible
from ullage.core.routing.identity import VIRTUAL_TARGETS
from ullage.core.routing.suggesting import suggest
from ullage.core.routing.thinking import LEVELS
from ullage.core.routing.weights import WEIGHTS, find_policy
from ullage.stores import RouteOverride

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig
    from ullage.core.routing.weights import Policy
    from ullage.settings import Settings
    from ullage.stores import Store

Key = Literal["activation", "policy", "pin", "pool", "thinking"]
"""What may be set for a session or for all."""
KEYS: tuple[Key, ...] = get_args(Key)

EVERY_SESSION = ""
"""The session under whose name stands what was set for all."""
ON, OFF = "active", "off"
NO_POOL = ""
"""That no pool is active, whatever the settings say: no pool has this name."""
AUTO, HOST = "auto", "pi"
"""That each task has the thinking it asks for, and that it has what the client asked for."""

_NAMED = 12


def check_policy(word: str) -> Policy:
    """The policy of a word. Raises `CallError`."""
    found = find_policy(word)
    if found is None:
        raise _unknown("policy", "policies", word, WEIGHTS)
    return found


def check_pool(name: str, settings: Settings) -> str:
    """A pool of the settings, `NO_POOL` for `off`. Raises `CallError`."""
    if name in settings.routing.pools:
        return name
    if name == OFF:
        return NO_POOL
    raise _unknown("pool", "pools", name, settings.routing.pools)


def check_thinking(word: str) -> str:
    """`auto`, `pi`, or a level for all tasks. Raises `CallError`."""
    if word in (AUTO, HOST, *LEVELS):
        return word
    raise _unknown("level of thinking", "levels", word, LEVELS)


def check_pin(target: str, candidates: Sequence[Candidate], config: RouteConfig) -> str:
    """A target that may be pinned. Raises `CallError` for one that there is not, and for one that the settings forbid.

    Whether its provider has a key is not asked: the daemon may have another one than who pins.
    """
    known = {one.target: one for one in candidates if one.target not in VIRTUAL_TARGETS}
    found = known.get(target)
    if found is None:
        raise CallError(f"There is no target {target!r}.", hint=_hint(target, known), code="unknown_target")
    candidate = replace(found, model=replace(found.model, authenticated=True))
    pin = Pin(target=target, kind="manual")
    eligible = find_eligible([candidate], Limits(constraints=config.constraints, scope=config.scope, pin=pin))
    if eligible.stop is not None:
        reason = next((one.reason for one in eligible.excluded if one.target == target), eligible.stop.message)
        raise CallError(
            f"{target} cannot be pinned: {reason}.", hint="Change [routing] of the settings first.", code="bad_pin"
        )
    return target


def check_setting(
    key: Key, word: str | None, settings: Settings, candidates: Sequence[Candidate], config: RouteConfig
) -> str | None:
    """The value to keep of a word for a key; `None` takes back what was set. Raises `CallError`."""
    if word is None:
        return None
    match key:
        case "policy":
            return check_policy(word)
        case "pool":
            return check_pool(word, settings)
        case "thinking":
            return check_thinking(word)
        case "pin":
            return check_pin(word, candidates, config)
        case "activation":
            if word not in (ON, OFF):
                raise _unknown("activation", "activations", word, (ON, OFF))
            return word


def put_settings(store: Store, session: str, values: Mapping[Key, str | None], now_ms: int) -> None:
    """Keeps what was set for a session, or for all, and waits until it is durable. Raises `StoreError` if that fails, and where
    something holds that was set later by the clock."""
    for key, value in values.items():
        store.put_route_override(RouteOverride(session=session, key=key, value=value, at_ms=now_ms))
    if not store.flush():
        raise StoreError(
            "It is not known whether that was written.",
            hint=" ".join(store.problems()) or "Look with `ullage auto status` before you try again.",
            code="indeterminate",
        )
    held = store.route_overrides(session)
    if any(held.get(key) != value for key, value in values.items()):
        raise StoreError(
            "Something else holds that was set later, by the clock of this machine.",
            hint="Is its clock right? `ullage auto status` tells what holds.",
            code="set_later",
        )


def settings_of(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What was set, of all that the store keeps under a session's name."""
    return {key: overrides[key] for key in KEYS if key in overrides}


def _unknown(noun: str, plural: str, word: str, known: Iterable[str]) -> CallError:
    names = list(known)
    meant = suggest(word, names)
    hint = f"Did you mean {meant!r}?" if meant else f"The {plural} are {', '.join(names) or 'none'}."
    return CallError(f"There is no {noun} {word!r}.", hint=hint, code=f"unknown_{noun.partition(' ')[0]}")


def _hint(target: str, known: Mapping[str, Candidate]) -> str:
    """The target that was meant: also by a model's id alone."""
    alone = [one for one in known if one.partition("/")[2] == target]
    meant = alone[0] if len(alone) == 1 else suggest(target, known)
    if meant is None and "/" not in target:
        by_id = suggest(target, [one.partition("/")[2] for one in known])
        meant = next((one for one in known if by_id is not None and one.partition("/")[2] == by_id), None)
    if meant is not None:
        return f"Did you mean {meant!r}?"
    shown = sorted(known)[:_NAMED]
    more = ", …" if len(known) > _NAMED else ""
    return f"Targets are {', '.join(shown)}{more}." if shown else "No provider can be reached: see `ullage doctor`."
