"""Specification of routing, section 16: limits and waits in the headers of answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.quota import read_headers
from ullage.core.quota.headers import clean_headers

NOW_MS = 1_700_000_000_000


def _read(provider="openai", /, **headers):
    return read_headers(provider, [(name.replace("_", "-"), value) for name, value in headers.items()], NOW_MS)


def _retry(name, value):
    found = read_headers("any", [(name, value)], NOW_MS).retry_at_ms
    return None if found is None else found - NOW_MS


@pytest.mark.parametrize(
    ("name", "value", "wait_ms"),
    [
        ("retry-after", "30", 30_000),
        ("Retry-After", " 30 ", 30_000),
        ("retry-after", "0", 0),
        ("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT", 30_000),
        ("retry-after", "Tue, 14 Nov 2023 22:13:00 GMT", None),
        ("retry-after", "-5", None),
        ("retry-after", "soon", None),
        ("retry-after", "", None),
        ("x-ratelimit-reset", "1700000060", 60_000),
        ("x-rate-limit-reset", "1700000060", 60_000),
        ("x-ratelimit-reset", "1700000060000", 60_000),
        ("x-ratelimit-reset", "60", None),
        ("x-ratelimit-reset-after", "7.5", 7_500),
        ("retry-after", "200000", 86_400_000),
        ("x-ratelimit-reset", "9999999999", 86_400_000),
        ("ratelimit-reset", "20", 20_000),
        ("anthropic-ratelimit-requests-reset", "2023-11-14T22:14:20Z", 60_000),
        ("anthropic-ratelimit-input-tokens-reset", "2023-11-14T22:14:20Z", 60_000),
        ("anthropic-ratelimit-requests-reset", "2023-11-14T22:12:20Z", None),
    ],
)
def test_when_to_ask_again(name, value, wait_ms) -> None:
    assert _retry(name, value) == wait_ms


@pytest.mark.parametrize(
    ("duration", "wait_ms"),
    [("6m0s", 360_000), ("1s", 1_000), ("250ms", 250), ("1h2m3.5s", 3_723_500), ("2d", 86_400_000)],
)
def test_lengths_of_time_are_read(duration, wait_ms) -> None:
    assert _read(x_ratelimit_reset_requests=duration).retry_at_ms == NOW_MS + wait_ms
    assert _read(x_ratelimit_reset_tokens=duration).retry_at_ms == NOW_MS + wait_ms


def test_the_first_header_that_can_be_read_says_when() -> None:
    headers = [("x-ratelimit-reset-after", "9"), ("x-ratelimit-reset", "1700000060"), ("retry-after", "later")]
    assert read_headers("any", headers, NOW_MS).retry_at_ms == NOW_MS + 60_000


def test_a_limit_that_is_not_used_up_asks_nobody_to_wait() -> None:
    read = _read(
        x_ratelimit_limit_requests="100", x_ratelimit_remaining_requests="20", x_ratelimit_reset_requests="6m0s"
    )
    assert read.uvi == pytest.approx(0.8)
    assert read.until_ms == NOW_MS + 360_000
    assert read.retry_at_ms is None


def test_of_limits_that_are_used_up_the_latest_says_when() -> None:
    read = _read(
        "anthropic",
        anthropic_ratelimit_requests_limit="50",
        anthropic_ratelimit_requests_remaining="0",
        anthropic_ratelimit_requests_reset="2023-11-14T22:13:30Z",
        anthropic_ratelimit_input_tokens_limit="50000",
        anthropic_ratelimit_input_tokens_remaining="0",
        anthropic_ratelimit_input_tokens_reset="2023-11-14T22:14:20+00:00",
        anthropic_ratelimit_output_tokens_limit="10000",
        anthropic_ratelimit_output_tokens_remaining="9000",
        anthropic_ratelimit_output_tokens_reset="2023-11-14T23:00:00Z",
    )
    assert (read.uvi, read.until_ms, read.retry_at_ms) == (1.0, NOW_MS + 60_000, NOW_MS + 60_000)


def test_limit_100_with_20_left_is_0_8() -> None:
    for name in ("x-ratelimit-{}-requests", "x-rate-limit-{}-requests", "x-ratelimit-{}"):
        headers = [(name.format("limit"), "100"), (name.format("remaining"), "20")]
        assert read_headers("any", headers, NOW_MS).uvi == pytest.approx(0.8)
        assert read_headers("openai", headers, NOW_MS).uvi == pytest.approx(0.8)


def test_tokens_are_read_of_openai_and_unread_of_others() -> None:
    headers = {
        "x_ratelimit_limit_requests": "100",
        "x_ratelimit_remaining_requests": "75",
        "x_ratelimit_limit_tokens": "1000",
        "x_ratelimit_remaining_tokens": "100",
    }
    assert _read("openai", **headers).uvi == pytest.approx(0.9)
    assert _read("groq", **headers).uvi == pytest.approx(0.25)


@pytest.mark.parametrize("kind", ["tokens", "input-tokens", "output-tokens", "requests"])
def test_each_of_anthropics_limits_is_read_whoever_passes_it_on(kind) -> None:
    headers = [(f"Anthropic-Ratelimit-{kind}-Limit", "200"), (f"anthropic-ratelimit-{kind}-remaining", "50")]
    assert read_headers("anthropic", headers, NOW_MS).uvi == pytest.approx(0.75)
    assert read_headers("a-proxy", headers, NOW_MS).uvi == pytest.approx(0.75)


def test_the_windows_of_a_subscription_are_read() -> None:
    read = _read(
        "anthropic",
        anthropic_ratelimit_unified_status="allowed",
        anthropic_ratelimit_unified_5h_utilization="0.42",
        anthropic_ratelimit_unified_5h_reset="1700000600",
        anthropic_ratelimit_unified_7d_utilization="0.83",
        anthropic_ratelimit_unified_7d_reset="2023-11-20T00:00:00Z",
        anthropic_ratelimit_unified_fallback_percentage="0.5",
    )
    assert read.uvi == pytest.approx(0.83)
    assert read.until_ms == 1_700_438_400_000
    assert read.retry_at_ms is None


def test_the_windows_of_a_codex_subscription_are_read() -> None:
    read = _read(
        "openai-codex",
        x_codex_primary_used_percent="42.5",
        x_codex_primary_window_minutes="300",
        x_codex_primary_reset_after_seconds="600",
        x_codex_secondary_used_percent="87",
        x_codex_secondary_reset_at="1700009000",
    )
    assert (read.uvi, read.until_ms, read.retry_at_ms) == (pytest.approx(0.87), NOW_MS + 9_000_000, None)
    spent = _read("openai-codex", x_codex_primary_used_percent="100", x_codex_primary_reset_at="1700000600")
    assert (spent.uvi, spent.retry_at_ms) == (1.0, NOW_MS + 600_000)


def test_a_subscription_that_refuses_is_used_up_until_it_begins_anew() -> None:
    read = _read(
        "anthropic", anthropic_ratelimit_unified_status="rejected", anthropic_ratelimit_unified_reset="1700000600"
    )
    assert (read.uvi, read.until_ms, read.retry_at_ms) == (1.0, NOW_MS + 600_000, NOW_MS + 600_000)


@pytest.mark.parametrize(
    "headers",
    [
        {"ratelimit_limit": "100, 100;w=60", "ratelimit_remaining": "25", "ratelimit_reset": "50"},
        {"ratelimit": "limit=100, remaining=25, reset=50"},
        {"ratelimit": '"default";r=25;t=50', "ratelimit_policy": '"burst";q=900;w=1, "default";q=100;w=60'},
    ],
    ids=["2022", "2023", "2025"],
)
def test_the_drafts_of_the_ietf_are_read(headers) -> None:
    read = _read("some-host", **headers)
    assert read.uvi == pytest.approx(0.75)
    assert read.until_ms == NOW_MS + 50_000


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_value_is_absent_and_not_zero(value) -> None:
    assert _read(x_ratelimit_limit_requests="100", x_ratelimit_remaining_requests=value).uvi is None
    assert clean_headers([("A", value)]) == {}


@pytest.mark.parametrize(
    ("limit", "remaining", "uvi"),
    [("0", "0", None), ("-1", "0", None), ("x", "1", None), ("10", "20", 0.0), ("10", "nan", None)],
)
def test_figures_that_make_no_sense_say_nothing_or_stay_within_bounds(limit, remaining, uvi) -> None:
    assert _read(x_ratelimit_limit="" + limit, x_ratelimit_remaining=remaining).uvi == uvi


_names = st.sampled_from(
    [
        "retry-after",
        "ratelimit",
        "ratelimit-policy",
        "ratelimit-reset",
        "x-ratelimit-reset",
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-unified-5h-utilization",
        "anthropic-ratelimit-unified-5h-reset",
    ]
)
_values = st.one_of(
    st.text(max_size=80),
    st.text(alphabet='0123456789.:;,=-"TZGMTMonJanqrtw ', max_size=80),
    st.integers(-1, 10**30).map(str),
)


@given(st.lists(st.tuples(_names, _values), max_size=12), st.sampled_from(["openai", "anthropic", "other"]))
def test_no_header_breaks_the_reading(headers, provider) -> None:
    read = read_headers(provider, headers, NOW_MS)
    assert read.uvi is None or 0 <= read.uvi <= 1
    assert read.until_ms is None or read.uvi is not None
    assert read.retry_at_ms is None or NOW_MS <= read.retry_at_ms <= NOW_MS + 86_400_000
