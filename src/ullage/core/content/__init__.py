"""The nouns of a conversation, whatever dialect or file it came from."""

from .answer import Answer, StopReason, ToolCall
from .context import Context
from .message import Media, MediaKind, Message, Part, PartKind, Role, ToolKind, ToolSpec
from .sources import SEPARATOR, source_line
from .usage import Usage

__all__ = [
    "SEPARATOR",
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
    "source_line",
]
