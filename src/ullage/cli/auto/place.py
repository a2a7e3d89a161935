"""What the commands of `ullage auto` share: whose routes they are about, and the way to the store."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ullage.cli import records
from ullage.cli.keeping import named_session
from ullage.cli.records import ago, data_dir_option, json_option, open_records, print_lines
from ullage.core.errors import CallError, InputError, StoreError
from ullage.core.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ullage.cli.route_models import Found
    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig
    from ullage.engine.steering import Key
    from ullage.settings import Loaded, Settings
    from ullage.stores import Reader, Store

EVERY_SESSION = ""
"""Named here and in engine.steering, which is not loaded to print a help screen."""

_by_hand: ContextVar[str] = ContextVar("by_hand", default="")
_offered: ContextVar[Callable[[RouteConfig], tuple[Candidate, ...]] | None] = ContextVar("offered", default=None)

session_option = click.option(
    "--session", metavar="ID", help="This session; the beginning of its id is enough. [the newest routed one]"
)
default_option = click.option("--default", "everyone", is_flag=True, help="For all sessions without their own.")
clear_option = click.option("--clear", is_flag=True, help="Take back what was set: the settings hold again.")


class Where(NamedTuple):
    """What the flags say of whose routes it is about."""

    session: str | None
    everyone: bool
    data_dir: str | None


class Place(NamedTuple):
    """The settings, the store, and the session: `EVERY_SESSION` for all."""

    loaded: Loaded
    store: Reader
    session: str
    data_dir: str | None

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def who(self) -> str:
        """The session or all of them, for people."""
        return f"session {self.session[: records.SHORTEST_ID]}" if self.session else "all sessions"


def whose(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command: whose routes, where the records are, and JSON."""
    for option in (data_dir_option, json_option, default_option, session_option):
        command = option(command)
    return command


@contextlib.contextmanager
def look(session: str | None, everyone: bool, data_dir: str | None) -> Iterator[Place]:
    """For looking only. Where nothing is recorded yet, what holds for all sessions is told."""
    from ullage.settings import load_settings
    from ullage.stores import MemoryStore

    loaded = load_settings(flags={"data_dir": data_dir})
    try:
        store: Reader = open_records(data_dir)
    except StoreError as error:
        if error.code != "no_database":
            raise
        store = MemoryStore()
    with contextlib.closing(store):
        found = _find_session(store, session, everyone=everyone)
        yield Place(loaded, store, found if found is not None else EVERY_SESSION, data_dir)


@contextlib.contextmanager
def change(session: str | None, everyone: bool, data_dir: str | None) -> Iterator[tuple[Place, Store]]:
    """For setting something. Raises `CallError` where no session was routed yet and none is named."""
    with writing(data_dir) as (loaded, store):
        found = _find_session(store, session, everyone=everyone)
        if found is None:
            raise CallError(
                "No session was routed yet.",
                hint="Say --default to set it for all sessions, or name one with --session.",
                code="no_session",
            )
        if session is None and found:
            click.echo(f"ullage: It is for {_tell(store, found)}; --session ID names another.", err=True)
        yield Place(loaded, store, found, data_dir), store


@contextlib.contextmanager
def writing(data_dir: str | None) -> Iterator[tuple[Loaded, Store]]:
    """The settings and the configured store, made if there is none. Raises `StoreError` where nothing can be kept."""
    from ullage.settings import load_settings
    from ullage.stores import open_to_keep

    loaded = load_settings(flags={"data_dir": data_dir})
    kept = loaded.settings.store
    with open_to_keep(
        kept.url, loaded.paths.data_dir, records.now_ms, keep_days=kept.keep_days, scope=kept.scope
    ) as store:
        yield loaded, store


def set_for(where: Where, key: Key, word: str | None, *, done: str, as_json: bool) -> None:
    """Sets one thing and tells it: `done` is the sentence, without whom it is for."""
    with change(*where) as (place, store):
        value = keep(place, store, key, word)
        notes = tuple(_others(place, key, value))
    tell_set(place, {key: value}, done, as_json=as_json, notes=notes)


def take_back(where: Where, key: Key, noun: str, *, as_json: bool) -> None:
    """Takes back what was set for a session or for all, and tells what the settings say, which hold again."""
    from .holding import hold

    with change(*where) as (place, store):
        keep(place, store, key, None)
        held, notes = hold(place)[key], tuple(_others(place, key, None))
    said = place.loaded.sources.get(f"routing.{key}")
    why = f"as {said} says" if said is not None and said.kind != "default" else "as by default"
    value = "none" if held.value is None else held.value
    tell_set(place, {key: None}, f"{noun} is {value} again, {why},", as_json=as_json, notes=notes, holds=held)


def keep(place: Place, store: Store, key: Key, word: str | None) -> str | None:
    """Keeps what was set, if it makes sense; the value. Raises `CallError` if not."""
    from ullage.engine.steering import check_setting, put_settings
    from ullage.settings.route_config import make_route_config

    config = make_route_config(place.settings)
    candidates = candidates_of(place, keyless=True).candidates if key == "pin" and word is not None else ()
    value = check_setting(key, word, place.settings, candidates, config)
    put_settings(store, place.session, {key: value}, records.now_ms())
    return value


def tell_set(
    place: Place, values: Mapping[str, Any], done: str, *, as_json: bool, notes: Sequence[str] = (), **more: Any
) -> None:
    """What was set, and for whom."""
    from ullage.cli.output import print_json

    if as_json:
        print_json({"session": place.session or None, "set": values, "notes": notes, **more})
        return
    print_lines([safe(f"{done} for {place.who}."), *(safe(f"Note: {note}.") for note in notes)])


@contextlib.contextmanager
def offering(candidates: Callable[[RouteConfig], tuple[Candidate, ...]]) -> Iterator[None]:
    """Within it, these are all whom there is to choose among: whoever asks has models of its own."""
    token = _offered.set(candidates)
    try:
        yield
    finally:
        _offered.reset(token)


@contextlib.contextmanager
def selected(target: str) -> Iterator[None]:
    """Within it, the session's client sends its requests to this target, whatever a router would choose; empty where it asks."""
    token = _by_hand.set(target)
    try:
        yield
    finally:
        _by_hand.reset(token)


def by_hand() -> str:
    """The target that the client has selected itself; empty where it is not known to have."""
    return _by_hand.get()


def candidates_of(place: Place, *, keyless: bool = False) -> Found:
    """Whom the session's next request could go to: those that speak its client's dialect; of a new session, any.

    As the daemon sees it, which may have other keys than this shell. Where none has told of its keys, with `keyless` also those
    that only want one. Raises `InputError` where nobody can be reached.
    """
    from ullage.cli.route_models import Found, find_candidates
    from ullage.core.wire import DIALECTS
    from ullage.engine.judging import newest_decision
    from ullage.engine.key_names import recall_key_names, see_as_daemon
    from ullage.settings import environment
    from ullage.settings.route_config import make_route_config

    offered = _offered.get()
    if offered is not None:
        return Found(offered(make_route_config(place.settings)))
    newest = newest_decision(place.store, place.session) if place.session else None
    spoken = tuple(one for one in DIALECTS if newest is None or one == newest.dialect)
    config, environ, names = make_route_config(place.settings), environment(), recall_key_names(place.store)
    if names is not None:
        environ = see_as_daemon(place.settings, environ, names)
    try:
        return find_candidates(
            place.settings,
            config,
            dialects=spoken,
            data_dir=place.data_dir,
            environ=environ,
            keyless=keyless and names is None,
        )
    except CallError as error:  # of the settings, not of how we were called
        raise InputError(error.message, hint=error.hint, code=error.code) from error


def _find_session(store: Reader, session: str | None, *, everyone: bool) -> str | None:
    """The session that is meant, `EVERY_SESSION` for all; `None` where none was routed yet."""
    if everyone:
        if session is not None:
            raise CallError("--session and --default exclude each other.", hint="Leave one of them out.")
        return EVERY_SESSION
    if session is not None:
        return named_session(session, store)
    return next((call.session for call in store.decisions() if call.session), None)


def _tell(store: Reader, session: str) -> str:
    known = store.find_session(session)
    what = f" ({known.client}, {ago(known.last_ms, records.now_ms())})" if known is not None else ""
    return safe(f"session {session[: records.SHORTEST_ID]}{what}")


def _others(place: Place, key: Key, value: str | None) -> Iterator[str]:
    """That the newest session has its own, where something is set for all."""
    if place.session:
        return
    newest = next((call.session for call in place.store.decisions() if call.session), None)
    own = place.store.route_overrides(newest).get(key) if newest else None
    if own is not None and own != value:
        yield f"session {newest[: records.SHORTEST_ID] if newest else ''} has its own, {own}, and keeps it"
