"""Paths and nothing else: which dialect a request speaks, what it asks for, where it goes upstream.

The routes are those of ten real clients. A base URL with one `/v1` too many or too few is a common slip, since some
clients want the root and others want `/v1`: both are accepted, and the provider sees the right path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec.structs import replace

from ullage.core.routing.identity import VIRTUAL_TARGETS
from ullage.engine import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage.core.wire import Dialect
    from ullage.engine import Purpose

_DOUBLED = re.compile(r"^(?:/v1(?:beta|alpha)?)+(?=/v1(?:beta|alpha)?(?:/|$))")
# Names of models hold colons too (`ft:gpt-…`, `gpt-oss:20b`), so only Gemini's own verbs mean Gemini.
_GEMINI_CALL = re.compile(
    r"^/v1(?:beta|alpha)?/(?:models|tunedModels)/([^:]+)"
    r":(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|batchGenerateContent)$"
)
# Vercel's SDK takes a name with a slash for a whole path.
_BARE_NAME = re.compile(rf"^(/v1(?:beta|alpha)?)/(?=(?:{'|'.join(map(re.escape, sorted(VIRTUAL_TARGETS)))}):)")
_GEMINI_PURPOSE: dict[str, tuple[Purpose, bool | None]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count_tokens", None),
}
_POSTS: dict[str, tuple[Dialect, Purpose]] = {
    "/v1/chat/completions": ("openai-chat", "generate"),
    "/v1/responses": ("openai-responses", "generate"),
    "/v1/responses/compact": ("openai-responses", "other"),
    "/v1/responses/input_tokens": ("openai-responses", "count_tokens"),
    "/v1/messages": ("anthropic", "generate"),
    "/v1/messages/count_tokens": ("anthropic", "count_tokens"),
}
_WITHOUT_VERSION = ("/chat/completions", "/responses", "/messages", "/models", "/embeddings")
_PREFIXES: tuple[tuple[str, Dialect], ...] = (
    ("/v1/responses/", "openai-responses"),
    ("/v1/messages/", "anthropic"),
    ("/v1beta/", "gemini"),
    ("/v1alpha/", "gemini"),
    ("/upload/v1beta/", "gemini"),
)


_FORESEEN = frozenset({"/v1/completions", "/v1/responses/compact"})
"""What costs its prompt and its answer, as a conversation does."""
_FREE = re.compile(
    r"^/(?:upload/)?v1[a-z]*/(?:files|uploads|moderations|conversations|vector_stores|containers|organization)(?:/|$)"
    r"|[/:]cancel$|/count_tokens$|/api/hello$"
)
"""What costs nothing, or nothing by itself. Whatever else is posted may: a limit holds for what we do not know as well."""


def find_endpoint(method: str, raw_path: str, headers: Mapping[str, str], query: str = "") -> Endpoint | None:
    """What a provider request asks for, or `None` if the path is none of theirs. Header names are lower case."""
    found = _find(method, raw_path, headers, query)
    if found is None or method != "POST" or found.purpose != "other" or _FREE.search(found.path):
        return found
    return replace(found, cost="foreseen" if found.path in _FORESEEN else "unforeseen")


def _find(method: str, raw_path: str, headers: Mapping[str, str], query: str) -> Endpoint | None:
    path = _BARE_NAME.sub(r"\1/models/", _normalise(raw_path))
    if method == "POST" and (known := _POSTS.get(path)):
        return Endpoint(dialect=known[0], purpose=known[1], path=path)
    if method == "POST" and (call := _GEMINI_CALL.match(path)):
        purpose, stream = _GEMINI_PURPOSE.get(call[2], ("other", None))
        return Endpoint(dialect="gemini", purpose=purpose, path=path, model=unquote(call[1]), stream=stream)
    if path in ("/v1/models", "/v1beta/models") and method in ("GET", "HEAD"):
        dialect: Dialect = "gemini" if path == "/v1beta/models" else _by_credentials(headers, query)
        return Endpoint(dialect=dialect, purpose="models", path=path)
    if path == "/api/hello":
        return Endpoint(dialect="anthropic", purpose="hello", path=path)
    for prefix, dialect in _PREFIXES:
        if path.startswith(prefix) or (path + "/" == prefix and prefix.count("/") > 2):
            return Endpoint(dialect=dialect, purpose="other", path=path)
    if path.startswith("/v1/"):
        return Endpoint(dialect=_by_credentials(headers, query), purpose="other", path=path)
    return None


def _normalise(path: str) -> str:
    path = _DOUBLED.sub("", path)
    if path.startswith(_WITHOUT_VERSION):
        return "/v1" + path
    return path


def _by_credentials(headers: Mapping[str, str], query: str) -> Dialect:
    """Which provider a shared path is meant for, told by what only its clients send."""
    if "anthropic-version" in headers or "x-api-key" in headers:
        return "anthropic"
    if "x-goog-api-key" in headers or query.startswith("key=") or "&key=" in query:
        return "gemini"
    return "openai-chat"
