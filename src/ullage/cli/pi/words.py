"""The two lists of commands of Pi, by the names that they are typed under."""

from __future__ import annotations

from .auto_words import AUTO_MODEL
from .context_words import CONTEXT

__all__ = ["AUTO_MODEL", "CONTEXT"]
