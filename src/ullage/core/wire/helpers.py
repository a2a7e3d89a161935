"""What a request is for: the user's conversation, or an errand of the client (clients specification, section 3).

Errands (titles, summaries, classifiers, counts) are guests in a session: they are never planned and never fingerprinted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from .jsontext import decode
from .reading import read_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .conversation import Conversation

RequestKind = Literal[
    "conversation",
    "title",
    "compaction",
    "branch_summary",
    "count_tokens",
    "classifier",
    "subagent",
    "warm_up",
    "auxiliary",
]

# Claude Code's hint header (CLAUDE_CODE_GATEWAY_HINT_HEADERS=1), `x-claude-code-request-class`.
_CLAUDE_CLASSES: dict[str, RequestKind] = {
    "auxiliary": "auxiliary",
    "compaction": "compaction",
    "main": "conversation",
    "side_reply": "auxiliary",
    "subagent": "subagent",
    "workflow": "subagent",
}
# Codex, `request_kind` and `thread_source` of its turn metadata.
_CODEX_KINDS: dict[str, RequestKind] = {"compaction": "compaction", "prewarm": "warm_up"}
_CODEX_SOURCES: dict[str, RequestKind] = {"subagent": "subagent", "thread_title": "title"}

# Words in the request for a summary, as the clients of section 1 write it.
_CLAUDE_COMPACTION = "create a detailed summary of the conversation"
_PI_BRANCH_SUMMARY = "summary of this conversation branch"
_PI_ERRANDS: tuple[RequestKind, ...] = ("compaction", "branch_summary")
_OPENCODE_ERRANDS: tuple[tuple[bytes, RequestKind], ...] = (
    (b"You are a title generator", "title"),
    (b"tasked with summarizing conversations", "compaction"),
)
_SYSTEM_HEAD_BYTES = 400
# One of these is in every request for a summary that no header tells of.
_COMPACTION_MARKS = (
    _CLAUDE_COMPACTION.encode(),
    b"tasked with summarizing conversations",
    b"compaction",
    b"<conversation>",
    b"# Conversation",
)


def request_kind(client: str, headers: Mapping[str, str], path: str, conversation: Conversation | None) -> RequestKind:
    """What the request is for, as far as its client's marks tell."""
    if is_count(path):
        return "count_tokens"
    rule = _RULES.get(client)
    return rule(headers, path, conversation) if rule is not None else "conversation"


def is_count(path: str) -> bool:
    """Whether the path asks for a count of tokens."""
    bare = path.partition("?")[0].rstrip("/")
    return bare.endswith(("/count_tokens", ":countTokens", "/input_tokens"))


def may_be_compaction(headers: Mapping[str, str], body: bytes) -> bool:
    """Whether the request may ask for a summary of its conversation: surely not where it is false. Asked of every request, so
    without reading it; what is compressed may be anything."""
    if headers.get("content-encoding", "identity") not in ("", "identity"):
        return True
    if headers.get("x-claude-code-compaction") or headers.get("x-claude-code-request-class") == "compaction":
        return True
    if "compact" in headers.get("x-codex-turn-metadata", "") or headers.get("x-openai-subagent") == "compact":
        return True
    return any(mark in body for mark in _COMPACTION_MARKS)


def codex_metadata(headers: Mapping[str, str], conversation: Conversation | None) -> dict[str, Any]:
    """Codex's turn metadata: a JSON text in a header, and again in the body where a proxy dropped the header."""
    text = headers.get("x-codex-turn-metadata")
    if text is None and conversation is not None:
        client = body_member(conversation, "client_metadata")
        text = client.get("x-codex-turn-metadata") if isinstance(client, dict) else None
    value = decode(text.encode("utf-8", "replace")) if isinstance(text, str) else None
    return value if isinstance(value, dict) else {}


def body_member(conversation: Conversation, key: str) -> Any:
    """The decoded value of a small top-level member, `None` if it is absent."""
    raw = conversation.options.get(key)
    return decode(raw) if raw is not None else None


def _claude_kind(headers: Mapping[str, str], _path: str, conversation: Conversation | None) -> RequestKind:
    if headers.get("x-claude-code-compaction"):
        return "compaction"
    hinted = _CLAUDE_CLASSES.get(headers.get("x-claude-code-request-class", ""))
    if hinted is not None and hinted != "conversation":
        return hinted
    if conversation is not None:
        found = _claude_errand(conversation)
        if found is not None:
            return found
    return "subagent" if headers.get("x-claude-code-agent-id") else "conversation"


def _claude_errand(conversation: Conversation) -> RequestKind | None:
    if not conversation.tools and _asks_for_title(body_member(conversation, "output_config")):
        return "title"
    if _CLAUDE_COMPACTION in _last_text(conversation):
        return "compaction"
    # A probe of the account: one token is asked for.
    return "auxiliary" if conversation.options.get("max_tokens") == b"1" else None


def _codex_kind(headers: Mapping[str, str], _path: str, conversation: Conversation | None) -> RequestKind:
    metadata = codex_metadata(headers, conversation)
    by_source = _CODEX_SOURCES.get(str(metadata.get("thread_source")))
    by_kind = _CODEX_KINDS.get(str(metadata.get("request_kind")))
    if by_kind is not None or by_source is not None:
        return by_kind or by_source or "conversation"
    if conversation is not None and conversation.options.get("generate") == b"false":
        return "warm_up"
    if conversation is not None and _ends_with_trigger(conversation):
        return "compaction"
    subagent = headers.get("x-openai-subagent")
    if subagent:
        return "compaction" if subagent == "compact" else "subagent"
    return "conversation"


def _opencode_kind(headers: Mapping[str, str], _path: str, conversation: Conversation | None) -> RequestKind:
    if conversation is not None and not conversation.tools:
        head = _system_head(conversation)
        for words, kind in _OPENCODE_ERRANDS:
            if words in head:
                return kind
    return "subagent" if headers.get("x-parent-session-id") else "conversation"


def _pi_kind(headers: Mapping[str, str], _path: str, conversation: Conversation | None) -> RequestKind:
    """A summary has no session id, no tools, a short system prompt of its own and one user message, unless our extension says
    that it is one: Pi may ask who is to write it before it has written what for."""
    for kind in _PI_ERRANDS:
        if headers.get("x-ullage-errand") == kind:
            return kind
    named = any(headers.get(name) for name in ("session-id", "session_id", "x-session-affinity"))
    if conversation is None or named or conversation.tools or "prompt_cache_key" in conversation.options:
        return "conversation"
    system_messages = 0 if conversation.system else 1
    if len(conversation.messages) != system_messages + 1:
        return "conversation"
    text = _last_text(conversation)
    if _PI_BRANCH_SUMMARY in text:
        return "branch_summary"
    marked = text.startswith(("<conversation>", "# Conversation"))
    return "compaction" if marked else "conversation"


def _gemini_kind(_headers: Mapping[str, str], path: str, conversation: Conversation | None) -> RequestKind:
    """The automatic model asks a small one for a score, in JSON and not streamed."""
    if conversation is None or not path.partition("?")[0].endswith(":generateContent"):
        return "conversation"
    config = body_member(conversation, "generationConfig")
    asked = config if isinstance(config, dict) else {}
    json_only = asked.get("responseMimeType") == "application/json"
    return "classifier" if json_only and not conversation.tools else "conversation"


_RULES: dict[str, Callable[[Mapping[str, str], str, Conversation | None], RequestKind]] = {
    "claude-code": _claude_kind,
    "codex": _codex_kind,
    "gemini-cli": _gemini_kind,
    "opencode": _opencode_kind,
    "pi": _pi_kind,
}


def _asks_for_title(output_config: Any) -> bool:
    """`{"format": {"schema": {"properties": {"title": …}}}}` and nothing else asked for."""
    form = output_config.get("format") if isinstance(output_config, dict) else None
    schema = form.get("schema") if isinstance(form, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(properties, dict) and "title" in properties


def _ends_with_trigger(conversation: Conversation) -> bool:
    last = decode(conversation.messages[-1].raw) if conversation.messages else None
    return isinstance(last, dict) and last.get("type") == "compaction_trigger"


def _last_text(conversation: Conversation) -> str:
    """The last text of the last message, if the message ends with one; a tool result that quotes a mark is none."""
    if not conversation.messages:
        return ""
    parts = read_message(conversation.messages[-1], conversation.dialect).parts
    return parts[-1].text if parts and parts[-1].kind == "text" else ""


def _system_head(conversation: Conversation) -> bytes:
    pieces = (*conversation.system[:1], *conversation.messages[:1])
    return b" ".join(piece.raw[:_SYSTEM_HEAD_BYTES] for piece in pieces)
