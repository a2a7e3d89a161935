"""Which numbers count for a model: built-in rows, and around them what the user has set (accounting specification, 4.3)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from ullage.core.profiles.heuristics import OPENAI_IDS, REPO_TABLE, SEED_TABLE, Defaults, Profile, fits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.profiles.heuristics import Heuristics, Row, Rule

TABLES = {"inspector-v1": SEED_TABLE, "inspector-v2": REPO_TABLE}
"""The built-in table behind each estimator that divides characters."""

FALLBACK_LABEL = "fallback chars/4"
_SEPARATORS = "/@._-"
# Pi's names of a wire whose shape is one of our dialects; some are told apart by who serves them.
_API_NAMES: dict[str, tuple[str, ...]] = {
    "openai-responses": ("openai-responses",),
    "openai-chat": ("openai-completions",),
    "anthropic": ("anthropic-messages",),
    "gemini": ("google-generative-ai", "google-vertex"),
    "bedrock": ("bedrock-converse-stream",),
}
_API_NAMES_BY_PROVIDER = (
    ("openai-codex", "openai-responses", "openai-codex-responses"),
    ("azure", "openai-responses", "azure-openai-responses"),
    ("mistral", "openai-chat", "mistral-conversations"),
)


class Denominators(Struct, frozen=True, kw_only=True):
    """What counts for one model: characters in a token by kind of text, and how tools are written out.

    `source` is the patch that had the last word: a built-in label, `defaults`, `profile:NAME`, or a rule's label.
    """

    label: str = FALLBACK_LABEL
    source: str = "fallback"
    text_denominator: float = 4
    session_denominator: float = 4
    tool_denominator: float = 4
    tool_numerator: str = "openai-responses"

    @property
    def known(self) -> bool:
        """Whether anything but the fallback had a say in how text is counted."""
        return self.label != FALLBACK_LABEL or (self.text_denominator, self.session_denominator) != (4, 4)


def resolve_denominators(
    estimator: str, heuristics: Heuristics, *, provider: str | None, model: str | None, dialect: str | None
) -> Denominators:
    """Fallback, the profile of the defaults, the defaults, the built-in rows, then every rule that fits, in order.

    Each layer overrides only the fields that it sets; one without a label leaves the label.
    """
    denominators = Denominators()
    for source, patch in _patches(estimator, heuristics, provider or "", model or "", dialect):
        denominators = _patched(denominators, patch, source)
    return denominators


def _patches(
    estimator: str, heuristics: Heuristics, provider: str, model: str, dialect: str | None
) -> Iterator[tuple[str, Profile]]:
    defaults = heuristics.defaults
    if defaults.profile in heuristics.profiles:
        yield f"profile:{defaults.profile}", heuristics.profiles[defaults.profile]
    yield "defaults", _profile_of(defaults)
    built_in = _built_in(estimator, provider.lower(), model.lower(), dialect)
    yield built_in.label or "built-in", built_in
    for rule in heuristics.rules:
        if _is_for(rule, provider, model, dialect):
            if rule.profile in heuristics.profiles:
                yield f"profile:{rule.profile}", heuristics.profiles[rule.profile]
            yield rule.label or (f"rule:{rule.profile}" if rule.profile else "custom rule"), rule


def _patched(denominators: Denominators, patch: Profile, source: str) -> Denominators:
    fields = ("label", "text_denominator", "session_denominator", "tool_denominator", "tool_numerator")
    said = {name: value for name in fields if (value := getattr(patch, name)) is not None}
    if not said:
        return denominators
    kept = {name: getattr(denominators, name) for name in fields}
    return Denominators(**{**kept, **said}, source=source)


def _profile_of(defaults: Defaults) -> Profile:
    return Profile(
        text_denominator=defaults.text_denominator,
        session_denominator=defaults.session_denominator,
        tool_denominator=defaults.tool_denominator,
        tool_numerator=defaults.tool_numerator,
    )


def _is_for(rule: Rule, provider: str, model: str, dialect: str | None) -> bool:
    match = rule.match
    if not fits(match.provider, provider) or not fits(match.model or match.id, model):
        return False
    return match.api is None or any(fits(match.api, name) for name in _api_names(dialect, provider.lower()))


def _api_names(dialect: str | None, provider: str) -> tuple[str, ...]:
    """The names under which a rule may know a dialect: ours, and Pi's for who serves it."""
    own = dialect or ""
    special = tuple(name for part, shape, name in _API_NAMES_BY_PROVIDER if shape == own and part in provider)
    return (own, *(special or _API_NAMES.get(own, ())))


@lru_cache(maxsize=1024)
def _built_in(estimator: str, provider: str, model: str, dialect: str | None) -> Profile:
    if not provider and re.search(OPENAI_IDS, model):
        provider = "openai"
    table = TABLES[estimator]
    text = next((row for row in table.texts if _fits_row(row, provider, model, dialect)), None)
    tools = next((row for row in table.tools if _fits_row(row, provider, model, dialect)), None)
    return Profile(
        label=text.label if text else None,
        text_denominator=text.text_denominator if text else None,
        session_denominator=text.session_denominator if text else None,
        tool_denominator=tools.tool_denominator if tools else None,
        tool_numerator=tools.tool_numerator if tools else None,
    )


def _fits_row(row: Row, provider: str, model: str, dialect: str | None) -> bool:
    if row.dialects and dialect not in row.dialects:
        return False
    if row.ids and not _ends_with_one_of(model, row.ids):
        return False
    wanted = ((row.who, f"{provider}/{model}"), (row.provider, provider), (row.model, model))
    return all(pattern is None or re.search(pattern, subject) for pattern, subject in wanted)


def _ends_with_one_of(model: str, ids: frozenset[str]) -> bool:
    """Whether the model id is one of these, or ends with one behind a separator: the names of a route come first."""
    starts = (0, *(at + 1 for at, sign in enumerate(model) if sign in _SEPARATORS))
    return any(model[start:] in ids for start in starts)
