"""Who sends a request: which client, in which session, for which purpose (clients specification, section 3).

All of it is read off headers and a few members of the body, as facts in tables. Nothing here proves who the caller is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from .helpers import RequestKind, body_member, codex_metadata, request_kind
from .jsontext import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .conversation import Conversation

Client = Literal[
    "claude-code",
    "codex",
    "pi",
    "opencode",
    "gemini-cli",
    "aider",
    "llm",
    "openai-sdk",
    "anthropic-sdk",
    "google-genai-sdk",
    "unknown",
]
OUR_SESSION_HEADER = "x-ullage-session"

_ID_LIMIT_CHARS = 256


class Caller(Struct, frozen=True, kw_only=True):
    """What a request tells of its sender.

    `identity` says where `session` came from: `header` (ours), `client` (the client's own id), `None` (there is none, and the
    conversation must be known by its fingerprint). State is keyed by `session` and `agent` together. `parent_agent` and
    `parent_session` name what a sub-agent was started by. `kind` is what the request is for.
    """

    client: Client
    version: str | None = None
    session: str | None = None
    identity: Literal["header", "client"] | None = None
    agent: str | None = None
    parent_agent: str | None = None
    parent_session: str | None = None
    kind: RequestKind = "conversation"


class _Mark(Struct, frozen=True):
    """A client and a pattern in a header that only it sends."""

    client: Client
    header: str
    pattern: re.Pattern[str]


def _mark(client: Client, header: str, pattern: str) -> _Mark:
    return _Mark(client, header, re.compile(pattern, re.IGNORECASE))


# First match wins: agents before the SDKs that they are built on. A group is the version.
_MARKS = (
    _mark("claude-code", "x-claude-code-session-id", r"()."),
    _mark("opencode", "user-agent", r"\bopencode/([\w.+-]+)"),
    _mark("codex", "user-agent", r"^codex[\w-]*/([\w.+-]+)"),
    _mark("codex", "x-codex-turn-metadata", r"()."),
    _mark("codex", "originator", r"^codex()"),
    _mark("pi", "user-agent", r"^pi(?:-coding-agent)?/([\w.+-]+)"),
    _mark("gemini-cli", "user-agent", r"^GeminiCLI[\w-]*/v?([\w.+-]+)"),
    _mark("aider", "user-agent", r"\baider(?:-chat)?/([\w.+-]+)"),
    _mark("llm", "user-agent", r"^llm/([\w.+-]+)"),
    _mark("claude-code", "user-agent", r"^claude-(?:cli|code)/([\w.+-]+)"),
    _mark("openai-sdk", "user-agent", r"^(?:Async)?(?:Azure)?OpenAI/\w+ ([\w.+-]+)"),
    _mark("anthropic-sdk", "user-agent", r"^(?:Async)?Anthropic/\w+ ([\w.+-]+)"),
    _mark("google-genai-sdk", "user-agent", r"\bgoogle-genai-sdk/([\w.+-]+)"),
    _mark("google-genai-sdk", "x-goog-api-client", r"\bgoogle-genai-sdk/([\w.+-]+)"),
)

# First words of the system prompts of agents that hide behind an SDK: Pi before 1.0, aider by way of litellm.
_PROMPT_MARKS: tuple[tuple[Client, re.Pattern[bytes]], ...] = (
    ("pi", re.compile(rb" inside pi[ ,.]")),
    ("aider", re.compile(rb"Act as an expert (?:software developer|code analyst|architect engineer)")),
)
_PROMPT_MARK_WITHIN_BYTES = 400
_AGENTS_BEHIND: frozenset[Client] = frozenset({"openai-sdk", "anthropic-sdk", "google-genai-sdk", "unknown"})

# The headers that carry the client's session id, the most trusted first.
_ANY_SESSION_HEADERS = ("x-session-id", "session-id", "session_id", "x-session-affinity")
_SESSION_HEADERS: dict[Client, tuple[str, ...]] = {
    "claude-code": ("x-claude-code-session-id",),
    "codex": ("session-id", "session_id", "thread-id", "conversation_id"),
    "opencode": ("x-session-id", "x-opencode-session", "x-session-affinity"),
}
_AGENT_HEADERS: dict[Client, tuple[str, str]] = {
    "claude-code": ("x-claude-code-agent-id", "x-claude-code-parent-agent-id"),
}
_PARENT_SESSION_HEADERS = ("x-parent-session-id", "x-codex-parent-thread-id")


def recognise(headers: Mapping[str, str], path: str, conversation: Conversation | None) -> Caller:
    """Names the sender of a request. Header names are lower-case; `conversation` is `None` for a body that cannot be read."""
    client, version = _client(headers, conversation)
    own = _clean(headers.get(OUR_SESSION_HEADER))
    theirs = _client_session(client, headers, conversation)
    agent, parent_agent = _agents(client, headers, theirs)
    return Caller(
        client=client,
        version=version,
        session=own or theirs,
        identity="header" if own else "client" if theirs else None,
        agent=agent,
        parent_agent=parent_agent,
        parent_session=_first(headers, _PARENT_SESSION_HEADERS),
        kind=request_kind(client, headers, path, conversation),
    )


def _client(headers: Mapping[str, str], conversation: Conversation | None) -> tuple[Client, str | None]:
    client, version = _marked_client(headers)
    if client in _AGENTS_BEHIND:
        hidden = _client_by_prompt(conversation) or _client_by_headers(headers)
        if hidden is not None:
            return hidden, None
    return client, version


def _marked_client(headers: Mapping[str, str]) -> tuple[Client, str | None]:
    for mark in _MARKS:
        match = mark.pattern.search(headers.get(mark.header, ""))
        if match is not None:
            return mark.client, match[1] or _version(mark.client, headers)
    return "unknown", None


def _version(client: Client, headers: Mapping[str, str]) -> str | None:
    """The version from the user agent, where another header told the client."""
    agent = headers.get("user-agent", "")
    found = (mark.pattern.search(agent) for mark in _MARKS if mark.client == client and mark.header == "user-agent")
    return next((match[1] for match in found if match is not None), None)


def _client_by_prompt(conversation: Conversation | None) -> Client | None:
    if conversation is None:
        return None
    for piece in (*conversation.system[:1], *conversation.messages[:1]):
        head = piece.raw[:_PROMPT_MARK_WITHIN_BYTES]
        for client, words in _PROMPT_MARKS:
            if words.search(head):
                return client
    return None


def _client_by_headers(headers: Mapping[str, str]) -> Client | None:
    """Pi before 1.0 sends its session id beside the user agent of an SDK."""
    session = headers.get("session_id")
    return "pi" if session and session == headers.get("x-client-request-id") else None


def _client_session(client: Client, headers: Mapping[str, str], conversation: Conversation | None) -> str | None:
    found = _first(headers, _SESSION_HEADERS.get(client, _ANY_SESSION_HEADERS))
    in_body = _BODY_SESSIONS.get(client)
    return found or (in_body(conversation) if in_body is not None and conversation is not None else None)


def _claude_session(conversation: Conversation) -> str | None:
    """From `metadata.user_id`: a JSON text today, `user_…_session_<id>` in older versions."""
    metadata = body_member(conversation, "metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user, str):
        return None
    if user.startswith("{"):
        named = decode(user.encode("utf-8", "replace"))
        return _clean(named.get("session_id")) if isinstance(named, dict) else None
    _, found, session = user.rpartition("_session_")
    return _clean(session) if found else None


def _prompt_cache_key(conversation: Conversation) -> str | None:
    return _clean(body_member(conversation, "prompt_cache_key"))


_BODY_SESSIONS: dict[Client, Callable[[Conversation], str | None]] = {
    "claude-code": _claude_session,
    "codex": _prompt_cache_key,
    "opencode": _prompt_cache_key,
    "pi": _prompt_cache_key,
}


def _agents(client: Client, headers: Mapping[str, str], session: str | None) -> tuple[str | None, str | None]:
    """The sub-agent that asks and the one that started it. Codex gives a sub-agent a thread of its own in the same session."""
    names = _AGENT_HEADERS.get(client)
    if names is not None:
        return _clean(headers.get(names[0])), _clean(headers.get(names[1]))
    if client == "codex":
        thread = _clean(headers.get("thread-id")) or _clean(codex_metadata(headers, None).get("thread_id"))
        return (thread if thread != session else None), None
    return None, None


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := _clean(headers.get(name))) is not None), None)


def _clean(value: Any) -> str | None:
    """An id as it may be stored and shown: printable and of bounded length."""
    if not isinstance(value, str):
        return None
    value = value.strip()
    return value if value and value.isprintable() and len(value) <= _ID_LIMIT_CHARS else None
