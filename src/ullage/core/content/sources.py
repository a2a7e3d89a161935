"""Where a tool comes from, as hosts tell it: one line in the form of `ToolSpec.source`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SEPARATOR = " · "
_FIELDS = ("scope", "source", "origin", "path")


def source_line(info: Any) -> str | None:
    """`scope · source · origin · path` of a host's record of a tool's source, as far as it tells them; `None` for nothing.

    A text is taken as it is (accounting specification, section 13, and Pi's `SourceInfo`).
    """
    if isinstance(info, str):
        return info or None
    if not isinstance(info, Mapping):
        return None
    told = [value for field in _FIELDS if isinstance(value := info.get(field), str) and value]
    return SEPARATOR.join(told) or None
