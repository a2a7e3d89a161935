"""The fake provider and the client of the gateway's tests."""

from __future__ import annotations

from tests.gateway.conftest import client, fake

__all__ = ["client", "fake"]
