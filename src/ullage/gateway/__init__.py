"""The gateway door: an ASGI app that relays, and the server that carries it."""

from .app import Gateway
from .server import GatewayServer

__all__ = ["Gateway", "GatewayServer"]
