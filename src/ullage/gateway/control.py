"""The control routes under `/ullage/v1`: what the daemon knows and keeps, for those who hold its token.

A random token in a 0600 file is asked for also on loopback, and the Host header must name a loopback address: a web page
that rebinds its own name to 127.0.0.1 gets nothing (design.md 10, 11).
"""

from __future__ import annotations

import asyncio
import hmac
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qs

import msgspec

from ullage.core.errors import CallError, InputError, PrivacyError, RequestError, StoreError, UllageError
from ullage.stores import report_call, report_event, report_session
from ullage.stores.metrics import DEFAULT_SINCE, GROUPS, parse_since, report_metrics

from .answering import JSON
from .asking import limit_of, now_ms
from .budgets import Budgets
from .keeping import Keeping
from .openapi import describe
from .reporting import Reporting
from .steering import Steering

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.engine import Engine
    from ullage.engine.knowledge import Sources
    from ullage.settings import Settings, Source
    from ullage.stores import Store

    from .body import RequestBody

_LOOPBACK = re.compile(r"(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?", re.IGNORECASE)


SCRAPE_PATH = "/metrics"
SCRAPE_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Where Prometheus asks for figures, and the type of its text."""

_BODY_BYTES = 256 * 1024
"""Largest body of a change: no text that may be kept comes near it."""

_STATUS = {"body_too_large": 413, "conflict": 409, "not_active": 409, "pins_over_limit": 409}


class Told(NamedTuple):
    """An answer of ours."""

    status: int
    body: bytes
    content_type: str = JSON


class Door(Protocol):
    """Who answers what lies below one name: a host's extension has a language of its own."""

    body_bytes: int

    async def answer(self, name: str, body: bytes) -> bytes: ...


class Control:
    """Answers control requests from the store. `sources` say where each setting is from, `published` what is of models; `scrape`
    gives the figures for Prometheus, if they are wanted. `doors` are by the name that their routes begin with."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        token: str,
        settings: Settings,
        *,
        published: Sources,
        sources: Mapping[str, Source] | None = None,
        scrape: Callable[[], str] | None = None,
        doors: Mapping[str, Door] = MappingProxyType({}),
    ) -> None:
        self._store = store
        self._scrape = scrape
        self._doors = doors
        self._token = token
        keeping = Keeping(store, settings)
        steering = Steering(store, engine, settings)
        budgets = Budgets(store, engine)
        reporting = Reporting(store, settings, sources=sources, published=published)
        self._reports: dict[str, Callable[[dict[str, str]], Any]] = {
            "sessions": self._sessions,
            "manifests": self._manifests,
            "context": self._context,
            "events": self._events,
            "metrics": self._metrics,
            "usage": reporting.usage,
            "plan": reporting.plan,
            "route": steering.route,
            "feedback": steering.feedback,
            "outcomes": steering.outcomes,
            "quota": steering.quota,
            "budget": budgets.budget,
            "config": reporting.config,
            "pins": keeping.pins,
            "memory": keeping.memory,
            "openapi.json": lambda _: describe(),
        }
        self._changes: dict[str, Callable[[bytes], Any]] = {
            "plan": reporting.make_plan,
            "route": steering.change_route,
            "feedback": steering.give_feedback,
            "outcomes": steering.give_outcome,
            "budget": budgets.change_budget,
            "pins": keeping.change_pins,
            "memory": keeping.change_memory,
        }
        # A request that is to be planned may be as large as one that is sent.
        self._body_bytes = {"plan": settings.server.body_limit_bytes}

    @property
    def routes(self) -> dict[str, tuple[str, ...]]:
        """The names of all routes by method."""
        return {"get": tuple(self._reports), "post": tuple(self._changes)}

    async def answer(self, scope: dict[str, Any], incoming: RequestBody) -> Told:
        """The answer to a control request. Raises `ClientLeft`."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self._allowed(headers):
            return Told(
                401,
                _error(
                    "unauthorized", "the control routes need the daemon's token", "`ullage doctor` says where it is."
                ),
            )
        if scope["path"] == SCRAPE_PATH:
            return await self._figures()
        name = scope["path"].removeprefix("/ullage/v1/").strip("/")
        route = self._routes(scope["method"]).get(name)
        door, _, rest = name.partition("/")
        if door in self._doors and scope["method"] == "POST":
            return await self._pass(self._doors[door], rest, incoming)
        if route is None:
            return Told(
                404,
                _error("not_found", f"there is no control route {name[:100]!r}", f"Known: {', '.join(self._reports)}."),
            )
        try:
            limit_bytes = self._body_bytes.get(name, _BODY_BYTES)
            asked = await incoming.read(limit_bytes) if scope["method"] == "POST" else _query(scope)
            # The database may be locked by another process: whoever asks waits for it, no relay does.
            return Told(200, await asyncio.to_thread(lambda: msgspec.json.encode(route(asked))))
        except (CallError, InputError, StoreError) as error:
            return Told(_status(error), _error(error.code, error.message, error.hint))

    async def _figures(self) -> Told:
        if self._scrape is None:
            return Told(404, _error("not_found", "there are no figures", "`telemetry.prometheus` turns them on."))
        # Circuits and sums are read from the database: whoever asks waits for it, no relay does.
        return Told(200, (await asyncio.to_thread(self._scrape)).encode(), SCRAPE_TYPE)

    async def _pass(self, door: Door, name: str, incoming: RequestBody) -> Told:
        try:
            return Told(200, await door.answer(name, await incoming.read(door.body_bytes)))
        except (CallError, InputError, StoreError, RequestError, PrivacyError) as error:
            return Told(_status(error), _error(error.code, error.message, error.hint))

    def _routes(self, method: str) -> Mapping[str, Callable[[Any], Any]]:
        """What a method may ask for; no route is for any other."""
        if method == "POST":
            return self._changes
        return self._reports if method in ("GET", "HEAD") else {}

    def _allowed(self, headers: dict[bytes, str]) -> bool:
        if not _LOOPBACK.fullmatch(headers.get(b"host", "")) or b"origin" in headers:
            return False
        scheme, _, token = headers.get(b"authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), self._token.encode())

    def _sessions(self, query: dict[str, str]) -> Any:
        return {"sessions": [report_session(record) for record in self._store.sessions(limit=limit_of(query))]}

    def _manifests(self, query: dict[str, str]) -> Any:
        if call_id := query.get("id"):
            found = self._store.find_call(call_id)
            if found is None:
                raise InputError(f"no call {call_id[:100]!r} is known", hint="GET /ullage/v1/manifests lists them.")
            return report_call(found)
        calls = self._store.calls(query.get("session"), limit=limit_of(query))
        return {"manifests": [report_call(record) for record in calls]}

    def _context(self, query: dict[str, str]) -> Any:
        calls = self._store.calls(query.get("session"), kind="conversation", limit=1)
        if not calls or calls[0].breakdown is None:
            raise InputError("no accounted call is known yet", hint="Send one request through the gateway.")
        return calls[0].breakdown

    def _events(self, query: dict[str, str]) -> Any:
        events = self._store.events(query.get("session"), limit=limit_of(query))
        return {"events": [report_event(record) for record in events]}

    def _metrics(self, query: dict[str, str]) -> Any:
        until_ms = now_ms()
        since_ms = parse_since(query.get("since", DEFAULT_SINCE), until_ms)
        wanted = query.get("by", GROUPS[0])
        by = next((group for group in GROUPS if group == wanted), None)
        if by is None:
            raise CallError(
                f"{wanted[:40]!r} is nothing to group by.", hint=f"Known: {', '.join(GROUPS)}.", code="bad_by"
            )
        return report_metrics(self._store, since_ms=since_ms, until_ms=until_ms, by=by)


def _query(scope: dict[str, Any]) -> dict[str, str]:
    return {key: values[-1] for key, values in parse_qs(scope["query_string"].decode("latin-1")).items()}


def _status(error: UllageError) -> int:
    """That of an answer: what was asked is wrong, is not there, cannot be done now."""
    usual = 400 if isinstance(error, CallError | RequestError) else 404 if isinstance(error, InputError) else 503
    return _STATUS.get(error.code, usual)


def _error(code: str, message: str, hint: str) -> bytes:
    return msgspec.json.encode({"error": {"type": "ullage_error", "code": code, "message": message, "hint": hint}})
