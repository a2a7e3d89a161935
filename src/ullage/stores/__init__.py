"""Where ullage keeps what it learned: one small interface, several stores (docs/decisions/0003-stores.md)."""

from .base import (
    ArtifactRecord,
    CallRecord,
    EventRecord,
    MutationRecord,
    PrefixRecord,
    Reader,
    SampleRecord,
    SessionRecord,
    Store,
)
from .learned import to_pairs, to_sample
from .ledger import Ledger, LedgerReader, MemoryLedger
from .memory import MemoryStore
from .opening import open_reader, open_store, open_to_keep, root_finder
from .report import report_call, report_event, report_session
from .route_records import AttemptRecord, FeedbackRecord, OutcomeRecord, RouteOverride, TallyRecord
from .sqlite import SqliteStore
from .sqlite_ledger import SqliteLedger

__all__ = [
    "ArtifactRecord",
    "AttemptRecord",
    "CallRecord",
    "EventRecord",
    "FeedbackRecord",
    "Ledger",
    "LedgerReader",
    "MemoryLedger",
    "MemoryStore",
    "MutationRecord",
    "OutcomeRecord",
    "PrefixRecord",
    "Reader",
    "RouteOverride",
    "SampleRecord",
    "SessionRecord",
    "SqliteLedger",
    "SqliteStore",
    "Store",
    "TallyRecord",
    "open_reader",
    "open_store",
    "open_to_keep",
    "report_call",
    "report_event",
    "report_session",
    "root_finder",
    "to_pairs",
    "to_sample",
]
