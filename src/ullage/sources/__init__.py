"""Reading what lies on disk: recorded sessions of coding agents."""

from .folders import FOLDERS, find_sessions
from .readers import READERS, read_session
from .session import Call, Compaction, Problems, Session, Step

__all__ = [
    "FOLDERS",
    "READERS",
    "Call",
    "Compaction",
    "Problems",
    "Session",
    "Step",
    "find_sessions",
    "read_session",
]
