"""The four API dialects: requests in, answers out, as bytes; one module per dialect."""

from .canonical import canonical_hash
from .conversation import DIALECTS, Conversation, Dialect, Member, Slice, SliceKind
from .parse import parse_request
from .reading import read_context, read_message, read_system, read_tool
from .render import render

__all__ = [
    "DIALECTS",
    "Conversation",
    "Dialect",
    "Member",
    "Slice",
    "SliceKind",
    "canonical_hash",
    "parse_request",
    "read_context",
    "read_message",
    "read_system",
    "read_tool",
    "render",
]
