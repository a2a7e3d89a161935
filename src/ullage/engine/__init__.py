"""One request from its first byte to its record; remembers by content hash what was counted before."""

from .endpoint import Endpoint, Purpose
from .engine import Engine
from .exchange import Exchange

__all__ = ["Endpoint", "Engine", "Exchange", "Purpose"]
