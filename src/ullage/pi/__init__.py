"""The Pi bridge, the daemon's side of it: requests come in Pi's own shape and leave as decisions; Pi does the transport."""

from __future__ import annotations

from .door import PiDoor

__all__ = ["PiDoor"]
