"""What is known of an exchange that is still open."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ullage.core.accounting import NO_OPTIONS, Meter, Options
from ullage.core.wire import AnswerReader, Caller, Conversation

from .anchoring import Outlook
from .encoding import Decoder
from .foresight import Sight
from .identity import Ending, Kinship
from .managing import Managed
from .measuring import Measures, Weights
from .route_telling import RouteTold
from .routing import Decision
from .warmth import Forecast

_UNKNOWN = Caller(client="unknown")


class Observation(Struct):
    """Filled in by the reader as the exchange passes. `session` is empty for a helper request that names none; `project` is the
    folder that the client says it works in. `virtual`: it names no model of a provider, so it must not be sent as it is;
    `later` is what is sent of it, to be accounted for once it is on its way; `attempts` are those that came to nothing, `notes`
    are told with the route; `question` is what was asked of a small model about the task, and what that cost."""

    caller: Caller = _UNKNOWN
    session: str = ""
    project: str | None = None
    kinship: Kinship | None = None
    ending: Ending | None = None
    model: str | None = None
    stream: bool = False
    meter: Meter | None = None
    measures: Measures | None = None
    weights: Weights | None = None
    options: Options = NO_OPTIONS
    outlook: Outlook | None = None
    sight: Sight | None = None
    forecast: Forecast | None = None
    managed: Managed | None = None
    plan: dict[str, Any] | None = None
    privacy: dict[str, Any] | None = None
    messages: int | None = None
    virtual: bool = False
    decision: Decision | None = None
    told: RouteTold | None = None
    later: Conversation | None = None
    route: dict[str, Any] | None = None
    session_route: dict[str, Any] | None = None
    attempts: tuple[dict[str, Any], ...] = ()
    question: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    spend: dict[str, Any] | None = None
    unparsed: bool = False
    reader: AnswerReader | None = None
    read_bytes: int = 0
    decoder: Decoder | None = None
    unreadable: bool = False

    def again(self) -> Observation:
        """What is known of the request itself, for another target."""
        return Observation(
            caller=self.caller,
            session=self.session,
            project=self.project,
            kinship=self.kinship,
            ending=self.ending,
            model=self.model,
            stream=self.stream,
            messages=self.messages,
            virtual=self.virtual,
            attempts=self.attempts,
            question=self.question,
        )
