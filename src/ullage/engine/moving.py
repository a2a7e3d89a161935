"""Further attempts at a routed request: another target, where the first has failed or may cost too much."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.errors import PrivacyError, RoutingError
from ullage.core.translation import TranslationRefused

from .departure import Departure
from .reading import tell_fault
from .refusals import NOT_ROUTED
from .route_failures import name_failure

if TYPE_CHECKING:
    from ullage.core.errors import UllageError
    from ullage.core.spend import Verdict
    from ullage.core.wire import Conversation

    from .addressing import Addressing, Routed
    from .affording import Affording
    from .exchange import Exchange, GivenUp
    from .observation import Observation
    from .routing import Routing

LookOver = Callable[["Observation", "Exchange", bytes, "Conversation", "Conversation"], Departure]
"""What leaves of a request for its destination, by what the client sent and what the target is to get."""


class Moving:
    """Moves requests to other targets. Used by one thread only, the reader's."""

    def __init__(self, routing: Routing, addressing: Addressing, affording: Affording, look_over: LookOver) -> None:
        self._routing = routing
        self._addressing = addressing
        self._affording = affording
        self._look_over = look_over

    def depart_again(
        self, observation: Observation, exchange: Exchange, given_up: GivenUp
    ) -> tuple[Observation, Departure]:
        """What another target gets of a routed request whose last one has failed: by its own window, its provider's privacy and
        its protocol. Where there is none, a refusal, and all is left as it was."""

        def change(routed: Routed) -> Routed:
            routed = routed.without(
                given_up.target, f"it failed at this request, after {name_failure(given_up.failure)}"
            )
            return routed._replace(asked=replace(routed.asked, now_ms=given_up.at_ms))

        return self._move(observation, exchange, change)

    def depart_elsewhere(
        self, observation: Observation, exchange: Exchange, dear: Departure, verdict: Verdict
    ) -> tuple[Observation, Departure]:
        """The same for one that may cost more than may be spent at its target (routing specification, section 17.2)."""

        def change(routed: Routed) -> Routed:
            for target, why in self._affording.too_dear(routed, dear, verdict):
                routed = routed.without(target, why)
            return routed._replace(asked=replace(routed.asked, thrifty=True))

        limits = ", ".join(one.name for one in verdict.exceeded)
        return self._move(observation, exchange, change, note=f"{dear.target} is left for the {limits} limit")

    def _move(
        self, observation: Observation, exchange: Exchange, change: Callable[[Routed], Routed], *, note: str = ""
    ) -> tuple[Observation, Departure]:
        before = exchange.address
        refusal: UllageError = NOT_ROUTED
        try:
            routed, first = self._addressing.routed[exchange.id], observation.decision
            assert first is not None, "it was routed"
            routed = change(routed)
            while True:
                decision = self._routing.decide(routed.asked)
                notes = (*decision.notes, note) if note else decision.notes
                decision = replace(decision, reason=first.reason, task_id=first.task_id, notes=notes)
                again = observation.again()
                try:
                    sent = self._addressing.address(again, exchange, routed, decision)
                    departure = self._look_over(again, exchange, routed.body, routed.conversation, sent)
                except (PrivacyError, TranslationRefused) as error:
                    self._routing.let_go(decision, exchange.now_ms())
                    routed = routed.without(decision.target, f"nothing is sent there: {error.message}")
                else:
                    self._addressing.routed[exchange.id] = routed
                    return again, departure
        except RoutingError as error:
            refusal = error
        except Exception:  # noqa: BLE001 - a fault of ours: the failure of the last target is answered then
            tell_fault(exchange)
        exchange.address = before
        observation.notes = (f"nobody else is asked: {refusal.message}",)
        return observation, Departure(body=b"", refusal=refusal, session=observation.session)
