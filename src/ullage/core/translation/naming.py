"""Names of tools and ids of calls that every provider takes, and the way back to the client's own names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# OpenAI: letters, digits, _ and -, 64 characters; Anthropic takes twice as many, Gemini wants a letter or _ first.
NAME_LIMIT_CHARS = 64
# Chat Completions takes ids of up to 40 characters, Responses of 64, Anthropic of any length.
ID_LIMIT_CHARS = 40
_OTHERS = re.compile(r"[^A-Za-z0-9_-]")
_LEAD = re.compile(r"[A-Za-z_]")
_HASH_CHARS = 12
_SHORT_CHARS = 9
_SHORT = re.compile(r"[A-Za-z0-9]{9}")


def clean_names(names: Iterable[str]) -> Mapping[str, str]:
    """A name that any target takes for each name, in their order; no two get the same. Those that are fine stay."""
    wanted = list(dict.fromkeys(names))
    cleaned = {name: _clean_name(name) for name in wanted}
    taken = {name for name in wanted if cleaned[name] == name}
    return {name: name if name in taken else unique(cleaned[name], taken, NAME_LIMIT_CHARS) for name in wanted}


class Ids:
    """Ids of calls that no two share, in letters, digits, `_` and `-`. `short` ones are nine letters and digits, for Mistral."""

    def __init__(self, *, short: bool = False) -> None:
        self._short = short
        self._taken: set[str] = set()
        self._count = 0

    def settle(self, wanted: str) -> str:
        """The id for a call that came with this one; one without any is numbered."""
        self._count += 1
        if not self._short:
            return unique(_clean(wanted, ID_LIMIT_CHARS) or f"call_{self._count}", self._taken, ID_LIMIT_CHARS)
        found, salt = wanted if _SHORT.fullmatch(wanted) else _nine(wanted), 0
        while found in self._taken:
            salt += 1
            found = _nine(f"{wanted} {salt}")
        self._taken.add(found)
        return found


def _nine(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())[:_SHORT_CHARS]


def unique(text: str, taken: set[str], limit: int) -> str:
    """The text, or the text with the first number that makes it new; it is then taken."""
    found, number = text, 1
    while found in taken:
        number += 1
        found = f"{text[: limit - len(str(number)) - 1]}_{number}"
    taken.add(found)
    return found


def _clean_name(name: str) -> str:
    return _clean(name if _LEAD.match(name) else f"_{name}", NAME_LIMIT_CHARS)


def _clean(text: str, limit: int) -> str:
    plain = _OTHERS.sub("_", text)
    if len(plain) <= limit:
        return plain
    return f"{plain[: limit - _HASH_CHARS - 1]}_{xxhash.xxh3_64_hexdigest(text.encode())[:_HASH_CHARS]}"
