"""Planner specification, section 10.1."""

from __future__ import annotations

from ullage.core.calibration import Bounds, CacheShares, Sample, report_cache_shares, share_cache


def sample(number: int, fresh: int, read: int = 0, written: int = 0, *, estimated: int = 1_000) -> Sample:
    return Sample(
        id=str(number),
        created_ms=number,
        estimated=estimated,
        input_fresh=fresh,
        cache_read=read,
        cache_write=written,
    )


def test_shares_are_those_of_the_example() -> None:
    shares = share_cache([sample(1, 3_000, 850), sample(2, 1_480, 0, 170)], Bounds())
    assert shares == CacheShares(
        input_fresh=4_480,
        cache_read=850,
        cache_write=170,
        total=5_500,
        read_share=0.154545,
        write_share=0.030909,
    )


def test_nothing_seen_has_no_share() -> None:
    assert share_cache([], Bounds()) == CacheShares(
        input_fresh=0, cache_read=0, cache_write=0, total=0, read_share=0.0, write_share=0.0
    )


def test_only_valid_samples_of_the_window_are_added_up() -> None:
    old, broken, new = sample(1, 500), sample(2, 500, estimated=0), sample(3, 100, 300)
    shares = share_cache([old, broken, new], Bounds(window=2))
    assert (shares.total, shares.read_share) == (400, 0.75)


def test_a_sample_that_calibration_rejects_was_sent_all_the_same() -> None:
    assert share_cache([sample(1, 9_000, 1_000)], Bounds()).read_share == 0.1


def test_the_report_is_plain() -> None:
    assert report_cache_shares(share_cache([sample(1, 1, 3)], Bounds())) == {
        "input_fresh": 1,
        "cache_read": 3,
        "cache_write": 0,
        "total": 4,
        "read_share": 0.75,
        "write_share": 0.0,
    }
