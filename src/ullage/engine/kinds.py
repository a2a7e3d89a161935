"""Kinds of requests."""

from __future__ import annotations

CONVERSATION = frozenset({"conversation", "subagent"})
"""Those of the user's own conversation; all other kinds are the client's helpers, guests in its session."""
