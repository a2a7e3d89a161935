"""What may be set for routes."""

from __future__ import annotations

import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG
from ullage.core.errors import CallError, StoreError
from ullage.core.routing.filtering import Candidate, Constraints, make_candidate
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.route import RouteConfig
from ullage.engine.route_planning import read_overrides
from ullage.engine.steering import KEYS, NO_POOL, Key, check_pin, check_pool, check_setting, put_settings, settings_of
from ullage.settings import Settings
from ullage.settings.routing import PoolSettings, RoutingSettings
from ullage.stores import MemoryStore

SETTINGS = Settings(routing=RoutingSettings(pools={"pair": PoolSettings(targets={LIGHT: 1.0})}))


def candidates(*, authenticated: bool = True) -> list[Candidate]:
    parts = (target.partition("/") for target in (LIGHT, STRONG, FRONTIER))
    return [make_candidate(ModelRecord(provider=one, id=model, authenticated=authenticated)) for one, _, model in parts]


@pytest.mark.parametrize(
    ("key", "word", "value"),
    [
        ("activation", "off", "off"),
        ("policy", "price", "cost"),
        ("pool", "pair", "pair"),
        ("pool", "off", NO_POOL),
        ("thinking", "pi", "pi"),
        ("thinking", "max", "max"),
        ("pin", LIGHT, LIGHT),
        *((key, None, None) for key in KEYS),
    ],
)
def test_what_makes_sense_is_kept_and_read_by_routing(key: Key, word: str | None, value: str | None) -> None:
    store = MemoryStore()
    assert check_setting(key, word, SETTINGS, candidates(), RouteConfig()) == value
    put_settings(store, "s", {key: value}, 1)
    assert settings_of(store.route_overrides("s")) == ({key: value} if value is not None else {})
    overrides = read_overrides(store.route_overrides("s"))
    if key not in ("activation", "thinking"):
        assert getattr(overrides, key) == value


def test_a_pool_that_is_called_off_is_a_pool() -> None:
    settings = Settings(routing=RoutingSettings(pools={"off": PoolSettings(targets={LIGHT: 1.0})}))
    assert check_pool("off", settings) == "off"


def test_a_target_may_be_pinned_that_this_process_has_no_key_for() -> None:
    assert check_pin(LIGHT, candidates(authenticated=False), RouteConfig()) == LIGHT


@pytest.mark.parametrize(
    ("config", "code"),
    [
        (RouteConfig(constraints=Constraints(provider_deny=("anthropic",))), "bad_pin"),
        (RouteConfig(scope=("openai/*",)), "bad_pin"),
        (RouteConfig(constraints=Constraints(auto_exclude=(LIGHT,))), None),
    ],
)
def test_constraints_and_scope_forbid_a_pin_but_not_what_is_only_taken_when_named(
    config: RouteConfig, code: str | None
) -> None:
    if code is None:
        assert check_pin(LIGHT, candidates(), config) == LIGHT
        return
    with pytest.raises(CallError) as caught:
        check_pin(LIGHT, candidates(), config)
    assert caught.value.code == code


def test_the_router_itself_is_no_target_to_pin() -> None:
    virtual = make_candidate(ModelRecord(provider="ullage", id="auto"))
    with pytest.raises(CallError):
        check_pin("ullage/auto", [virtual], RouteConfig())


def test_where_nobody_can_be_reached_that_is_told() -> None:
    with pytest.raises(CallError) as caught:
        check_pin(LIGHT, [], RouteConfig())
    assert "`ullage doctor`" in caught.value.hint


def test_what_was_set_later_by_the_clock_holds_and_that_is_told() -> None:
    store = MemoryStore()
    put_settings(store, "", {"policy": "best"}, 2)
    with pytest.raises(StoreError) as caught:
        put_settings(store, "", {"policy": "cost"}, 1)
    assert caught.value.code == "set_later"
    put_settings(store, "", {"policy": "best"}, 1)
    assert store.route_overrides("") == {"policy": "best"}


def test_what_may_not_be_durable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr(store, "flush", lambda timeout_s=5.0: False)
    with pytest.raises(StoreError) as caught:
        put_settings(store, "", {"policy": "cost"}, 1)
    assert caught.value.code == "indeterminate"
