"""What is known of quotas from the answers that pass (routing specification, section 16)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.observing import Asked, Bench, to_ask
from ullage.core.quota import QuotaLimits, QuotaRules, Tally
from ullage.core.routing.scoring import Signals
from ullage.engine.quota import (
    KEPT_UNDER,
    Answered,
    Known,
    Quotas,
    add_quota,
    keep_saved,
    make_quota_rules,
    merge_known,
    quota_headers,
)
from ullage.settings.routing import QuotaProviderSettings, QuotaSettings
from ullage.stores import MemoryStore, RouteOverride

NOW_MS = 1_700_000_000_000
LIMITED = (("x-ratelimit-limit-requests", "100"), ("x-ratelimit-remaining-requests", "10"))


def _answer(status: int = 200, *, at_ms: int = NOW_MS, asked_ms: int | None = None, **fields) -> Answered:
    asked = at_ms - 1_000 if asked_ms is None else asked_ms
    return Answered(**{"provider": "openai", "status": status, "at_ms": at_ms, "asked_ms": asked, **fields})


def _noted(*answers: Answered, rules: QuotaRules | None = None, store=None) -> Quotas:
    quotas = Quotas(rules or QuotaRules(), store, store)
    for answer in answers:
        quotas.note(answer)
    return quotas


def test_headers_of_an_answer_become_the_pressure_of_its_provider() -> None:
    quotas = _noted(_answer(headers=LIMITED))
    assert quotas.signals(NOW_MS) == {"openai": ("warning", pytest.approx(0.9))}


def test_an_answer_without_headers_takes_nothing_back() -> None:
    quotas = _noted(_answer(headers=LIMITED), _answer(at_ms=NOW_MS + 1))
    assert quotas.signals(NOW_MS + 1) == {"openai": ("warning", pytest.approx(0.9))}


def test_calls_and_money_count_against_the_limits_of_the_settings() -> None:
    rules = QuotaRules(providers={"openai": QuotaLimits(max_usd=1.0, max_requests=4)})
    quotas = _noted(_answer(usd=0.3), _answer(usd=None), _answer(status=500), rules=rules)
    view = quotas.view("openai", NOW_MS)
    assert (view.requests, view.usd, view.usage) == (3, 0.3, 0.75)
    assert quotas.signals(NOW_MS)["openai"][0] == "warning"  # three calls of four, before all of the window is over


def test_a_429_cools_the_provider_down_for_as_long_as_it_says() -> None:
    quotas = _noted(_answer(429, headers=(("retry-after", "30"),)))
    assert quotas.signals(NOW_MS) == {"openai": ("cooldown", None)}
    assert quotas.signals(NOW_MS + 30_000) == {}


@pytest.mark.parametrize(
    ("status", "kind", "message", "reason"),
    [
        (402, "402", "Insufficient credits", "out-of-credit"),
        (400, "invalid_request_error", "You have reached your specified API usage limits.", "usage-limit"),
    ],
)
def test_a_provider_without_credit_or_allowance_is_left_alone(status, kind, message, reason) -> None:
    """Complaint C13."""
    quotas = _noted(_answer(status, error_type=kind, error_message=message))
    assert quotas.signals(NOW_MS) == {"openai": ("cooldown", None)}
    [row] = quotas.report(NOW_MS)
    assert (row["status"], row["source"], row["reason"]) == ("cooldown", "rate-limit", reason)
    assert row["retry_at_ms"] == NOW_MS + 3_600_000


def test_a_request_that_was_answered_after_a_refusal_ends_it_and_an_older_one_does_not() -> None:
    refusal = _answer(402)
    older = _answer(at_ms=NOW_MS + 5, asked_ms=NOW_MS - 10)
    newer = _answer(at_ms=NOW_MS + 9, asked_ms=NOW_MS + 8)
    assert _noted(refusal, older).signals(NOW_MS + 10)["openai"][0] == "cooldown"
    assert _noted(refusal, older, newer).signals(NOW_MS + 10) == {}


def test_a_task_goes_on_where_others_merely_sent_too_many_requests() -> None:
    assert not _noted(_answer(429, headers=(("retry-after", "30"),))).refuses("openai", NOW_MS)
    spent = _noted(_answer(402))
    assert spent.refuses("openai", NOW_MS)
    assert not spent.refuses("openai", NOW_MS + 3_600_000)
    assert not spent.refuses("anthropic", NOW_MS)


def test_what_is_known_survives_a_restart() -> None:
    store = MemoryStore()
    rules = QuotaRules(providers={"openai": QuotaLimits(max_requests=10)})
    first = _noted(
        _answer(402, headers=LIMITED), _answer(at_ms=NOW_MS + 1, asked_ms=NOW_MS - 1), rules=rules, store=store
    )
    first.save()
    second = Quotas(rules, store)
    assert second.view("openai", NOW_MS + 2) == first.view("openai", NOW_MS + 2)
    assert second.report(NOW_MS + 2) == first.report(NOW_MS + 2)


def _kept(store: MemoryStore, provider: str = "openai") -> int:
    return Quotas(QuotaRules(), store).view(provider, NOW_MS).requests


def test_a_cooldown_is_kept_at_once_and_counters_now_and_then() -> None:
    store = MemoryStore()
    quotas = _noted(_answer(), store=store)
    assert _kept(store) == 1
    quotas.note(_answer(at_ms=NOW_MS + 1))
    assert _kept(store) == 1
    quotas.note(_answer(402, at_ms=NOW_MS + 2))
    assert _kept(store) == 3
    quotas.note(_answer(at_ms=NOW_MS + 5_003))
    assert _kept(store) == 4
    assert store.route_overrides("some-session") == {}


async def test_the_newest_answer_is_kept_though_no_other_one_follows() -> None:
    store = MemoryStore()
    quotas = _noted(_answer(), _answer(at_ms=NOW_MS + 1), store=store)
    assert _kept(store) == 1
    task = asyncio.create_task(keep_saved(quotas, every_s=0))
    while _kept(store) < 2:
        await asyncio.sleep(0)
    task.cancel()


@pytest.mark.parametrize("kept", [[], 3, {"tallies": {"a": {"requests": "many"}}}])
def test_what_cannot_be_read_is_forgotten(kept) -> None:
    store = MemoryStore()
    store.put_route_override(RouteOverride(session=KEPT_UNDER, key="openai", value=kept, at_ms=NOW_MS))
    assert Quotas(QuotaRules(), store).report(NOW_MS) == []


def test_what_is_held_to_a_limit_counts_for_all_processes_at_once() -> None:
    store = MemoryStore()
    rules = QuotaRules(providers={"openai": QuotaLimits(max_requests=4, max_usd=1.0)})
    one, other = Quotas(rules, store, store), Quotas(rules, store, store)
    for number in range(4):
        (one, other)[number % 2].note(_answer(at_ms=NOW_MS + number, usd=0.25))
    for quotas in (one, other):
        assert quotas.signals(NOW_MS + 4)["openai"][0] == "blocked"
        assert (quotas.view("openai", NOW_MS + 4).requests, quotas.view("openai", NOW_MS + 4).usd) == (4, 1.0)


def test_a_refusal_that_one_process_met_holds_for_all_and_an_answer_ends_it_for_all() -> None:
    store = MemoryStore()
    one, other = Quotas(QuotaRules(), store, store), Quotas(QuotaRules(), store, store)
    other.note(_answer(at_ms=NOW_MS - 1))
    one.note(_answer(402))
    other.note(_answer(at_ms=NOW_MS + 1, asked_ms=NOW_MS - 2))
    other.save()
    assert one.refuses("openai", NOW_MS + 2)
    assert other.refuses("openai", NOW_MS + 2)
    other.note(_answer(at_ms=NOW_MS + 4, asked_ms=NOW_MS + 3))
    assert not one.refuses("openai", NOW_MS + 5)


def test_what_another_process_wrote_over_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    one, other = Quotas(QuotaRules(), store, store), Quotas(QuotaRules(), store, store)
    with monkeypatch.context() as patch:  # both have read before either has written
        patch.setattr(store, "route_overrides", lambda _session: {})
        one.note(_answer())
        other.note(_answer())
    one.keep()
    assert _kept(store) == 2


_TALLIES = st.dictionaries(
    st.sampled_from("abc"), st.builds(Tally, window_start_ms=st.sampled_from((0, 60)), requests=st.integers(0, 5))
)
_KNOWN = st.builds(
    Known,
    at_ms=st.integers(0, 9),
    tallies=_TALLIES,
    refused_ms=st.integers(0, 2),
    retry_at_ms=st.none() | st.integers(3, 5),
)


@given(_KNOWN, _KNOWN, _KNOWN)
def test_in_whatever_order_processes_hear_of_each_other_they_know_the_same(
    one: Known, two: Known, three: Known
) -> None:
    merged = merge_known(one, two)
    assert merge_known(two, one) == merged
    assert merge_known(merged, two) == merged
    assert merge_known(merged, three) == merge_known(one, merge_known(two, three))


def test_a_provider_with_limits_is_reported_before_its_first_call() -> None:
    [row] = Quotas(QuotaRules(providers={"groq": QuotaLimits(max_requests=10)})).report(NOW_MS)
    assert (row["provider"], row["status"], row["requests"], row["max_requests"]) == ("groq", "healthy", 0, 10)


def test_nothing_is_said_when_quotas_are_off() -> None:
    quotas = _noted(_answer(402, headers=LIMITED), rules=QuotaRules(enabled=False))
    assert quotas.signals(NOW_MS) == {}
    assert not quotas.refuses("openai", NOW_MS)
    assert quotas.report(NOW_MS) == []


def test_signals_of_targets_get_the_quota_of_their_provider() -> None:
    learned = {"openai/a": Signals(reliability=0.9)}
    found = add_quota(learned, ["openai/a", "openai/b/c", "groq/d"], {"openai": ("blocked", 1.2)})
    assert found == {
        "openai/a": Signals(reliability=0.9, quota="blocked", uvi=1.2),
        "openai/b/c": Signals(quota="blocked", uvi=1.2),
    }
    assert add_quota(learned, ["openai/a"], {}) == learned


def test_rules_are_those_of_the_settings() -> None:
    settings = QuotaSettings(stale_after_ms=5, providers={"p": QuotaProviderSettings(max_usd=2.0, warning_uvi=0.5)})
    rules = make_quota_rules(settings)
    assert rules.stale_after_ms == 5
    assert rules.limits("p") == QuotaLimits(max_usd=2.0, warning_uvi=0.5)
    assert rules.window_of("p") == 86_400_000


def test_of_headers_only_those_are_looked_at_that_may_say_anything() -> None:
    headers = {b"Retry-After": b"3", b"X-RateLimit-Reset": b"9", b"content-type": b"a/b", b"RateLimit": b"x"}
    assert quota_headers(headers) == (("Retry-After", "3"), ("X-RateLimit-Reset", "9"), ("RateLimit", "x"))


def test_memory_of_providers_is_bounded() -> None:
    quotas = _noted(*(_answer(provider=f"p{number}", headers=LIMITED) for number in range(300)))
    assert len(quotas.signals(NOW_MS)) == 200
    store = MemoryStore()
    _noted(*(_answer(402, provider=f"p{number}") for number in range(300)), store=store)
    assert len(store.route_overrides(KEPT_UNDER)) == 200


def _asked(path: str = "/v1/messages", body: bytes = b'{"model":"m-1","max_tokens":9,"messages":[]}') -> Asked:
    return to_ask("POST", path, {"x-api-key": "k"}, body)


PRICED = {"models": {"overrides": {"provider.example/m-1": {"input_price": 1.0, "output_price": 10.0}}}}


def test_calls_that_are_merely_relayed_count_as_well() -> None:
    """A quota is the provider's, whoever chose it."""
    body = b'{"model":"m-1","max_tokens":9,"messages":[{"role":"user","content":"Hello."}]}'
    limits = {"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "10"}
    with Bench(sections=PRICED) as bench:
        call = bench.ask(_asked(body=body), headers=limits)
        bench.ask(_asked(body=b"no json"), status=402)
        bench.ask(_asked("/v1/messages/count_tokens", body), {"input_tokens": 3})
        [row] = bench.engine.quotas.report(call.created_ms + 2_000)
    assert (row["provider"], row["requests"], row["observed"]) == ("provider.example", 2, 0.8)
    assert (row["status"], row["reason"]) == ("cooldown", "out-of-credit")
    assert row["usd"] == pytest.approx((100 * 1.0 + 5 * 10.0) / 1_000_000)


def test_an_answer_that_never_began_says_nothing() -> None:
    with Bench() as bench:
        exchange = bench.begin(_asked())
        exchange.failed("upstream_refused")
        bench.engine.finish(exchange)
        bench.record(exchange)
        assert bench.engine.quotas.report(exchange.created_ms) == []


def test_what_was_counted_is_kept_when_the_engine_closes() -> None:
    store = MemoryStore()
    with Bench(store) as bench:
        for _ in range(3):
            bench.ask(_asked())
    with Bench(store) as bench:
        bench.ask(_asked())
        assert bench.engine.quotas.view("provider.example", 1_800_000_000_000).requests == 4


def test_that_a_provider_is_in_another_state_is_an_event_once() -> None:
    store = MemoryStore()
    rules = QuotaRules(providers={"openai": QuotaLimits(max_requests=4)})
    quotas = _noted(*[_answer(at_ms=NOW_MS + n) for n in range(3)], rules=rules, store=store)
    quotas.note(_answer(429, at_ms=NOW_MS + 10, headers=(("retry-after", "30"),)))
    quotas.note(_answer(429, at_ms=NOW_MS + 11, headers=(("retry-after", "30"),)))
    told = [event.details for event in store.walk_events()]
    assert [(one["before"], one["status"]) for one in told] == [("healthy", "warning"), ("warning", "cooldown")]
    assert told[0]["uvi"] > 0.8
    assert told[1]["retry_at_ms"] == NOW_MS + 10 + 30_000
