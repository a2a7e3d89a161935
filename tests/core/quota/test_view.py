"""Specification of routing, section 16: how much of a quota is used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.quota import NO_RULES, Observed, QuotaLimits, QuotaRules, Tally, count_call, start_window, view_quota

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
NOW_MS = 20_000 * DAY_MS + DAY_MS


def _view(usd=0.0, requests=0, hours=24.0, observed=None, **limits):
    rules = QuotaRules(providers={"p": QuotaLimits(**limits)})
    tally = Tally(window_start_ms=NOW_MS - round(hours * HOUR_MS), requests=requests, usd=usd)
    said = None if observed is None else Observed(uvi=observed, at_ms=NOW_MS)
    return view_quota("p", rules, now_ms=NOW_MS, tally=tally, observed=said)


@pytest.mark.parametrize(
    ("view", "uvi", "status", "burn"),
    [
        pytest.param(_view(5, 50, 24, max_usd=10, max_requests=100), 0.5, "healthy", 0.208333, id="half used"),
        pytest.param(_view(5, 0, 6, max_usd=10), 2.0, "warning", 0.833333, id="a fast burn warns and never blocks"),
        pytest.param(_view(11, 0, 24, max_usd=10), 1.1, "blocked", 0.458333, id="more than all used"),
        pytest.param(_view(2, 10, 12, max_usd=10, max_requests=100), 0.4, "healthy", 0.166667, id="the money leads"),
        pytest.param(
            _view(1, 30, 12, 0.9, max_usd=10, max_requests=100), 0.9, "warning", 0.083333, id="observed leads"
        ),
        pytest.param(
            _view(9, 0, 24, max_usd=10, warning_uvi=0.95, block_uvi=0.5), 0.9, "healthy", 0.375, id="block is raised"
        ),
        pytest.param(_view(observed=0.75), 0.75, "healthy", 0.0, id="headers alone"),
    ],
)
def test_the_table_of_section_16(view, uvi, status, burn) -> None:
    assert view.uvi == pytest.approx(uvi, abs=1e-6)
    assert view.status == status
    assert view.burn_usd_per_hour == pytest.approx(burn, abs=1e-6)


def test_a_first_request_does_not_look_like_a_burn() -> None:
    """The described system has 0.5 here: the velocity, which is still told; what counts is the usage."""
    view = _view(0.05, 0, 0.1, max_usd=10)
    assert view.velocity == pytest.approx(0.5)
    assert view.uvi == pytest.approx(0.005)
    assert view.status == "healthy"
    assert view.burn_usd_per_hour == pytest.approx(0.5)


def test_from_a_twentieth_of_the_window_on_a_burn_counts() -> None:
    assert _view(1, 0, 1.2, max_usd=10).uvi == pytest.approx(2.0)
    assert _view(1, 0, 1.19, max_usd=10).uvi == pytest.approx(0.1)


def test_nothing_known_is_unknown_and_so_is_everything_when_off() -> None:
    assert view_quota("p", NO_RULES, now_ms=NOW_MS).status == "unknown"
    off = QuotaRules(enabled=False)
    assert view_quota("p", off, now_ms=NOW_MS, retry_at_ms=NOW_MS + 1).status == "unknown"


def test_a_provider_that_asks_to_wait_is_cooling_down_whatever_else_is_known() -> None:
    view = view_quota("p", NO_RULES, now_ms=NOW_MS, retry_at_ms=NOW_MS + 1)
    assert (view.status, view.source, view.retry_at_ms) == ("cooldown", "rate-limit", NOW_MS + 1)
    over = view_quota("p", NO_RULES, now_ms=NOW_MS + 1, retry_at_ms=NOW_MS + 1)
    assert (over.status, over.retry_at_ms) == ("unknown", None)


@pytest.mark.parametrize(
    ("age_ms", "until_ms", "stale_after_ms", "counts"),
    [
        (HOUR_MS, None, HOUR_MS, True),
        (HOUR_MS + 1, None, HOUR_MS, False),
        (60_000, None, 1, True),
        (60_001, None, 1, False),
        (1_000, NOW_MS + 1, HOUR_MS, True),
        (1_000, NOW_MS, HOUR_MS, False),
    ],
)
def test_what_a_provider_said_counts_until_it_is_stale_or_the_limit_begins_anew(
    age_ms, until_ms, stale_after_ms, counts
) -> None:
    rules = QuotaRules(stale_after_ms=stale_after_ms)
    observed = Observed(uvi=1.0, at_ms=NOW_MS - age_ms, until_ms=until_ms)
    view = view_quota("p", rules, now_ms=NOW_MS, observed=observed)
    assert (view.status == "blocked") is counts
    assert view.source == ("adapter" if counts else None)


def test_the_source_is_the_side_that_says_more() -> None:
    assert _view(5, observed=0.5, max_usd=10).source == "adapter"
    assert _view(6, observed=0.5, max_usd=10).source == "configured"


def test_counters_begin_anew_at_aligned_boundaries() -> None:
    window = 60_000
    first = count_call(None, now_ms=119_999, window_ms=window, usd=1.0)
    second = count_call(first, now_ms=119_999, window_ms=window, usd=None)
    assert second == Tally(window_start_ms=60_000, requests=2, usd=1.0)
    assert count_call(second, now_ms=120_000, window_ms=window, usd=0.5) == Tally(
        window_start_ms=120_000, requests=1, usd=0.5
    )
    assert start_window(119_999, window) == 60_000


def test_a_tally_of_an_older_window_says_nothing() -> None:
    rules = QuotaRules(providers={"p": QuotaLimits(max_usd=1)})
    view = view_quota("p", rules, now_ms=NOW_MS + 1, tally=Tally(window_start_ms=NOW_MS - DAY_MS, requests=3, usd=9.0))
    assert (view.requests, view.usage, view.status) == (0, 0.0, "healthy")


def test_a_window_is_a_minute_at_least() -> None:
    assert QuotaRules(window_ms=1).window_of("p") == 60_000
    assert QuotaRules(providers={"p": QuotaLimits(window_ms=90_000)}).window_of("p") == 90_000


_shares = st.one_of(st.none(), st.floats(0, 20))


@given(_shares, _shares, _shares, st.floats(0, 12), st.floats(0, 12), st.integers(0, DAY_MS))
def test_more_use_never_eases_a_status(usd, limit, observed, warning, block, age_ms) -> None:
    order = ("unknown", "healthy", "warning", "blocked", "cooldown")
    rules = QuotaRules(providers={"p": QuotaLimits(max_usd=limit, warning_uvi=warning, block_uvi=block)})
    said = None if observed is None else Observed(uvi=min(observed, 1.0), at_ms=NOW_MS)
    start = NOW_MS - age_ms
    less = view_quota("p", rules, now_ms=NOW_MS, tally=Tally(window_start_ms=start, usd=usd or 0.0), observed=said)
    more = view_quota(
        "p", rules, now_ms=NOW_MS, tally=Tally(window_start_ms=start, usd=(usd or 0.0) + 1), observed=said
    )
    assert order.index(more.status) >= order.index(less.status)
