"""The four API dialects: requests in, answers out, as bytes; one module per dialect."""

from .conversation import DIALECTS, Conversation, Dialect, Slice, SliceKind

__all__ = ["DIALECTS", "Conversation", "Dialect", "Slice", "SliceKind"]
