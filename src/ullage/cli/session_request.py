"""A call of a recorded session as the request that its client would send."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import CallError
from ullage.core.planning.labels import is_pin
from ullage.sources import read_session
from ullage.testing.builders import make_request
from ullage.testing.replay.rendering import DIALECTS, render_messages, render_prelude, render_system_messages

from .session_kept import read_kept

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ullage.core.content import Context
    from ullage.core.evidence.mutations import Item
    from ullage.core.wire import Dialect


class SessionRequest(NamedTuple):
    """The request, and what the record says of its target. `labelled` are messages of it, by their numbers, that a label of the
    user's pins; `kept` the pins and memories that the file holds for it."""

    body: bytes
    dialect: Dialect
    provider: str | None
    model: str | None
    labelled: frozenset[int]
    kept: tuple[Item, ...]


def render_session(path: Path, *, follows: bool) -> SessionRequest:
    """The request of the newest call; with `follows`, of one that goes on from where the session stands.

    Raises `SessionError` for what is no session, `CallError` for one without calls or in a dialect that nothing is rendered in.
    """
    session = read_session(path)
    if not session.calls:
        raise CallError(f"{path} holds no call.", hint="Give a session in which a model was asked.")
    call = session.calls[-1]
    dialect: Dialect = call.dialect or "openai-chat"
    if dialect not in DIALECTS:
        raise CallError(f"{path}: calls in the {dialect} dialect cannot be written again.")
    now = None if follows else call.index
    context = session.context(now)
    messages = [*render_system_messages(dialect, context), *render_messages(dialect, context.messages)]
    pinned = [index for index, label in session.labels(now).items() if is_pin(label)]
    extra = {"input" if dialect == "openai-responses" else "messages": messages, **render_prelude(dialect, context)}
    request = make_request(dialect, model=call.model or "unknown", extra=extra)
    return SessionRequest(
        request.body, dialect, call.provider, call.model, _find_places(dialect, context, pinned), read_kept(session)
    )


def _find_places(dialect: Dialect, context: Context, indexes: Collection[int]) -> frozenset[int]:
    """Where messages of a record stand in its request: one may be several there, and several may be one."""
    before = len(render_system_messages(dialect, context))
    found: set[int] = set()
    for index in indexes:
        ahead = len(render_messages(dialect, context.messages[:index]))
        through = len(render_messages(dialect, context.messages[: index + 1]))
        found.update(range(before + min(ahead, through - 1), before + through))
    return frozenset(found)
