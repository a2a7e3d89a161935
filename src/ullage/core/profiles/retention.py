"""Which models keep earlier reasoning in the next prompt (accounting specification, section 10)."""

from __future__ import annotations

import re
from typing import Literal

Retention = Literal["all", "turn", "none_known"]
"""`all`: every turn of the same model; `turn`: since the last user message; `none_known`: only the anchor's own is sure."""

_END = r"(?=$|[-.:@])"
_ROWS: tuple[tuple[str, str, Retention], ...] = (
    (r"claude|anthropic", rf"opus-(?:4[-.][5-9]|[5-9]){_END}", "all"),
    (r"claude|anthropic", rf"sonnet-(?:4[-.][6-9]|[5-9]){_END}", "all"),
    (r"claude|anthropic", r"fable-[5-9]|mythos-(?:[5-9]|preview)", "all"),
    (r"claude|anthropic", r"", "turn"),
    (r"", rf"(?:^|[/.])gpt-(?:5\.[6-9]|[6-9](?:\.\d+)?){_END}", "all"),
    (r"", r"(?:^|[/.])(?:gpt-5|o[1-9])", "turn"),
)


def reasoning_retention(provider: str | None, model: str | None) -> Retention:
    """The rule of the first row that fits."""
    provider, model = (provider or "").lower(), (model or "").lower()
    for who, pattern, retention in _ROWS:
        if re.search(who, f"{provider}/{model}") and re.search(pattern, model):
            return retention
    return "none_known"
