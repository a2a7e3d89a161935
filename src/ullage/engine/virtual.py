"""Names of models that stand for the router (routing specification, sections 1 and 31)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ullage.core.routing.identity import VIRTUAL_TARGETS

from .encoding import is_compressed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .endpoint import Endpoint

AUTO = "ullage/auto"
"""The name that lists of models show."""

_NAMES = (*sorted(VIRTUAL_TARGETS), "auto")
# Most clients name the model first; else all of the body is searched, which takes a third of a millisecond a megabyte.
_FIRST = re.compile(rb'\s*\{\s*"model"\s*:\s*"((?:[^"\\]|\\/)*)"')
_COMPACT = "/v1/responses/compact"
"""Codex has a provider make its summaries here."""


class VirtualModels:
    """The names, and whether a request may carry one: asked of every request on the event loop, so without reading it."""

    def __init__(self, aliases: Iterable[str] = (), *, enabled: bool = True) -> None:
        self._aliases = frozenset(aliases)
        self._names = frozenset((*_NAMES, *self._aliases)) if enabled else frozenset()
        written = sorted(
            (re.escape(name.encode()).replace(b"/", rb"\\?/") for name in self._names), key=len, reverse=True
        )
        self._value = re.compile(rb'"model"[ \t\n\r]*:[ \t\n\r]*"(?:' + b"|".join(written) + rb')"')

    def __contains__(self, model: str | None) -> bool:
        return model in self._names

    @property
    def listed(self) -> tuple[str, ...]:
        """The names to show to clients that ask which models there are."""
        return (AUTO, *sorted(self._aliases)) if self._names else ()

    def alias_of(self, model: str | None) -> str | None:
        """The alias of the settings that the name is; `None` for the router's own names."""
        return model if model in self._aliases else None

    def may_name(self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether the request may name one of them: surely not where it is false. A compressed body may."""
        if not self._names or not (endpoint.recorded or endpoint.path == _COMPACT):
            return False
        if endpoint.model is not None:
            return endpoint.model in self._names
        if is_compressed(headers.get("content-encoding", "")):
            return True
        first = _FIRST.match(body)
        if first is not None:
            return first[1].replace(b"\\/", b"/").decode("utf-8", "replace") in self._names
        return self._value.search(body) is not None
