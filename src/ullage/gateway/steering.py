"""The control routes of routing: previews, what is set for routes, votes, judged tasks, and quotas."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from ullage.core.errors import CallError, StoreError
from ullage.core.wire import DIALECTS
from ullage.engine.judging import (
    assess,
    newest_decision,
    report_assessed,
    report_outcome,
    report_vote,
    report_voted,
    vote,
)
from ullage.engine.previewing import Previewing
from ullage.engine.steering import EVERY_SESSION, KEYS, check_setting, put_settings, settings_of
from ullage.settings.route_config import make_route_config

from .asking import Query, decode, limit_of, now_ms, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.engine import Engine
    from ullage.engine.steering import Key
    from ullage.settings import Settings
    from ullage.stores import Store


class PreviewRoute(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="action", tag="preview"):
    """A prompt that might come next in a session, or begin one."""

    prompt: str
    session: str | None = None
    images: Annotated[int, Meta(ge=0)] = 0


class SetRoute(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True, tag_field="action", tag="set"):
    """What holds for a session's routes from now on, or for all without a session; null takes back what was set."""

    session: str | None = None
    activation: Literal["active", "off"] | UnsetType | None = UNSET
    policy: str | UnsetType | None = UNSET
    pin: str | UnsetType | None = UNSET
    pool: str | UnsetType | None = UNSET
    thinking: str | UnsetType | None = UNSET


class Vote(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A vote for or against a target: that of the session's newest task where none is named."""

    vote: Literal["good", "bad"]
    target: str | None = None
    session: str | None = None
    reason: str | None = None


class Judge(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What became of a task: of the newest that is over where none is named."""

    outcome: Literal["success", "failure", "unknown"]
    task: str | None = None
    session: str | None = None


_ROUTE = msgspec.json.Decoder(PreviewRoute | SetRoute)
_VOTE = msgspec.json.Decoder(Vote)
_JUDGE = msgspec.json.Decoder(Judge)


class Steering:
    """Answers for one daemon. Every method may wait for the database."""

    def __init__(self, store: Store, engine: Engine, settings: Settings) -> None:
        self._store = store
        self._engine = engine
        self._settings = settings
        self._previewing = Previewing(
            settings, store, learning=engine.learning, quotas=engine.quotas, health=engine.health
        )

    def route(self, query: Query) -> Any:
        """Where a prompt would go, and why. Nothing is sent."""
        if "prompt" not in query:
            raise CallError("a prompt is needed", hint="Give ?prompt=TEXT, or POST it.", code="no_prompt")
        asked = PreviewRoute(prompt=query["prompt"], session=query.get("session"), images=number_of(query, "images", 0))
        return self._preview(asked)

    def change_route(self, body: bytes) -> Any:
        """A preview, or what is to hold from the next request on."""
        asked = decode(_ROUTE, body)
        return self._preview(asked) if isinstance(asked, PreviewRoute) else self._set(asked)

    def feedback(self, query: Query) -> Any:
        """Votes, the newest first."""
        votes = [one for one in self._store.feedback() if query.get("session") in (None, one.session)]
        return {"feedback": [report_vote(one) for one in votes[::-1][: limit_of(query)]]}

    def give_feedback(self, body: bytes) -> Any:
        """Keeps a vote; routes heed it at once."""
        asked = decode(_VOTE, body)
        known = {one.target for one in self._candidates(None)} if asked.target is not None else ()
        voted = vote(
            self._store,
            good=asked.vote == "good",
            target=asked.target,
            known=known,
            session=asked.session,
            reason=asked.reason,
            now_ms=now_ms(),
        )
        self._heed()
        return report_voted(voted)

    def outcomes(self, query: Query) -> Any:
        """What was said of tasks, the newest first."""
        said = [one for one in self._store.outcomes() if query.get("session") in (None, one.session)]
        return {"outcomes": [report_outcome(one) for one in said[::-1][: limit_of(query)]]}

    def give_outcome(self, body: bytes) -> Any:
        """Keeps what is said of a task; routes heed it at once."""
        asked = decode(_JUDGE, body)
        found = assess(self._store, asked.outcome, task=asked.task, session=asked.session, now_ms=now_ms())
        self._heed()
        return report_assessed(found)

    def quota(self, query: Query) -> Any:
        """How near each provider is to its limits."""
        return {
            "enabled": self._settings.routing.quota.enabled,
            "providers": self._engine.quotas.report(now_ms()),
        }

    def _heed(self) -> None:
        """Has the next request go by what was just said. It is kept, whether or not that can be read now."""
        self._engine.learning.expire()
        with contextlib.suppress(StoreError):
            self._engine.learning.read(now_ms())

    def _preview(self, asked: PreviewRoute) -> Any:
        standing = self._previewing.stand(asked.session or EVERY_SESSION)
        candidates = self._candidates(asked.session)
        return self._previewing.plan(asked.prompt, standing, candidates, now_ms=now_ms(), images=asked.images).report()

    def _set(self, asked: SetRoute) -> Any:
        given: dict[Key, str | None] = {
            key: value for key in KEYS if not isinstance(value := getattr(asked, key), UnsetType)
        }
        if not given:
            raise CallError("nothing is set", hint=f"Give one of {', '.join(KEYS)}.", code="bad_body")
        config, candidates = make_route_config(self._settings), self._candidates(asked.session)
        values = {key: check_setting(key, word, self._settings, candidates, config) for key, word in given.items()}
        session = asked.session or EVERY_SESSION
        put_settings(self._store, session, values, now_ms())
        return {"session": asked.session, "set": values, "holds": settings_of(self._store.route_overrides(session))}

    def _candidates(self, session: str | None) -> Sequence[Candidate]:
        """Whom the session's client could be sent to; of one that is not known, whoever speaks any protocol."""
        targets = self._engine.targets
        if targets is None:
            return ()
        newest = newest_decision(self._store, session) if session else None
        spoken = [one for one in DIALECTS if newest is None or one == newest.dialect]
        found = {one.target: one for dialect in spoken for one in targets.candidates(dialect, client_key=True)}
        return tuple(found.values())
