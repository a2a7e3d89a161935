"""Why a part of a request is sent or not, in fixed words."""

from __future__ import annotations

from typing import Literal

Reason = Literal[
    # sent
    "fixed",
    "current",
    "pin",
    "labelled-pin",
    "foremost",
    "recent-tail",
    "rescued-predecessor",
    "summary",
    "supplement",
    # left out
    "recent-tail-limit",
    "recent-tail-and-input-budget",
    "input-budget",
    "recent-tail-closed",
    "before-tail",
    "thinking-first",
    "broken-exchange",
    "summary-policy-or-budget",
    "background-without-retrieval",
    "category-budget",
    "no-source",
    "duplicate",
    "no-user-message",
    "plan-failed",
]
"""The words of planner specification, section 13.3, and ours.

`pin`: a pinned message, or something of its turn; `labelled-pin`: the same where the user has put a label on it. `foremost`: what
stands for everything before it. `before-tail`: older than the tail that was chosen. `thinking-first`: an open loop with signed
thinking must begin with some. `broken-exchange`: a call or a result without its other half. `plan-failed`: the client's own
request is sent.
"""
