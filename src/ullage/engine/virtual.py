"""Names of models that stand for the router (routing specification, sections 1 and 31)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

from ullage.core.routing.identity import VIRTUAL_TARGETS

from .encoding import REQUEST_LIMIT_BYTES, is_compressed, make_decoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .endpoint import Endpoint

AUTO = "ullage/auto"
"""The name that lists of models show."""

_NAMES = (*sorted(VIRTUAL_TARGETS), "auto")
# Most clients name the model first; else all of the body is searched, which takes a third of a millisecond a megabyte.
_FIRST = re.compile(rb'\s*\{\s*"model"\s*:\s*"((?:[^"\\]|\\/)*)"')
_COMPACT = "/v1/responses/compact"
"""Codex has a provider make its summaries here."""
_MODEL_IN_PATH = re.compile(r"^/v1[a-z]*/(?:models|tunedModels)/(.+)$")
_HOLDER = "models/"
"""Gemini's resources are named by what they are."""


class VirtualModels:
    """The names, and whether a request may carry one: asked of every request on the event loop, so without reading it."""

    def __init__(self, aliases: Iterable[str] = (), *, enabled: bool = True) -> None:
        self._aliases = frozenset(aliases)
        self._names = frozenset((*_NAMES, *self._aliases)) if enabled else frozenset()
        written = sorted(
            (re.escape(name.encode()).replace(b"/", rb"\\?/") for name in self._names), key=len, reverse=True
        )
        self._value = re.compile(rb'"model"[ \t\n\r]*:[ \t\n\r]*"(?:models\\?/)?(?:' + b"|".join(written) + rb')"')

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
        if not self._names or not _is_routed(endpoint):
            return False
        if endpoint.model is not None:
            return endpoint.model in self._names
        if is_compressed(headers.get("content-encoding", "")):
            return True
        first = _FIRST.match(body)
        if first is not None:
            return first[1].replace(b"\\/", b"/").decode("utf-8", "replace") in self._names
        return self._value.search(body) is not None

    def asked_about(self, path: str) -> str | None:
        """The name that the path of a request has for its model, where it has no more than that."""
        found = _MODEL_IN_PATH.match(path)
        name = unquote(found[1]) if found is not None else ""
        return name if name in self._names else None

    def find_astray(self, endpoint: Endpoint, headers: Mapping[str, str], body: bytes) -> str | None:
        """The name in a request that asks no model for an answer, as embeddings and batches do: nobody is chosen for such."""
        if not self._names or _is_routed(endpoint):
            return None
        found = _MODEL_IN_PATH.match(endpoint.path)
        if found is not None:
            name = unquote(found[1])
            named = name if name in self._names else name.rpartition(":")[0]
            return named if named in self._names else None
        if is_compressed(headers.get("content-encoding", "")):
            body = _plain(headers["content-encoding"], body)
        if self._value.search(body) is None:
            return None
        try:
            names = list(_named(msgspec.json.decode(body)))
        except (msgspec.MsgspecError, RecursionError):
            return None
        return next((name for name in names if name in self._names), None)


def _is_routed(endpoint: Endpoint) -> bool:
    return endpoint.recorded or endpoint.path == _COMPACT


def _named(payload: Any) -> Iterator[str]:
    """The models that a body which is no conversation names, and those that the entries of a batch name."""
    if not isinstance(payload, dict):
        return
    model, entries = payload.get("model"), payload.get("requests")
    if isinstance(model, str):
        yield model.removeprefix(_HOLDER)
    for entry in entries if isinstance(entries, list) else ():
        yield from _named(entry)
        yield from _named(entry.get("params") if isinstance(entry, dict) else None)


def _plain(coding: str, body: bytes) -> bytes:
    try:
        return b"".join(make_decoder(coding, REQUEST_LIMIT_BYTES)(body))
    except ValueError:
        return b""
