"""The gateway of the tests of faults, for the rows that are about more than one plan."""

from __future__ import annotations

from tests.faults.conftest import managed

__all__ = ["managed"]
