"""The nouns of a conversation, whatever dialect or file it came from."""

from .answer import Answer, StopReason, ToolCall
from .context import Context
from .message import Media, MediaKind, Message, Part, PartKind, Role, ToolKind, ToolSpec
from .usage import Usage

__all__ = [
    "Answer",
    "Context",
    "Media",
    "MediaKind",
    "Message",
    "Part",
    "PartKind",
    "Role",
    "StopReason",
    "ToolCall",
    "ToolKind",
    "ToolSpec",
    "Usage",
]
