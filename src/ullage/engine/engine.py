"""The engine in observe mode: a request is begun, relayed by the gateway, and finished; the observer reads it beside.

Everything that takes time runs in one thread of the observer, in pieces that hold the interpreter for about a
millisecond at most, so that no relay waits for it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ullage.core.wire.helpers import may_be_compaction
from ullage.upstream import provider_of

from .classifying import Question, put_question
from .exchange import NO_WINDOWS, Exchange
from .marks import UNMARKED, Marks
from .observer import Observer
from .routing import has_key
from .sealing import SealSearch
from .watching import passed_on, turned_away

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ullage.core.spend import Verdict
    from ullage.core.wire import Dialect
    from ullage.settings import Settings
    from ullage.stores import Store
    from ullage.upstream import UpstreamClient

    from .departure import Departure
    from .endpoint import Endpoint
    from .exchange import GivenUp
    from .knowledge import Sources
    from .targets import Targets
    from .watching import Watcher


MODE_HEADER = "x-ullage-mode"
MODES = {"observe": "observe", "off": "observe", "managed": "managed"}
"""What the header may say of one request, and which mode that is."""


class Engine:
    """Begins and finishes exchanges. `clock_ms` is wall time in epoch milliseconds, `clock` monotonic seconds; `sources` say what
    is published of models, `targets` where a routed request may go. Artifacts are kept in `data_dir`; without one, no result is
    trimmed. `watchers` are told of each call that is over, in the observer's thread."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock_ms: Callable[[], int],
        clock: Callable[[], float],
        new_id: Callable[[], str],
        sources: Sources | None = None,
        data_dir: Path | None = None,
        targets: Targets | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self.targets = targets
        self._settings = settings
        self._summarizes = settings.routing.enabled and settings.routing.compaction == "all"
        self._clock_ms = clock_ms
        self._clock = clock
        self.new_id = new_id
        self._seals = SealSearch()
        self._observer = Observer(
            store=store,
            settings=settings,
            new_id=new_id,
            sources=sources,
            data_dir=data_dir,
            targets=targets,
            watchers=watchers,
        )
        self.virtual_models = self._observer.virtual_models
        self.quotas = self._observer.quotas
        self.health = self._observer.health
        self.spending = self._observer.spending
        self.classifying = self._observer.classifying
        self.learning = self._observer.learning

    def plans(self, endpoint: Endpoint, headers: Mapping[str, str]) -> bool:
        """Whether such a request is planned before it is sent."""
        return endpoint.purpose == "generate" and self.manages(headers)

    def manages(self, headers: Mapping[str, str]) -> bool:
        """Whether managed mode is on for a request: our header decides, else the settings."""
        wanted = headers.get(MODE_HEADER, "").strip().lower()
        return MODES.get(wanted, self._settings.mode) == "managed"

    def begin(
        self,
        *,
        id: str,  # noqa: A002 - the record's own word
        endpoint: Endpoint,
        headers: Mapping[str, str],
        body: bytes,
        root: str,
        provider: str | None = None,
        targets: Targets | None = None,
        marks: Marks = UNMARKED,
        windows: Mapping[str, int] = NO_WINDOWS,
    ) -> Exchange:
        """Notes a request that is about to be sent; its accounting starts beside it. Whoever sends it himself names the
        `provider`, else it is known by its root, and the `targets` among whom may be chosen, else they are those of the settings;
        `marks` are what else he knows of the conversation, `windows` those that he keeps to, in tokens by target.
        """
        exchange = Exchange(
            id=id,
            endpoint=endpoint,
            headers=headers,
            body=body,
            root=root,
            provider=provider or provider_of(root),
            created_ms=self._clock_ms(),
            clock=self._clock,
            hand_over=self._observer.read_answer,
            planned=self.plans(endpoint, headers),
            # With privacy on, nothing leaves that was not looked at.
            cleared=self._settings.privacy.enabled and bool(body),
            routable=self.virtual_models.may_name(endpoint, headers, body),
            sealed=endpoint.recorded and self._seals.may_hold(body),
            summarizable=self._summarizes and endpoint.purpose == "generate" and may_be_compaction(headers, body),
            watched=(endpoint.purpose == "generate" or endpoint.cost is not None) and self.spending.watches,
            targets=targets,
            marks=marks,
            windows=windows,
        )
        if endpoint.recorded and not exchange.managed:
            self._observer.read_request(exchange)
        return exchange

    async def depart(self, exchange: Exchange, upstream: UpstreamClient | None) -> Departure:
        """What is to be sent for a request that is looked at first. Where it is set so, a small model is asked about its task, by
        `upstream`."""
        found = await asyncio.wrap_future(self._observer.depart(exchange))
        if isinstance(found, Question):
            assert upstream is not None, "who has a classifier has a transport"
            question = found
            reply = await self.spending.ask(question, exchange, lambda: put_question(upstream, question))
            found = await asyncio.wrap_future(self._observer.resume(exchange, reply))
        return await self._admit(exchange, found)

    async def depart_again(self, exchange: Exchange, given_up: GivenUp) -> Departure:
        """What is to be sent to another target of a routed request, in place of one that has failed; a refusal where there is
        nobody else."""
        found = await asyncio.wrap_future(self._observer.depart_again(exchange, given_up))
        departure = await self._admit(exchange, found)
        if departure.refusal is not None and found.refusal is None:
            self._observer.stay(exchange, departure.refusal)
        return departure

    async def _admit(self, exchange: Exchange, departure: Departure) -> Departure:
        """The same where it may be spent, to a cheaper target where that is asked for, or a refusal."""
        if departure.spend is None:
            return departure

        async def elsewhere(dear: Departure, verdict: Verdict) -> Departure:
            return await asyncio.wrap_future(self._observer.depart_elsewhere(exchange, dear, verdict))

        moves = exchange.endpoint.purpose == "generate"
        return await self.spending.admit(exchange.id, departure, elsewhere if moves else None)

    async def virtual_names(self, dialect: Dialect, headers: Mapping[str, str]) -> Sequence[str]:
        """The virtual models to show to a client that asks for a list: none while there is nobody to choose from."""
        targets, listed = self.targets, self.virtual_models.listed
        if targets is None or not listed:
            return ()
        spoken: tuple[Dialect, ...] = (
            ("openai-chat", "openai-responses") if dialect.startswith("openai") else (dialect,)
        )
        key = has_key(headers)
        found = await asyncio.to_thread(lambda: any(targets.candidates(one, client_key=key) for one in spoken))
        return listed if found else ()

    def finish(self, exchange: Exchange) -> None:
        """Notes that an exchange is over; its record is written beside."""
        if exchange.endpoint.recorded:
            exchange.hand_over()
            self._observer.finish(exchange)
            return
        self._observer.tell(lambda: passed_on(exchange))
        if exchange.endpoint.cost is not None:
            self._observer.settle_passed(exchange)
        elif exchange.kept and exchange.status == 200 and exchange.outcome == "whole":
            self._observer.note_models(exchange)

    def turn_away(
        self,
        id: str,  # noqa: A002 - the record's own word
        endpoint: Endpoint | None,
        headers: Mapping[str, str],
        status: int,
    ) -> None:
        """Notes a request that was answered by us before it was begun."""
        now_ms = self._clock_ms()
        self._observer.tell(lambda: turned_away(id, endpoint, headers, status, now_ms))

    async def count(self, exchange: Exchange, body: bytes) -> int | None:
        """Our estimate of a request's prompt in tokens; `None` if the body cannot be read."""
        return await asyncio.wrap_future(self._observer.count(exchange, body))

    async def clear(self, body: bytes, dialect: Dialect | None, to: Sequence[tuple[str, str]]) -> bytes:
        """What may leave of a body that goes by another way than ours to one of these, providers by name and root. Raises
        `PrivacyError` where nothing may."""
        return await asyncio.wrap_future(self._observer.clear(body, dialect, to))

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Waits until everything that was finished is recorded. False if that took too long."""
        return self._observer.flush(timeout_s)

    def close(self) -> None:
        """Finishes what is waiting and stops the observer's thread."""
        self._observer.close()
