"""What stands where something was withheld: it names the class and never the text, and reads as no failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .classes import CLASSES

if TYPE_CHECKING:
    from .classes import Classification

SECRET = "[secret withheld by ullage]"  # noqa: S105 - stands for one
THINKING = "[thinking withheld by ullage]"

_ANY = re.compile(rf"\[(?:(?:{'|'.join(CLASSES)}) text|secret|thinking) withheld by ullage\]")


def withheld(classification: Classification) -> str:
    """What stands for text of a class that the destination may not see."""
    return f"[{classification} text withheld by ullage]"


def holds_placeholder(text: str) -> bool:
    """Whether a text holds something that was withheld: it must not be stored as if a user had said it (section 35.1, R31)."""
    return _ANY.search(text) is not None


def is_placeholder(text: str) -> bool:
    """Whether a text is nothing but what was withheld."""
    return _ANY.fullmatch(text) is not None
