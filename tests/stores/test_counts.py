"""The cache of counts: private, bounded in age, never in the way."""

from __future__ import annotations

import stat
from pathlib import Path

from ullage.stores.counts import FILE_NAME, KEEP_DAYS, CountCache, count_key

DAY_MS = 86_400_000


def test_a_count_is_found_again_by_another_process(tmp_path: Path) -> None:
    first = CountCache(tmp_path, lambda: 0)
    first.put("key", 42)
    second = CountCache(tmp_path, lambda: 0)
    assert (second.find("key"), second.find("other")) == (42, None)
    second.put("key", 43)
    assert first.find("key") == 43
    first.close()
    second.close()


def test_file_and_folder_are_the_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    cache = CountCache(folder, lambda: 0)
    cache.put("key", 1)
    cache.close()
    assert stat.S_IMODE((folder / FILE_NAME).stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)} == {0o700}


def test_old_counts_are_forgotten(tmp_path: Path) -> None:
    cache = CountCache(tmp_path, lambda: 0)
    cache.put("old", 1)
    cache.close()
    later = CountCache(tmp_path, lambda: KEEP_DAYS * DAY_MS + 1)
    assert later.find("old") is None
    later.close()


def test_a_damaged_file_is_told_and_counting_goes_on(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database " * 100)
    cache = CountCache(tmp_path, lambda: 0)
    cache.put("key", 1)
    assert cache.find("key") is None
    assert cache.problem is not None
    assert str(tmp_path / FILE_NAME) in cache.problem
    cache.close()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CountCache(tmp_path / "file", lambda: 0)
    assert cache.problem is not None


def test_a_fault_in_the_middle_ends_the_use_of_the_file(tmp_path: Path) -> None:
    cache = CountCache(tmp_path, lambda: 0)
    assert cache._connection is not None
    cache._connection.execute("DROP TABLE counts")
    assert cache.find("key") is None
    assert cache.problem is not None
    again = CountCache(tmp_path, lambda: 0)
    assert again._connection is not None
    again._connection.execute("DROP TABLE counts")
    again.put("key", 1)
    assert again.problem is not None


def test_a_key_tells_where_one_part_ends() -> None:
    assert count_key(b"ab", b"c") != count_key(b"a", b"bc")
    assert count_key(b"ab", b"c") == count_key(b"ab", b"c")
    assert len(count_key(b"")) == 64
