"""Why requests are not sent: what their clients are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.errors import PrivacyError, RequestError, RoutingError

from .departure import Departure
from .route_telling import report_stop
from .routing import RouteStopped

if TYPE_CHECKING:
    from ullage.core.errors import UllageError

    from .observation import Observation

UNREADABLE = RequestError(
    "the request cannot be read, so no plan can be made of it",
    code="unreadable_request",
    hint="Send it with the header x-ullage-mode: observe to have it passed on as it is.",
)
NOT_ROUTED = RoutingError(
    "the model for this request could not be chosen, so it was not sent",
    code="routing_failed",
    hint="`ullage serve` says more on standard error. Name a model of a provider to go on without routing.",
)
UNROUTABLE = RoutingError(
    "the request cannot be read, so no model can be chosen for it",
    code="unreadable_request",
    hint="Name a model of a provider to have it passed on as it is.",
)
COUNTED_HERE = RoutingError(
    "the chosen model speaks another protocol than the client, so nothing but requests for an answer is sent there",
    code="dialect",
    hint="Tokens are counted here.",
)
NOT_CLEARED = PrivacyError(
    "the request could not be looked at before it left, so it was not sent",
    code="privacy_failed",
    hint="`ullage serve` says more on standard error.",
)


def refuse(observation: Observation, error: UllageError, body: bytes) -> Departure:
    """Nothing is sent of a request: what was made of it is forgotten."""
    observation.managed = observation.later = None
    if isinstance(error, RouteStopped):
        observation.route = report_stop(error)
    return Departure(body=body, refusal=error, session=observation.session)
