"""Reading what lies on disk: recorded sessions of coding agents."""

from .readers import READERS, read_session
from .session import Call, Compaction, Problems, Session, Step

__all__ = ["READERS", "Call", "Compaction", "Problems", "Session", "Step", "read_session"]
