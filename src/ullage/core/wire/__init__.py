"""The four API dialects: requests in, answers out, as bytes; one module per dialect."""

from .answer import AnswerReader, read_answer, read_usage
from .canonical import canonical_hash
from .clients import Caller, Client, recognise
from .conversation import DIALECTS, Conversation, Dialect, Member, Slice, SliceKind
from .helpers import RequestKind
from .parse import parse_request
from .project import find_project
from .reading import read_context, read_message, read_system, read_tool
from .render import render
from .sse import ServerSentEvent, SSEDecoder
from .writing import replace_result, result_texts, write_user_message

__all__ = [
    "DIALECTS",
    "AnswerReader",
    "Caller",
    "Client",
    "Conversation",
    "Dialect",
    "Member",
    "RequestKind",
    "SSEDecoder",
    "ServerSentEvent",
    "Slice",
    "SliceKind",
    "canonical_hash",
    "find_project",
    "parse_request",
    "read_answer",
    "read_context",
    "read_message",
    "read_system",
    "read_tool",
    "read_usage",
    "recognise",
    "render",
    "replace_result",
    "result_texts",
    "write_user_message",
]
