"""A session of 100 MB is read in a small part of the memory that decoding it would take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.large import LARGE, take, write_large

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc"),
]

FILE_BYTES = 100 * 2**20
PEAK_BYTES = 100 * 2**20
"""What the process may hold at its peak, interpreter and all. Decoding such a file whole takes several times its size."""


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_session_is_read_in_bounded_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "session"
    write_large(path, kind, FILE_BYTES)
    taken = take(path)
    assert taken.calls > 10_000
    assert taken.peak_bytes < PEAK_BYTES
