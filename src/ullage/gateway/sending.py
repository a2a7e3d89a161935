"""What is sent to a provider: to its own address as it came, or to the target that a route chose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from ullage.upstream.keys import key_header, request_headers

from .headers import for_stranger, without_encoding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.translation import TranslatedRequest
    from ullage.core.wire import Dialect
    from ullage.engine import Endpoint
    from ullage.engine.departure import Departure
    from ullage.engine.targets import Destination
    from ullage.upstream import Headers

_MODEL_IN_PATH = re.compile(r"(?<=/models/)[^:]+(?=:)|(?<=/tunedModels/)[^:]+(?=:)")
_PATHS: Mapping[Dialect, str] = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
}
# What the forms of answers depend on; a key may stand in a query under any name.
_TOLD_STRANGERS = frozenset({"alt", "$alt", "beta", "api-version"})


class Outgoing(NamedTuple):
    """What is sent to the provider. `headers` as the client sent them; which of them pass is decided at the last moment.
    `dialect` is what the provider speaks."""

    method: str
    url: str
    headers: Headers
    body: bytes
    dialect: Dialect


def send_to(outgoing: Outgoing, departure: Departure, endpoint: Endpoint, query: str) -> Outgoing:
    """The same with what was made of it before it leaves."""
    destination = departure.destination
    if departure.translated is not None and destination is not None:
        return _send_translated(outgoing, destination, departure.translated)
    headers = without_encoding(outgoing.headers) if departure.plain else outgoing.headers
    if destination is None:
        return outgoing._replace(headers=headers, body=departure.body)
    return outgoing._replace(
        url=_address(destination, endpoint, query),
        headers=_with_key(headers, destination),
        body=departure.body,
    )


def _send_translated(outgoing: Outgoing, destination: Destination, translated: TranslatedRequest) -> Outgoing:
    """The request in the words of its target. No header of the client's goes along that says something to a provider."""
    stream = translated.terms.stream
    path = _PATHS.get(destination.dialect)
    if path is None:
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        path = f"/v1beta/models/{quote(destination.model, safe='')}:{verb}"
    headers = request_headers(destination.dialect, destination.credential, stream=stream)
    headers += [pair for pair in outgoing.headers if pair[0] == b"user-agent"]
    return Outgoing("POST", destination.root + path, headers, translated.body, destination.dialect)


def _address(destination: Destination, endpoint: Endpoint, query: str) -> str:
    path = endpoint.path
    if endpoint.model is not None:
        path = _MODEL_IN_PATH.sub(lambda _: quote(destination.model, safe=""), path, count=1)
    if not destination.client_key:
        query = "&".join(one for one in query.split("&") if one.partition("=")[0] in _TOLD_STRANGERS)
    return destination.root + path + ("?" + query if query else "")


def _with_key(headers: Headers, destination: Destination) -> Headers:
    """A client's own key goes to the upstream that it was meant for and to nobody else (design, section 10)."""
    if destination.client_key:
        return headers
    kept = for_stranger(headers, destination.dialect)
    if destination.credential is not None:
        kept.append(key_header(destination.dialect, destination.credential))
    return kept
