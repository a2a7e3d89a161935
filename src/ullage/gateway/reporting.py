"""The control routes `config`, `usage` and `plan`: what is set, what was used, what managed mode would send."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ullage.core.accounting import guess_shape
from ullage.core.errors import CallError, InputError
from ullage.core.wire import DIALECTS, Dialect
from ullage.engine.known import Known
from ullage.engine.proposing import Ask, Basis, Planner, report_proposal
from ullage.settings import resolve_upstreams
from ullage.stores.metrics import parse_since
from ullage.stores.report import iso_time
from ullage.stores.usage import DEFAULT_SINCE, USAGE_GROUPS, report_usage

from .asking import Query, decode, now_ms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.engine.knowledge import Sources
    from ullage.settings import Settings, Source
    from ullage.stores import Store


class Planned(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A request to be planned, as a line of `ullage plan --batch` has it; nothing is sent.

    Without `input_limit` the limits are those of the provider's model. `with_request`: the answer has the planned body, too.
    """

    request: msgspec.Raw
    dialect: Dialect | None = None
    provider: str | None = None
    model: str | None = None
    input_limit: int | None = None
    pins: tuple[str, ...] = ()
    excerpts: bool = False
    with_request: bool = False


_PLANNED = msgspec.json.Decoder(Planned)


class Reporting:
    """Answers for one daemon. Every method may wait for the database."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        sources: Mapping[str, Source] | None,
        published: Sources,
    ) -> None:
        self._store = store
        self._settings = settings
        self._sources = sources or {}
        self._published = published

    def config(self, query: Query) -> Any:
        """The settings that the daemon runs with, and where each is from. Keys of providers are never among them: settings say
        only where a key is found."""
        plain = msgspec.to_builtins(self._settings)
        return {
            "settings": {**plain, "upstreams": resolve_upstreams(self._settings)},
            "sources": msgspec.to_builtins(dict(self._sources)),
        }

    def usage(self, query: Query) -> Any:
        """Tokens and money of recorded calls."""
        until_ms = now_ms()
        since_ms = parse_since(query.get("since", DEFAULT_SINCE), until_ms)
        by = query.get("by", USAGE_GROUPS[0])
        return report_usage(self._store, query.get("session"), since_ms=since_ms, until_ms=until_ms, by=by)

    def plan(self, query: Query) -> Any:
        """What became of the newest planned call, of a session or of all."""
        calls = self._store.calls(query.get("session"), kind="conversation")
        call = next((one for one in calls if one.plan is not None and "status" in one.plan), None)
        if call is None or call.plan is None:
            raise InputError(
                "no call was planned yet",
                hint="Managed mode plans; POST a request to have one planned without sending it.",
            )
        return {"call": call.id, "session": call.session, "at": iso_time(call.created_ms), **call.plan}

    def make_plan(self, body: bytes) -> Any:
        """What managed mode would send of a request."""
        asked: Planned = decode(_PLANNED, body)
        request = bytes(asked.request)
        if not request.lstrip().startswith(b"{"):
            raise CallError("`request` is no JSON object", hint="Give the body as a client sends it.", code="bad_body")
        started = time.perf_counter()
        proposal, awareness = self._planner().propose(
            request,
            Ask(
                dialect=asked.dialect or _guess(request),
                provider=asked.provider,
                model=asked.model,
                input_limit=asked.input_limit,
                pins=asked.pins,
                excerpts=asked.excerpts,
                live=True,
            ),
        )
        report = report_proposal(proposal, awareness, taken_ms=1_000 * (time.perf_counter() - started))
        if asked.with_request and proposal.plan.status != "refused":
            report["request"] = msgspec.Raw(proposal.render())
        return report

    def _planner(self) -> Planner:
        accounting = self._settings.accounting
        return Planner(
            Basis(
                settings=self._settings,
                knowledge=lambda: Known(self._settings, self._published, self._store, now_ms=now_ms()),
                estimator=accounting.estimator,
                heuristics=accounting.heuristics,
            )
        )


def _guess(request: bytes) -> Dialect:
    shape = guess_shape(request)
    found = next((one for one in DIALECTS if one == shape), None)
    if found is None:
        raise CallError("the dialect cannot be told", hint=f"Name one of {', '.join(DIALECTS)}.", code="bad_body")
    return found
