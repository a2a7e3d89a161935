"""From text to numbers of tokens: vocabularies, estimators by name and version, and the planner's wrapper arithmetic."""

from .estimators import ESTIMATORS, Estimator, get_estimator
from .json_text import compact_json, stable_json
from .vocabularies import VOCABULARIES, Vocabulary, load_vocabulary
from .wrappers import estimate_message, estimate_system, estimate_tool

__all__ = [
    "ESTIMATORS",
    "VOCABULARIES",
    "Estimator",
    "Vocabulary",
    "compact_json",
    "estimate_message",
    "estimate_system",
    "estimate_tool",
    "get_estimator",
    "load_vocabulary",
    "stable_json",
]
