"""The routes below `/ullage/v1/pi/`, for the extension alone: Pi says what is new, and is told what to send and whom to ask.

Requests pass through the same engine as those of any client. What differs is the transport, which is Pi's: a request is begun
here when Pi is about to make it, and finished when Pi says how it ended.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ullage._version import __version__
from ullage.core.errors import CallError, PrivacyError, UllageError
from ullage.core.routing.report import report_route
from ullage.core.routing.route import resolve_route
from ullage.core.wire.jsontext import decode_as
from ullage.engine import Endpoint
from ullage.engine.steering import ON, put_settings
from ullage.engine.virtual import AUTO
from ullage.settings import load_settings
from ullage.settings.route_config import make_route_config
from ullage.stores import root_finder

from .answers import ABORTED, FAILED, write_body
from .asking import PROTOCOL, Activate, Answer, Clear, Context, Hello, Kept, Panel, Payload, RouteQuestion, Update
from .candidates import PiTargets
from .facts import tell_models
from .keeping import mirror
from .mapping import map_back
from .messages import dialect_of, spoken_by
from .panel import draw
from .sessions import SESSIONS, PiSession, PiSessions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeVar

    from ullage.core.wire import Dialect
    from ullage.engine import Engine, Exchange
    from ullage.engine.departure import Departure
    from ullage.engine.marks import Marks
    from ullage.settings import Settings
    from ullage.stores import Store
    from ullage.upstream import UpstreamClient

    from .asking import Model

    Asked = TypeVar("Asked")
    Done = TypeVar("Done")

_OPEN = 256
"""Requests that Pi has not told the end of; the oldest are given up beyond that."""
_SMALL_BYTES = 64 * 1024
_QUICK_BYTES = 256 * 1024
"""A body of so many is told in Pi's messages within a millisecond."""
_SETTLE_S = 1.0
_DIRECT = "direct"
_ANY: Dialect = "openai-chat"
_WITH_THINKING: Dialect = "anthropic"
_ERROR_STATUS = 500
_KEPT_HEADERS = ("retry-after", "x-codex-")


class _Open(NamedTuple):
    """A request that Pi makes. `by` is whose it is; of an errand, which runs beside a conversation, nobody's."""

    exchange: Exchange
    by: tuple[str, int] | None


class PiDoor:
    """Answers the extension. Used on the event loop."""

    def __init__(self, engine: Engine, store: Store, settings: Settings, upstream: UpstreamClient | None) -> None:
        self.body_bytes = settings.server.body_limit_bytes
        self._engine = engine
        self._store = store
        self._settings = settings
        self._upstream = upstream
        self._sessions = PiSessions()
        self._offered: dict[tuple[str, int], PiTargets] = {}
        self._config = make_route_config(settings)
        # Links followed, as for the requests that what is pinned is sent with.
        self._find_project = root_finder("project")
        self._open: dict[str, _Open] = {}
        self._routes: dict[str, Callable[[bytes], Awaitable[Any]]] = {
            "hello": self._hello,
            "context": self._context,
            "answer": self._answer,
            "check": self._check,
            "clear": self._clear,
            "panel": self._panel,
            "route": self._route,
            "activate": self._activate,
            "settle": self._settle,
            "kept": self._kept,
        }

    async def answer(self, name: str, body: bytes) -> bytes:
        """The JSON answer to what the extension says. Raises `CallError` for what makes no sense."""
        route = self._routes.get(name)
        if route is None:
            raise CallError(f"the extension asks for {name[:40]!r}, which is not known here.", hint=_UPDATE)
        return msgspec.json.encode(await route(body))

    async def _hello(self, body: bytes) -> Any:
        asked = _read(body, Hello)
        if asked.cwd and not self._settings.privacy.enabled:
            await asyncio.to_thread(_demand_no_privacy, asked.cwd)
        tell_models(self._engine, asked.models)
        self._offered.pop(asked.teller, None)
        self._offered[asked.teller] = PiTargets(asked.models, self._config)
        if len(self._offered) > SESSIONS:
            del self._offered[next(iter(self._offered))]
        settings = self._settings
        return {
            "service": "ullage",
            "version": __version__,
            "protocol": PROTOCOL,
            "mode": settings.mode,
            "privacy": settings.privacy.enabled,
            "routing": settings.routing.enabled,
            "watches": self._engine.spending.watches,
            "pools": sorted(settings.routing.pools),
        }

    async def _context(self, body: bytes) -> Any:
        small = len(body) <= _SMALL_BYTES
        asked = await _do(small, lambda: _read(body, Context))
        offered = self._offered.get(asked.teller) if asked.routed else None
        if asked.routed and offered is None:
            return {"resync": True}
        dialect = offered.dialect if offered is not None else dialect_of(asked.model.api)
        session, request = await _do(small, lambda: self._take(asked, dialect))
        if session is None:
            return {"resync": True}
        exchange = self._begin(asked, request, dialect, offered, session.marks())
        if not exchange.managed:
            exchange.ask()
            return {"id": exchange.id, "status": None, "watches": self._engine.spending.watches}
        departure = await self._engine.depart(exchange, self._upstream)
        if departure.refusal is not None or asked.reason == _DIRECT:
            self._open.pop(exchange.id, None)
            exchange.ended("answered")
            self._engine.finish(exchange)
        else:
            exchange.ask()
        if departure.refusal is not None:
            return {"id": exchange.id, "refused": _refusal(departure.refusal)}
        own = departure.status is None and not self._settings.privacy.enabled
        quick = not departure.plain or len(departure.body) <= _QUICK_BYTES
        return await _do(quick, lambda: _tell(exchange, departure, session, own))

    def _take(self, asked: Context, dialect: Dialect) -> tuple[PiSession | None, bytes]:
        """The conversation, and the request in a protocol that we read."""
        session = _alone(asked) if asked.reason == _DIRECT else self._sessions.take(asked)
        if session is None:
            return None, b""
        name, most_output = (AUTO, None) if asked.routed else (asked.model.id, asked.model.max_tokens)
        return session, session.body(name, dialect, most_output)

    def _begin(
        self, asked: Context, request: bytes, dialect: Dialect, offered: PiTargets | None, marks: Marks
    ) -> Exchange:
        by = asked.teller if asked.reason != _DIRECT else None
        for before in [one for one, opened in self._open.items() if by is not None and opened.by == by]:
            self._give_up(before)
        exchange = self._engine.begin(
            id=self._engine.new_id(),
            endpoint=Endpoint(dialect=dialect, purpose="generate", path="/pi"),
            headers=_headers(asked),
            body=request,
            root=asked.model.root,
            provider=asked.model.provider,
            targets=offered,
            marks=marks,
            windows=offered.windows if offered is not None else _window(asked.model),
        )
        self._open[exchange.id] = _Open(exchange, by)
        while len(self._open) > _OPEN:
            self._give_up(next(iter(self._open)))
        return exchange

    def _give_up(self, exchange_id: str) -> None:
        """A request that Pi made no more of: it was aborted before it was sent, or Pi has ended."""
        exchange = self._open.pop(exchange_id).exchange
        exchange.ended("left")
        self._engine.finish(exchange)

    async def _answer(self, body: bytes) -> Any:
        asked = _read(body, Answer)
        opened = self._open.pop(asked.id, None)
        if opened is None:
            return {"recorded": False}
        exchange = opened.exchange
        stop = asked.message.get("stopReason")
        status = asked.status or (_ERROR_STATUS if stop == FAILED else 200)
        if stop == FAILED and status < 400:  # it broke on the way, after a head that promised otherwise
            status = _ERROR_STATUS
        exchange.answer_began(status, _answer_headers(asked.headers))
        if stop != ABORTED:
            exchange.answer_chunk(write_body(asked.message, exchange.dialect))
            if asked.first_ms is not None:
                exchange.first_byte_ms = exchange.first_output_ms = asked.first_ms
        exchange.ended("left" if stop == ABORTED else "whole")
        if asked.lasted_ms is not None:  # we are told beside, and later, of what has passed there
            exchange.last_ms = asked.lasted_ms
        self._engine.finish(exchange)
        return {"recorded": True}

    async def _check(self, body: bytes) -> Any:
        asked = _read(body, Payload)
        model = asked.model
        before = bytes(asked.payload)
        try:
            cleared = await self._engine.clear(before, spoken_by(model.api), [(model.provider, model.root)])
        except PrivacyError as error:
            return {"refused": _refusal(error)}
        return {"payload": msgspec.Raw(cleared)} if cleared != before else {}

    async def _clear(self, body: bytes) -> Any:
        """What of the messages all of the models may see: Pi asks for summaries by a way on which nobody looks at what leaves."""
        asked = await asyncio.to_thread(_read, body, Clear)
        keys = tuple(f"m{number}" for number in range(len(asked.messages)))
        session = _alone(Update(session="", keys=keys, messages=asked.messages))
        cleared = await asyncio.to_thread(session.body, "", _WITH_THINKING, None)
        try:
            to = list(dict.fromkeys((model.provider, model.root) for model in asked.models))
            cleared = await self._engine.clear(cleared, _WITH_THINKING, to)
        except PrivacyError as error:
            return {"refused": _refusal(error)}
        return {"messages": await asyncio.to_thread(map_back, cleared, _WITH_THINKING, session)}

    async def _settle(self, _: bytes) -> Any:
        """Waits until all that was said is recorded: somebody is about to look at it."""
        settled = await asyncio.to_thread(lambda: self._engine.flush(_SETTLE_S) and self._store.flush(_SETTLE_S))
        return {"settled": settled}

    async def _kept(self, body: bytes) -> Any:
        asked = _read(body, Kept)
        mirrored = await asyncio.to_thread(mirror, self._store, asked, self._find_project)
        return {"missing": mirrored.missing, **({"places": mirrored.places} if mirrored.places else {})}

    async def _route(self, body: bytes) -> Any:
        """The route of a prompt that nobody sends, by the settings alone."""
        asked = _read(body, RouteQuestion)

        def resolve() -> Any:
            found = resolve_route(
                PiTargets(asked.models, self._config).candidates(_ANY, client_key=False),
                asked.prompt,
                context_tokens=asked.context_tokens,
                images=asked.images,
                policy=asked.policy,
                config=self._config,
            )
            return report_route(found, explain=False)

        return await asyncio.to_thread(resolve)

    async def _activate(self, body: bytes) -> Any:
        """Routing is on for the session: its user has selected the model that stands for others."""
        asked = _read(body, Activate)
        now_ms = round(time.time() * 1000)
        await asyncio.to_thread(put_settings, self._store, asked.session, {"activation": ON}, now_ms)
        return {}

    async def _panel(self, body: bytes) -> Any:
        return await asyncio.to_thread(self._draw, body)

    def _draw(self, body: bytes) -> Any:
        asked = _read(body, Panel)
        session = _alone(asked)
        model = asked.model
        body = session.body(model.id, dialect_of(model.api), model.max_tokens)
        return draw(body, model, self._settings, width=asked.width)


async def _do(at_once: bool, work: Callable[[], Done]) -> Done:
    """What takes long is done beside the event loop, so that no relay waits for it; the way there takes half a millisecond."""
    return work() if at_once else await asyncio.to_thread(work)


_UPDATE = "`ullage pi install` puts the extension in place that fits this daemon."


def _read(body: bytes, record: type[Asked]) -> Asked:
    try:
        return decode_as(msgspec.json.Decoder(record), body)  # half a character stands wherever a tool has cut a text
    except (msgspec.DecodeError, RecursionError) as error:
        raise CallError(f"what the extension says makes no sense: {error}", hint=_UPDATE) from error


def _alone(update: Update) -> PiSession:
    """What is no part of a conversation: nothing goes on from it."""
    session = PiSession()
    session.take(update)
    return session


def _demand_no_privacy(cwd: str) -> None:
    """The daemon has the settings of its user alone. Raises `PrivacyError` where a project's own ask for more."""
    found = load_settings(cwd=Path(cwd))
    if found.settings.privacy.enabled:
        raise PrivacyError(
            f"{found.paths.project_file} turns privacy on, and the daemon runs without",
            hint="Turn it on in your own settings, and start the daemon anew.",
        )


def _window(model: Model) -> dict[str, int]:
    """What Pi keeps to: a window that its user has set is smaller than what is published, or of a server of his own."""
    return {model.target: model.context_window} if model.context_window else {}


def _headers(asked: Context) -> dict[str, str]:
    """What a client's headers would say of the request."""
    headers = {
        "user-agent": f"pi/{asked.pi or 'unknown'}",
        "session-id": asked.session if asked.reason != _DIRECT else "",
        "x-ullage-project": asked.cwd,
        "x-parent-session-id": asked.parent,
        "x-ullage-errand": asked.errand,
    }
    return {name: value for name, value in headers.items() if value}


def _answer_headers(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """Those that may say anything of limits; the body is ours, so what describes the provider's is left out."""
    kept = (
        (name.lower(), value)
        for name, value in headers.items()
        if "rate" in name.lower() or name.lower().startswith(_KEPT_HEADERS)
    )
    told = [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in kept]
    return [(b"content-type", b"application/json"), *told]


def _refusal(error: UllageError) -> dict[str, Any]:
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "privacy": isinstance(error, PrivacyError),
    }


def _tell(exchange: Exchange, departure: Departure, session: PiSession, own: bool) -> Any:
    """`own`: nothing was planned and nothing kept in, so that answers of models stay as Pi has them."""
    told: dict[str, Any] = {"id": exchange.id, "status": departure.status, "why": departure.why}
    if departure.budget:
        told["budget"] = departure.budget
    if departure.route is not None:
        route = departure.route
        told["route"] = {"target": departure.target, "thinking": route.level, "policy": route.policy, "why": route.line}
        if route.off:
            told["route"]["off"] = True
    if departure.plain:
        told["messages"] = map_back(departure.body, exchange.endpoint.dialect, session, own_answers=own)
    return told
