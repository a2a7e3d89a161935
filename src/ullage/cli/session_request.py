"""A call of a recorded session as the request that its client would send."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ullage.core.errors import CallError
from ullage.sources import read_session
from ullage.testing.builders import make_request
from ullage.testing.replay.rendering import DIALECTS, render_messages, render_prelude, render_system_messages

if TYPE_CHECKING:
    from pathlib import Path

    from ullage.core.wire import Dialect


class SessionRequest(NamedTuple):
    """The request, and what the record says of its target."""

    body: bytes
    dialect: Dialect
    provider: str | None
    model: str | None


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
    context = session.context(None if follows else call.index)
    messages = [*render_system_messages(dialect, context), *render_messages(dialect, context.messages)]
    extra = {"input" if dialect == "openai-responses" else "messages": messages, **render_prelude(dialect, context)}
    request = make_request(dialect, model=call.model or "unknown", extra=extra)
    return SessionRequest(request.body, dialect, call.provider, call.model)
