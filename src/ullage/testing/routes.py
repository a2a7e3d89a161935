"""Which question a path asks of a provider."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from msgspec import Struct

from ullage.core.wire import Dialect

if TYPE_CHECKING:
    from .recording import Received

RouteKind = Literal["generate", "count", "models", "model", "response", "upgrade", "hello", "unknown"]


class Route(Struct, frozen=True, kw_only=True):
    """A path understood. For Gemini the path also holds the model, whether to stream, and whether as server-sent events (`sse`).

    `name` is the id of a model or a stored response.
    """

    kind: RouteKind
    dialect: Dialect = "openai-chat"
    model: str | None = None
    stream: bool | None = None
    sse: bool = True
    name: str = ""


_DOUBLED = re.compile(r"^(/v1|/v1beta)(?:\1)+(?=/)")
_GEMINI = re.compile(
    r"^/(?:v1|v1beta)/(?:models|tunedModels)/(?P<model>.+):"
    r"(?P<verb>generateContent|streamGenerateContent|countTokens)$"
)
_POST: dict[str, Route] = {
    "/v1/chat/completions": Route(kind="generate", dialect="openai-chat"),
    "/v1/responses": Route(kind="generate", dialect="openai-responses"),
    "/v1/responses/input_tokens": Route(kind="count", dialect="openai-responses"),
    "/v1/messages": Route(kind="generate", dialect="anthropic"),
    "/v1/messages/count_tokens": Route(kind="count", dialect="anthropic"),
}


def find_route(received: Received) -> Route:
    """The route of a request. A doubled prefix is accepted."""
    path = _DOUBLED.sub(r"\1", received.path)
    if received.method == "POST":
        return _POST.get(path) or _find_gemini(path, received.target.partition("?")[2])
    if received.method not in ("GET", "HEAD"):
        return Route(kind="unknown")
    if path == "/api/hello":
        return Route(kind="hello", dialect="anthropic")
    if path == "/v1/responses":
        return Route(kind="upgrade", dialect="openai-responses")
    if path.startswith("/v1/responses/"):
        return Route(kind="response", dialect="openai-responses", name=path.removeprefix("/v1/responses/"))
    return _find_models(path, received)


def _find_gemini(path: str, query: str) -> Route:
    match = _GEMINI.match(path)
    if match is None:
        return Route(kind="unknown")
    verb = match["verb"]
    kind: RouteKind = "count" if verb == "countTokens" else "generate"
    return Route(
        kind=kind,
        dialect="gemini",
        model=unquote(match["model"]),
        stream=verb == "streamGenerateContent",
        sse="alt=sse" in query.split("&"),
    )


def _find_models(path: str, received: Received) -> Route:
    """One path serves three kinds of client, told apart by their headers (clients specification, section 2)."""
    prefix, _, name = path.partition("/models")
    if prefix not in ("/v1", "/v1beta") or not (name == "" or name.startswith("/")):
        return Route(kind="unknown")
    query = received.target.partition("?")[2]
    dialect: Dialect = "openai-chat"
    if received.header("anthropic-version") or received.header("x-api-key"):
        dialect = "anthropic"
    elif prefix == "/v1beta" or received.header("x-goog-api-key") or query.startswith("key=") or "&key=" in query:
        dialect = "gemini"
    return Route(kind="model" if name else "models", dialect=dialect, name=name.removeprefix("/"))
