"""What a client asked for, as told by the path of its request."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ullage.core.wire import Dialect

Purpose = Literal["generate", "count_tokens", "models", "hello", "other"]
Cost = Literal["foreseen", "unforeseen"]
"""Whether the most that a request may cost is known before it is sent."""


class Endpoint(Struct, frozen=True, kw_only=True):
    """Dialect and purpose of a request. `path` is the raw path for the provider; `model` and `stream` are in Gemini's path.
    `cost` is there for one of purpose `other` that costs money."""

    dialect: Dialect
    purpose: Purpose
    path: str
    model: str | None = None
    stream: bool | None = None
    cost: Cost | None = None

    @property
    def recorded(self) -> bool:
        """Whether such a request is accounted for; files, models and greetings are only passed on."""
        return self.purpose in ("generate", "count_tokens")
