"""What an attachment row of Claude Code brings into the conversation, kind by kind.

The client wraps each in a few words of its own that are not in the file, and some kinds (plan mode, reminders without items) are
nothing but such words: those show up in the gap. Kinds that are no text for the model, and kinds not known here, bring nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.wire.jsontext import compact

from .decoding import mapping, sequence, string

if TYPE_CHECKING:
    from collections.abc import Callable


def attachment_texts(attachment: dict[str, Any]) -> list[str]:
    """The texts of an attachment that reach the model, in order; pictures of a queued prompt are `queued_prompt`'s."""
    texts = _TEXTS.get(string(attachment.get("type")) or "")
    return [text for text in texts(attachment) if text] if texts is not None else []


def queued_prompt(attachment: dict[str, Any]) -> list[Any]:
    """The blocks of a prompt that was typed while the agent ran, empty if the attachment is another or its prompt a string."""
    return sequence(attachment.get("prompt")) if attachment.get("type") == "queued_command" else []


def _field(name: str) -> Callable[[dict[str, Any]], list[str]]:
    """A field that is a text or a list of texts."""

    def texts(attachment: dict[str, Any]) -> list[str]:
        return _strings(attachment.get(name))

    return texts


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for text in sequence(value) if isinstance(text, str)]


def _file(attachment: dict[str, Any]) -> list[str]:
    content = mapping(attachment.get("content"))
    return _strings(mapping(content.get("file")).get("content"))


def _memory(attachment: dict[str, Any]) -> list[str]:
    content = attachment.get("content")
    return _strings(mapping(content).get("content")) if isinstance(content, dict) else _strings(content)


def _items(attachment: dict[str, Any]) -> list[str]:
    return [compact(item) for item in sequence(attachment.get("content"))]


def _skills(attachment: dict[str, Any]) -> list[str]:
    return [string(mapping(skill).get("content")) or "" for skill in sequence(attachment.get("skills"))]


def _blocking_error(attachment: dict[str, Any]) -> list[str]:
    return _strings(mapping(attachment.get("blockingError")).get("blockingError"))


_TEXTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "agent_listing_delta": _field("addedLines"),
    "batching_reminder_sent": _field("text"),
    "date_change": _field("newDate"),
    "deferred_tools_delta": _field("addedLines"),
    "edited_text_file": _field("snippet"),
    "file": _file,
    "hook_additional_context": _field("content"),
    "hook_blocking_error": _blocking_error,
    "hook_success": _field("content"),
    "invoked_skills": _skills,
    "mcp_instructions_delta": _field("addedBlocks"),
    "nested_memory": _memory,
    "queued_command": _field("prompt"),
    "read_truncation_notice": _field("banner"),
    "silent_turn_reminder": _field("text"),
    "skill_listing": _field("content"),
    "task_reminder": _items,
    "todo_reminder": _items,
    "total_tokens_reminder": _field("text"),
}
