"""Doubles that ullage ships: a fake provider that real clients accept, and builders of requests."""

from __future__ import annotations

from .builders import BuiltRequest, Exchange, make_prose, make_request, make_tools, make_turns, path_of
from .cache import POLICIES, CachePolicy
from .faults import Fault
from .recording import Received, Recorder
from .script import Reply, Rule, ToolUse, load_script
from .server import FakeProvider, run_in_thread

__all__ = [
    "POLICIES",
    "BuiltRequest",
    "CachePolicy",
    "Exchange",
    "FakeProvider",
    "Fault",
    "Received",
    "Recorder",
    "Reply",
    "Rule",
    "ToolUse",
    "load_script",
    "make_prose",
    "make_request",
    "make_tools",
    "make_turns",
    "path_of",
    "run_in_thread",
]
