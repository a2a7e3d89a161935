"""Why a provider refuses all requests for now: too many, no credit left, an allowance that is used up (complaint C13).

Patterns are sentences of providers as users report them; a message of another kind that merely speaks of limits is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from .headers import MOST_WAIT_MS, read_headers
from .moments import read_rfc_3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RefusalKind = Literal["rate-limit", "out-of-credit", "usage-limit"]

COOLDOWN_MS = 3_600_000
"""How long a provider without credit or allowance is left alone where it does not say when it takes requests again (ours)."""

_TOO_MANY_REQUESTS, _PAYMENT_REQUIRED = 429, 402
_FIRST_ERROR = 400

_CREDIT_TYPES = frozenset({"insufficient_quota", "credit_balance_exhausted", "billing_error", "billing_not_active"})
_USAGE_TYPES = frozenset({"usage_limit_reached", "usage_not_included"})
_CREDIT = re.compile(
    r"credit balance is too low"  # Anthropic, status 400
    r"|insufficient credits"  # OpenRouter, 402
    r"|insufficient balance"  # DeepSeek, 402
    r"|exceeded your current quota, please check your plan and billing"  # OpenAI, 429; Google, 429
    r"|you have no credits remaining",  # OpenAI, 429
    re.IGNORECASE,
)
_USAGE = re.compile(
    r"reached your specified (?:API|workspace API) usage limits"  # Anthropic, 400
    r"|the usage limit has been reached",  # OpenAI, for subscriptions
    re.IGNORECASE,
)
_REGAIN = re.compile(r"regain access on (\d{4}-\d\d-\d\d)(?: at (\d\d:\d\d) UTC)?", re.ASCII)


class Refusal(Struct, frozen=True, kw_only=True):
    """A provider that is to be left alone. `retry_at_ms` is `None` where too many requests came and it names no time."""

    kind: RefusalKind
    retry_at_ms: int | None


def read_refusal(
    provider: str,
    status: int | None,
    headers: Iterable[tuple[str, str]],
    *,
    now_ms: int,
    error_type: str | None = None,
    error_message: str | None = None,
) -> Refusal | None:
    """Whether an answer refuses for the provider as a whole. An error inside a stream counts, whatever the status of its head."""
    failed = error_type is not None or (status is not None and status >= _FIRST_ERROR)
    if not failed:
        return None
    kind = _kind(status, error_type or "", error_message or "")
    if kind is None:
        return None
    retry = read_headers(provider, headers, now_ms).retry_at_ms
    if kind == "rate-limit":
        return Refusal(kind=kind, retry_at_ms=retry)
    moment = _regained(error_message or "")
    named = moment if moment is not None and moment > now_ms else retry
    return Refusal(kind=kind, retry_at_ms=min(named or now_ms + COOLDOWN_MS, now_ms + MOST_WAIT_MS))


def _kind(status: int | None, error_type: str, message: str) -> RefusalKind | None:
    if error_type in _USAGE_TYPES or _USAGE.search(message):
        return "usage-limit"
    if status == _PAYMENT_REQUIRED or error_type in _CREDIT_TYPES or _CREDIT.search(message):
        return "out-of-credit"
    return "rate-limit" if status == _TOO_MANY_REQUESTS else None


def _regained(message: str) -> int | None:
    """When access is given back, as Anthropic writes it; without a time of day, at the start of that day."""
    found: Sequence[str | None] | None = match.groups() if (match := _REGAIN.search(message)) else None
    return None if found is None else read_rfc_3339(f"{found[0]}T{found[1] or '00:00'}:00Z")
