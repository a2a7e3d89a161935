"""Complaint C13: a provider without credit or allowance is left alone, whatever the status of its answer."""

import pytest

from ullage.core.quota import read_refusal

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def _refusal(status, message=None, kind=None, headers=(), provider="anthropic"):
    return read_refusal(provider, status, headers, now_ms=NOW_MS, error_type=kind, error_message=message)


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (402, None, None),
        (402, "402", "Insufficient credits. Add more using https://openrouter.ai/settings/credits"),
        (402, "unknown_error", "Insufficient Balance"),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans.",
        ),
        (429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
        (200, "credit_balance_exhausted", "You have no credits remaining. Add credits to continue."),
    ],
)
def test_a_provider_without_credit_is_left_alone_for_an_hour(status, kind, message) -> None:
    refusal = _refusal(status, message, kind)
    assert (refusal.kind, refusal.retry_at_ms) == ("out-of-credit", NOW_MS + HOUR_MS)


@pytest.mark.parametrize(
    ("message", "wait_ms"),
    [
        (
            "You have reached your specified API usage limits. You will regain access on 2023-11-15 at 00:00 UTC.",
            6_400_000,
        ),
        ("You have reached your specified API usage limits. You will regain access on 2023-11-15", 6_400_000),
        (
            "You have reached your specified API usage limits. You will regain access on 2023-12-01 at 00:00 UTC.",
            24 * HOUR_MS,
        ),
        ("You have reached your specified API usage limits. You will regain access on 2023-11-01.", HOUR_MS),
        ("You have reached your specified API usage limits.", HOUR_MS),
    ],
)
def test_a_usage_limit_lasts_until_access_is_given_back(message, wait_ms) -> None:
    refusal = _refusal(400, message, "invalid_request_error")
    assert (refusal.kind, refusal.retry_at_ms) == ("usage-limit", NOW_MS + wait_ms)


def test_a_wait_that_the_headers_name_holds() -> None:
    assert _refusal(402, headers=[("retry-after", "120")]).retry_at_ms == NOW_MS + 120_000
    limited = _refusal(429, kind="rate_limit_error", headers=[("retry-after", "30")])
    assert (limited.kind, limited.retry_at_ms) == ("rate-limit", NOW_MS + 30_000)


def test_too_many_requests_without_a_time_set_no_cooldown() -> None:
    assert _refusal(429, kind="rate_limit_error").retry_at_ms is None


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (200, None, None),
        (200, "insufficient credits", None),
        (400, "messages: at least one message is required", "invalid_request_error"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
        (401, "invalid x-api-key", "authentication_error"),
        (529, "Overloaded", "overloaded_error"),
        (500, None, None),
        (None, None, None),
    ],
)
def test_other_answers_refuse_nothing(status, message, kind) -> None:
    assert _refusal(status, message, kind) is None
