"""What is kept of the attempts of a routed request: which targets were asked, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .health import Outcome, find_retry
from .quota import Answered, quota_headers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .exchange import Exchange, GivenUp
    from .routing import Decision


def outcome_of(given_up: GivenUp) -> Outcome:
    """What an attempt that came to nothing says of its target."""
    return Outcome(
        target=given_up.target,
        asked_ms=given_up.asked_ms,
        at_ms=given_up.at_ms,
        failure=given_up.failure,
        retry_at_ms=find_retry(given_up.provider, given_up.headers, given_up.at_ms),
    )


def answered_of(given_up: GivenUp) -> Answered | None:
    """What it says of its provider's quota; `None` where no answer began."""
    if given_up.status is None:
        return None
    return Answered(
        provider=given_up.provider,
        status=given_up.status,
        asked_ms=given_up.asked_ms,
        at_ms=given_up.at_ms,
        headers=quota_headers(given_up.headers),
        error_type=given_up.failure.code,
        error_message=given_up.failure.message,
    )


def report_given_up(given_up: GivenUp, decision: Decision | None, spend: Mapping[str, Any]) -> dict[str, Any]:
    """An attempt that came to nothing, in the record of its call, with what is known of its cost."""
    return {
        "target": given_up.target,
        "dialect": decision.destination.dialect if decision is not None else None,
        "status": given_up.status,
        "failure": given_up.failure.kind,
        "ms_to_first": given_up.first_ms,
        **_money(spend),
        "committed": False,
        "at_ms": given_up.asked_ms,
        "ms": given_up.at_ms - given_up.asked_ms,
    }


def report_last(
    decision: Decision, exchange: Exchange, outcome: Outcome | None, spend: Mapping[str, Any]
) -> dict[str, Any]:
    """The attempt that the request ended with. `committed`: the client got what it answered."""
    failure = outcome.failure if outcome is not None else exchange.failure
    return {
        "target": decision.target,
        "dialect": decision.destination.dialect,
        "status": exchange.status,
        "failure": failure.kind if failure is not None else None,
        "ms_to_first": exchange.first_ms,
        "ms_to_output": exchange.output_ms,
        **_money(spend),
        "committed": exchange.status is not None,
        "at_ms": exchange.asked_ms,
        "ms": round(exchange.last_ms - (exchange.asked_ms - exchange.created_ms), 3),
    }


def _money(spend: Mapping[str, Any]) -> dict[str, float | None]:
    """What an attempt cost, and what was reserved for it, which stays where nobody knows the cost."""
    return {"usd": spend.get("usd"), "reserved_usd": spend.get("reserved_usd")}
