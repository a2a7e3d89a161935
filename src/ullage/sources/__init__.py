"""Reading what lies on disk: recorded sessions of coding agents and captured request bodies."""

from .session import Call, Compaction, Problems, Session

__all__ = ["Call", "Compaction", "Problems", "Session"]
