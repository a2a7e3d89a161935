"""What a call cost: one reading of it, for budgets, quotas, records and attempts alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.spend.ledger import to_nano
from ullage.stores.metrics import cost_nano_usd

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.profiles import Prices
    from ullage.core.profiles.cache_rules import CacheRule

_NOTHING_MADE = frozenset({*range(400, 500), 500, 501, 502, 503, 529}) - {408}
"""Statuses of errors with which a provider says that it made nothing, so that nothing is to be paid. A proxy that waited in vain
(408, 504, 524) does not know."""

_NOT_REACHED = frozenset({"upstream_refused", "upstream_dns", "upstream_tls"})

_MOST_USD = 1_000_000
"""More than any call costs: whoever says so means something else."""


def cost_of_usage(usage: Usage, prices: Prices | None, rule: CacheRule) -> int | None:
    """Nano-USD: what the provider says that it was, else the usage at list prices; `None` where nobody knows."""
    reported = (usage.raw or {}).get("cost")
    if isinstance(reported, int | float) and not isinstance(reported, bool) and 0 < reported < _MOST_USD:
        return to_nano(reported)
    return cost_nano_usd(msgspec.to_builtins(usage), prices, rule)


def is_free(status: int | None, code: str) -> bool:
    """Whether a call surely cost nothing: nobody could be reached, or an error came in place of an answer. `status` is that of
    the answer, `None` where none began; `code` says why."""
    return code in _NOT_REACHED if status is None else status in _NOTHING_MADE
