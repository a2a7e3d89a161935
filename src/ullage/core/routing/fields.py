"""Fields of a file of settings: what is wrong with one is told with its path and leaves the others alone (section 32, row 7)."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from .suggesting import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class FieldError(Exception):
    """What is wrong with a field: its path within the entry that is read, and why."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def read_object(value: Any, path: str, known: Sequence[str] | None = None) -> Mapping[str, Any]:
    """An object, with no other fields than the known ones if these are given."""
    if not isinstance(value, dict):
        raise FieldError(path, "an object is expected")
    unknown = next((key for key in value if known is not None and key not in known), None)
    if unknown is not None:
        raise FieldError(f"{path}.{unknown}", f"there is no such field{tell_meant(unknown, known or ())}")
    return value


def tell_meant(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for a word that is nearly a known one, else nothing."""
    found = suggest(word, known)
    return f"; did you mean {found!r}?" if found is not None else ""


def read_texts(value: Any, path: str) -> tuple[str, ...]:
    """A list of texts, of which none is empty; a text by itself is a list of one."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) and one for one in listed):
        raise FieldError(path, "a text or a list of texts is expected")
    return tuple(listed)


def make_word_reader(known: Sequence[str]) -> Callable[[Any, str], str]:
    """A reader of one of these words."""

    def read(value: Any, path: str) -> str:
        if value not in known:
            raise FieldError(path, f"{value!r} is none of {', '.join(known)}{tell_meant(str(value), known)}")
        return str(value)

    return read


def read_number(value: Any, path: str, *, least: float = 0.0, most: float | None = None) -> float:
    """A finite number within its bounds."""
    number = not isinstance(value, bool) and isinstance(value, (int, float)) and isfinite(value)
    if not number or value < least or (most is not None and value > most):
        bounds = f"from {least:g} on" if most is None else f"from {least:g} to {most:g}"
        raise FieldError(path, f"{value!r} is no number {bounds}")
    return float(value)


def read_part(value: Any, path: str) -> float:
    """A part of a whole, 0 to 1."""
    return read_number(value, path, most=1.0)


def read_tokens(value: Any, path: str) -> int:
    """A number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FieldError(path, f"{value!r} is no number of tokens from 0 on")
    return value


def read_boolean(value: Any, path: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise FieldError(path, f"{value!r} is neither true nor false")
    return value
