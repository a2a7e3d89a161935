"""Members of a request beside its messages, set or taken away: only what is changed is written anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from .edits import sibling_cuts
from .slicing import find_member, members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .conversation import Member
    from .edits import Edit

Path = tuple[str, ...]
"""The keys from the top of the request to a member."""

REMOVED = msgspec.UNSET
"""The value of a member that goes."""


def option_edits(body: bytes, inside: int, found: Sequence[Member], options: Mapping[Path, Any]) -> list[Edit]:
    """The edits that set the members at these paths, or remove them, within the object that has the members `found`; `inside` is
    the place behind its opening brace.

    An object on the way is made where there is none, and takes the place of a value that is no object. A member that is to go and
    is not there changes nothing; one that is set to what it is stays as it is written. With nothing left in it an object stays.
    """
    by_key: dict[str, dict[Path, Any]] = {}
    for path, value in options.items():
        by_key.setdefault(path[0], {})[path[1:]] = value
    edits: list[Edit] = []
    added: dict[str, Any] = {}
    removed: set[str] = set()
    for key, inner in by_key.items():
        member = find_member(found, key)
        if inner.get((), None) is REMOVED:
            removed.add(key)
        elif member is not None and () not in inner and body[member.value : member.value + 1] == b"{":
            edits += option_edits(body, member.value + 1, members(body, member.value, member.end), inner)
        elif (value := _build(inner)) is not REMOVED:
            if member is None:
                added[key] = value
            else:
                edits += _replacement(body, member, value)
    return [*edits, *_list_edits(inside, found, removed, added)]


def _build(inner: Mapping[Path, Any]) -> Any:
    """The value of a member that has nothing yet; `REMOVED` where nothing is to be in it."""
    if () in inner:
        return inner[()]
    built: dict[str, Any] = {}
    for path, value in inner.items():
        if value is not REMOVED:
            holder = built
            for key in path[:-1]:
                holder = holder.setdefault(key, {})
            holder[path[-1]] = value
    return built or REMOVED


def _replacement(body: bytes, member: Member, value: Any) -> list[Edit]:
    written = msgspec.json.encode(value)
    return [] if body[member.value : member.end] == written else [(member.value, member.end, written)]


def _list_edits(inside: int, found: Sequence[Member], removed: set[str], added: Mapping[str, Any]) -> list[Edit]:
    """Members go with one comma each, all of a name; new ones come behind the last that stays."""
    alive = [member.key not in removed for member in found]
    written = [msgspec.json.encode(key) + b":" + msgspec.json.encode(value) for key, value in added.items()]
    if not any(alive):
        start, end = (found[0].start, found[-1].end) if found else (inside, inside)
        return [(start, end, b",".join(written))] if found or written else []
    edits = sibling_cuts(lambda index: (found[index].start, found[index].end), alive)
    if written:
        last = max(index for index, stays in enumerate(alive) if stays)
        edits.append((found[last].end, found[last].end, b"".join(b"," + text for text in written)))
    return edits
