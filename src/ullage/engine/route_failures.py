"""Which failures are held against a target, and how long they are remembered (routing specification, section 20.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .route_state import LONGEST_GRUDGE_MS, Failure

if TYPE_CHECKING:
    from ullage.core import health

    from .quota import Quotas

_WITHOUT_STATUS = ("connection", "timeout")


def name_failure(failure: health.Failure) -> str:
    """The status that a target answered with, or a word for what came in place of an answer: a status of ours was nobody's."""
    return failure.code if failure.kind in _WITHOUT_STATUS else str(failure.status)


def remember(failure: health.Failure | None, provider: str, quotas: Quotas, now_ms: int) -> Failure | None:
    """A failure as a session remembers it; `None` where nothing went wrong, or nothing that another target would not do as well.

    It is remembered for ten minutes, or until the provider lets itself be asked again.
    """
    if failure is None or not (failure.retryable or failure.counts):
        return None
    retry_at_ms = quotas.view(provider, now_ms).retry_at_ms
    until_ms = now_ms + LONGEST_GRUDGE_MS
    return Failure(
        status=name_failure(failure), until_ms=until_ms if retry_at_ms is None else min(retry_at_ms, until_ms)
    )
