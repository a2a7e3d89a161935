"""A meter: an estimator fitted to one model on one wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.profiles import Retention, find_family, reasoning_retention
from ullage.core.profiles.heuristics import NO_HEURISTICS
from ullage.core.tokens import get_estimator

from .heuristics import InspectorRule, is_inspector, make_inspector_rule
from .tool_shapes import tool_payload
from .wire_rule import WireRule
from .wrapper_rule import WrapperRule

if TYPE_CHECKING:
    from ullage.core.content import ToolSpec
    from ullage.core.profiles import Family, Growth
    from ullage.core.profiles.heuristics import Heuristics

    from .rules import Rule

# Raised when a rule, a layout or a constant changes what a measure says: kept measures are then counted anew.
_VERSION = 2


class Meter:
    """What decides a measure, resolved once. `key` names all of it, for caches and stored numbers.

    `inspector_rule` is the rule if characters are divided, else `None`.
    """

    __slots__ = (
        "client",
        "dialect",
        "estimator",
        "family",
        "fitted",
        "growth",
        "inspector_rule",
        "key",
        "model",
        "provider",
        "retention",
        "rule",
    )

    def __init__(
        self,
        *,
        dialect: str | None,
        provider: str | None,
        model: str | None,
        client: str | None,
        estimator: str,
        heuristics: Heuristics,
    ) -> None:
        family = find_family(provider, dialect, model)
        self.dialect = dialect
        self.provider = provider
        self.model = model
        self.client = client
        self.estimator = get_estimator(estimator).name
        self.fitted = family.fitted
        self.growth: Growth = family.growth
        self.retention: Retention = reasoning_retention(provider, model)
        self.inspector_rule: InspectorRule | None = None
        if is_inspector(self.estimator):
            self.inspector_rule = make_inspector_rule(
                self.estimator, heuristics, provider=provider, model=model, dialect=dialect
            )
        self.rule: Rule = self.inspector_rule or self._rule_of(family)
        self.family = family.id if self.inspector_rule is None else self.inspector_rule.family
        self.key = f"{self.estimator}/{_VERSION}/{self._rule_key()}/{dialect or ''}/{client or ''}"

    @property
    def counts_the_wire(self) -> bool:
        """Whether the model's family decides the numbers; if not, the same text weighs the same everywhere."""
        return self.estimator == "wire-v1"

    @property
    def frames_every_message(self) -> bool:
        return not self.counts_the_wire

    def tool_chars(self, spec: ToolSpec) -> int:
        """Code points of one tool definition as it is counted."""
        if self.inspector_rule is not None:
            return len(self.inspector_rule.numerator.text(spec))
        return len(tool_payload(spec, self.dialect))

    def _rule_of(self, family: Family) -> Rule:
        return WireRule(family) if self.counts_the_wire else WrapperRule(get_estimator(self.estimator))

    def _rule_key(self) -> str:
        if self.inspector_rule is not None:
            return self.inspector_rule.key
        return self.family if self.counts_the_wire else ""


def make_meter(
    *,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    client: str | None,
    estimator: str = "wire-v1",
    heuristics: Heuristics = NO_HEURISTICS,
) -> Meter:
    """The meter for a model on a dialect, as one client writes it; each may be unknown.

    `heuristics` are what a user and a project have set about the estimators that divide characters. Raises `CallError` for an
    unknown estimator.
    """
    return Meter(
        dialect=dialect, provider=provider, model=model, client=client, estimator=estimator, heuristics=heuristics
    )
