"""Doubles that ullage ships: a fake provider that real clients accept, and builders of requests."""

from __future__ import annotations

from .faults import Fault
from .recording import Received, Recorder
from .script import Reply, Rule, ToolUse, load_script
from .server import FakeProvider, run_in_thread

__all__ = ["FakeProvider", "Fault", "Received", "Recorder", "Reply", "Rule", "ToolUse", "load_script", "run_in_thread"]
