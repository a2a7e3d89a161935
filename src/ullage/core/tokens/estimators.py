"""Estimators by name and version. Every stored number names the one that made it; a plan never mixes two."""

from __future__ import annotations

from typing import Protocol

from ullage.core.errors import CallError

from .vocabularies import load_vocabulary

ESTIMATORS = ("wire-v1", "o200k-base-v1", "chars-v1", "inspector-v2", "inspector-v1")
"""Names that `get_estimator` knows, the default of live figures first (design, section 11)."""

_CHARS_PER_TOKEN = 4


class Estimator(Protocol):
    """Estimates plain text. What surrounds text (roles, wrappers, media) is arithmetic of its users."""

    @property
    def name(self) -> str:
        """Name and version, part of every stored number."""
        ...

    def text(self, text: str) -> int:
        """Tokens of a plain text; 0 for the empty one."""
        ...


class CharsEstimator:
    """`chars-v1`: UTF-16 units over four, rounded up (planner specification, section 6 and conventions)."""

    name = "chars-v1"

    def text(self, text: str) -> int:
        return -(-utf16_units(text) // _CHARS_PER_TOKEN)


class CodePointEstimator:
    """Code points over four, rounded up: the inspector's fallback (accounting specification, section 4)."""

    def __init__(self, name: str) -> None:
        self.name = name

    def text(self, text: str) -> int:
        return -(-len(text) // _CHARS_PER_TOKEN)


class VocabularyEstimator:
    """Text counted by a vocabulary that is loaded at the first use."""

    def __init__(self, name: str, vocabulary: str) -> None:
        self.name = name
        self._vocabulary = vocabulary

    def text(self, text: str) -> int:
        return load_vocabulary(self._vocabulary).count(text) if text else 0


_BY_NAME: dict[str, Estimator] = {
    "wire-v1": VocabularyEstimator("wire-v1", "o200k_base"),
    "o200k-base-v1": VocabularyEstimator("o200k-base-v1", "o200k_base"),
    "chars-v1": CharsEstimator(),
    "inspector-v2": CodePointEstimator("inspector-v2"),
    "inspector-v1": CodePointEstimator("inspector-v1"),
}


def get_estimator(name: str) -> Estimator:
    """The estimator of that name and version. Raises `CallError` for an unknown one.

    `wire-v1` as a bare text estimator counts by o200k_base; a meter gives it the vocabulary and ratio of a model's family. The
    inspectors alone divide by four; a meter gives them the denominators of a model.
    """
    estimator = _BY_NAME.get(name)
    if estimator is None:
        raise CallError(
            f"There is no estimator {name!r}.",
            hint=f"Known are {', '.join(ESTIMATORS)}.",
            code="unknown_estimator",
        )
    return estimator


def utf16_units(text: str) -> int:
    """UTF-16 code units of the text: one more than its characters for each one outside the basic plane."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
