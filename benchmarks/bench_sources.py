"""Memory and time of reading a 100 MB session file of each client. `python -m benchmarks.bench_sources [MEGABYTES]`.

The index grows with the number of entries, not with their texts: these files have entries of 3 kB, which is small.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.parts.processes import machine
from tests.sources.large import LARGE, take, write_large

MEGABYTE = 2**20


def main(megabytes: int) -> None:
    print(machine())
    print(f"{'session':16} {'calls':>7} {'seconds':>8} {'before, MB':>11} {'peak, MB':>9} {'share of file':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in LARGE:
            path = Path(folder) / "session"
            write_large(path, kind, megabytes * MEGABYTE)
            taken = take(path)
            share = (taken.peak_bytes - taken.base_bytes) / path.stat().st_size
            base, peak = taken.base_bytes // MEGABYTE, taken.peak_bytes // MEGABYTE
            print(f"{kind:16} {taken.calls:7} {taken.seconds:8.2f} {base:11} {peak:9} {share:14.0%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
