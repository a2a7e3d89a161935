"""Which failures another target may mend, and how long they are remembered (routing specification, section 20.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .route_state import LONGEST_GRUDGE_MS, Failure

if TYPE_CHECKING:
    from ullage.core.content import Answer

    from .exchange import Exchange
    from .quota import Quotas

_RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FIRST_ERROR = 400


def find_failure(exchange: Exchange, answer: Answer | None, quotas: Quotas, now_ms: int) -> Failure | None:
    """What went wrong in a way that another target may mend; `None` where nothing did, or nothing can.

    It is remembered for ten minutes, or until the provider lets itself be asked again.
    """
    status = _status(exchange, answer)
    if status is None:
        return None
    retry_at_ms = quotas.view(exchange.provider, now_ms).retry_at_ms
    until_ms = now_ms + LONGEST_GRUDGE_MS
    return Failure(status=status, until_ms=until_ms if retry_at_ms is None else min(retry_at_ms, until_ms))


def _status(exchange: Exchange, answer: Answer | None) -> str | None:
    if exchange.outcome in ("left", "answered"):
        return None
    if exchange.status is None:
        return exchange.warnings[-1] if exchange.warnings else "no answer"
    if exchange.status in _RETRYABLE:
        return str(exchange.status)
    broken = exchange.outcome == "cut" or (answer is not None and answer.error_type is not None)
    return "a broken answer" if exchange.status < _FIRST_ERROR and broken else None
