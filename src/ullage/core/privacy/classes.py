"""The four classes of content, in their order (planner specification, section 23.1)."""

from __future__ import annotations

from typing import Literal

Classification = Literal["normal", "internal", "sensitive", "local-only"]
RemoteClass = Literal["normal", "internal", "sensitive"]
"""What may be allowed to a remote provider: `local-only` never is (section 23.2)."""

CLASSES: tuple[Classification, ...] = ("normal", "internal", "sensitive", "local-only")


def highest(*classes: Classification) -> Classification:
    """The most restrictive of the classes; `normal` of none."""
    return max(classes, key=CLASSES.index, default="normal")
