"""What leaves for the provider in place of a client's request, and what the client is told of it."""

from __future__ import annotations

from msgspec import Struct

from ullage.core.errors import UllageError
from ullage.core.spend import Spend
from ullage.core.translation import TranslatedRequest

from .route_telling import RouteTold
from .targets import Destination


class Departure(Struct, frozen=True, kw_only=True):
    """A request that was looked at before it is sent.

    `body` is what is sent; with `plain` it is not encoded, whatever the client's was. `status` is the plan's (design, section
    11), `None` for a request that is never planned. `target` is `provider/model`, `estimate` the tokens of the prompt as sent.
    `why` explains the plan in a line of ASCII. A `refusal` is answered, and nothing is sent. A routed request goes to the
    `destination`, and its client is told of the `route`. `translated`: the destination speaks another protocol than the client,
    so does `body`, and its answer is to be translated back. `untouched`: it was not what it may have been, and goes as it would
    have gone. `spend` is what it may cost, where a limit of that may hold; `budget` tells its client in a line of a limit that it
    exceeds.
    """

    body: bytes
    plain: bool = False
    status: str | None = None
    session: str = ""
    target: str = ""
    estimate: int | None = None
    why: str = ""
    refusal: UllageError | None = None
    destination: Destination | None = None
    translated: TranslatedRequest | None = None
    route: RouteTold | None = None
    untouched: bool = False
    spend: Spend | None = None
    budget: str = ""
