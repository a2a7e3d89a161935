"""A meter: an estimator fitted to one model on one wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.core.profiles import Retention, find_family, reasoning_retention
from ullage.core.tokens import get_estimator

from .wire_rule import WireRule
from .wrapper_rule import WrapperRule

if TYPE_CHECKING:
    from ullage.core.profiles import Growth

    from .rules import Rule

# Raised when a rule, a layout or a constant changes what a measure says: kept measures are then counted anew.
_VERSION = 1


class Meter:
    """What decides a measure, resolved once. `key` names all of it, for caches and stored numbers."""

    __slots__ = ("client", "dialect", "estimator", "family", "growth", "key", "model", "provider", "retention", "rule")

    def __init__(
        self, *, dialect: str | None, provider: str | None, model: str | None, client: str | None, estimator: str
    ) -> None:
        family = find_family(provider, dialect, model)
        self.dialect = dialect
        self.provider = provider
        self.model = model
        self.client = client
        self.estimator = get_estimator(estimator).name
        self.family = family.id
        self.growth: Growth = family.growth
        self.retention: Retention = reasoning_retention(provider, model)
        self.rule: Rule = WireRule(family) if self.counts_the_wire else WrapperRule(get_estimator(estimator))
        rule = family.id if self.counts_the_wire else ""
        self.key = f"{self.estimator}/{_VERSION}/{rule}/{dialect or ''}/{client or ''}"

    @property
    def counts_the_wire(self) -> bool:
        """Whether the model's family decides the numbers; if not, the same text weighs the same everywhere."""
        return self.estimator == "wire-v1"

    @property
    def frames_every_message(self) -> bool:
        return not self.counts_the_wire


def make_meter(
    *,
    dialect: str | None,
    provider: str | None,
    model: str | None,
    client: str | None,
    estimator: str = "wire-v1",
) -> Meter:
    """The meter for a model on a dialect, as one client writes it; each may be unknown.

    Raises `CallError` for an unknown estimator.
    """
    return Meter(dialect=dialect, provider=provider, model=model, client=client, estimator=estimator)
