"""What a prompt shows of the task that it sets, before it is weighed (routing specification, sections 4.1 and 4.2)."""

from __future__ import annotations

from msgspec import Struct

KINDS = (
    "debug",
    "refactor",
    "review",
    "test",
    "plan",
    "architecture",
    "ops",
    "research",
    "explain",
    "code-edit",
    "generate",
)
"""Kinds of tasks, in the order in which a profile names them."""
MIXED = "mixed"
"""Follows the kinds of a task that has several, and stands alone where none was found."""


class Signals(Struct, frozen=True, kw_only=True):
    """What was found. `kinds` are in the order of `KINDS`, without `MIXED`.

    `letters` is the length of the prompt in Latin letters: code points, of which those that are tokens by themselves count
    four (section 4.5, no. 6). `goes_on` says that the prompt asks for no more than to go on with the task before;
    `agrees` that it is short, begins with an assent and asks for something: "yes, implement it".
    """

    kinds: tuple[str, ...]
    code: bool
    trace: bool
    steps: bool
    letters: int
    goes_on: bool = False
    agrees: bool = False
