"""What a request may cost before it is sent, and who is too dear for it, where a limit of what may be spent may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from .reading import tell_fault
from .refusals import refuse
from .spending import SPENDING_FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.core.spend import Verdict
    from ullage.core.wire import Conversation

    from .addressing import Routed
    from .departure import Departure
    from .exchange import Exchange
    from .observation import Observation
    from .pricing import Pricing
    from .targets import Targets


class Affording:
    """Prices requests and their targets. Used by one thread only, the reader's."""

    def __init__(self, pricing: Pricing, targets: Targets | None) -> None:
        self._pricing = pricing
        self._targets = targets

    def priced(
        self,
        observation: Observation,
        exchange: Exchange,
        departure: Departure,
        find_sent: Callable[[], Conversation | None],
    ) -> Departure:
        """The same with what it may cost, where a limit of that may hold."""
        if not exchange.watched or departure.refusal is not None:
            return departure
        estimate = departure.estimate if departure.destination is None else None
        try:
            sent = find_sent()
            if sent is None and exchange.endpoint.cost is not None:
                spend = self._pricing.expect_passed(observation, exchange, departure.body)
            else:
                spend = self._pricing.expect(observation, exchange, sent, body=departure.body, estimate=estimate)
        except Exception:  # noqa: BLE001 - who cannot be judged is not let through
            tell_fault(exchange)
            return refuse(observation, SPENDING_FAILED, departure.body)
        return replace(departure, spend=spend)

    def too_dear(self, routed: Routed, dear: Departure, verdict: Verdict) -> Iterator[tuple[str, str]]:
        """The targets that a request must not go to for the sake of a limit, each with why: those of a provider whose limit is to
        be avoided, else whoever is not cheaper than the target that it was for."""
        asked, spend = routed.asked, dear.spend
        targets = asked.targets or self._targets
        assert targets is not None and spend is not None, "it was routed and priced"
        names = ", ".join(one.name for one in verdict.exceeded)
        avoided = any(one.action == "avoid" and one.name.startswith(f"{spend.provider} ") for one in verdict.exceeded)
        for one in targets.candidates(asked.conversation.dialect, client_key=asked.client_key):
            if avoided:
                barred = one.model.provider == spend.provider
            else:
                barred = one.target == dear.target or not self._pricing.is_cheaper(one, routed.stripped, spend)
            if barred:
                yield one.target, f"it may cost more than may be spent: {names}"
