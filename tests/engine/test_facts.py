"""The bounded cache of facts."""

from __future__ import annotations

from ullage.engine.facts import TwoGenerations


def test_what_is_used_outlives_what_is_not() -> None:
    cache: TwoGenerations[int, str] = TwoGenerations(10)
    cache.keep(0, "used")
    cache.keep(1, "unused")
    for key in range(2, 40):
        cache.keep(key, "filler")
        assert cache.find(0) == "used"
    assert cache.find(1) is None


def test_the_cache_never_holds_more_than_twice_its_size() -> None:
    cache: TwoGenerations[int, int] = TwoGenerations(10)
    for key in range(1000):
        cache.keep(key, key)
        cache.find(key // 2)
        assert len(cache) <= 20
