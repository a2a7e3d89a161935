"""Families as rows, by vendor: which models belong together, how their requests are built, and what is published of them."""

from .claude import CLAUDE
from .gemini import GEMINI
from .open_weights import OPEN_WEIGHTS
from .openai import OPENAI

__all__ = ["CLAUDE", "GEMINI", "OPENAI", "OPEN_WEIGHTS"]
