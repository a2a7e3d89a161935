"""Where ullage keeps what it learned: one small interface, several stores (docs/decisions/0003-stores.md)."""

from .base import CallRecord, EventRecord, SessionRecord, Store

__all__ = ["CallRecord", "EventRecord", "SessionRecord", "Store"]
