"""Destinations and a guard for the tests of privacy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.privacy import CLASSES, Destination, PrivacySettings
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.wire import Dialect, parse_request


@pytest.fixture
def remote() -> Destination:
    return Destination(kind="remote", provider="openai", allowed=("normal", "internal"))


@pytest.fixture
def local() -> Destination:
    return Destination(kind="local", provider="ollama", allowed=CLASSES, redact=False)


class Sending:
    """A guard, and requests that go through it."""

    def __init__(self) -> None:
        self.guard = PrivacyGuard(PrivacySettings(enabled=True))
        self.report: dict[str, Any] = {}

    def __call__(self, request: Any, destination: Destination, dialect: Dialect = "anthropic") -> Any:
        """The request as it would leave, decoded."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        prepared = self.guard.prepare(parse_request(body, dialect), destination)
        self.guard.check(prepared.conversation.body, destination)
        self.report = prepared.report.manifest()
        return json.loads(prepared.conversation.body)


@pytest.fixture
def send() -> Sending:
    return Sending()
