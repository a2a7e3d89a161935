"""What an answer must know of its request, to be told in the client's own terms."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Terms(Struct, frozen=True, kw_only=True):
    """Made with the translated request, used for its answer.

    `asked_model` is the name that the client used, `model` the target's. `include_usage` is whether a client of Chat Completions
    wants usage in its stream. `array` is whether a stream for a client of Gemini is to be one JSON array and no events: whoever
    sees the path of the request without `alt=sse` sets it. `names` leads from the target's name of a tool to the client's where
    they differ, `namespaces` from a name to the namespace and member that a client of Responses knows. `custom` are tools whose
    input is free text. `echo` are members of a request of Responses that its answer repeats.
    """

    model: str = ""
    asked_model: str = ""
    stream: bool = False
    include_usage: bool = False
    array: bool = False
    names: dict[str, str] = {}
    namespaces: dict[str, tuple[str, str]] = {}
    custom: frozenset[str] = frozenset()
    echo: dict[str, Any] = {}
