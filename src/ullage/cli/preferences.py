"""How a command estimates and shows: what its flags say, else the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from ullage.core.profiles.heuristics import NO_HEURISTICS
from ullage.settings.records import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.core.accounting import Meter
    from ullage.core.planning import Policy
    from ullage.core.profiles.heuristics import Heuristics

ESTIMATORS = ("wire-v1", "o200k-base-v1", "chars-v1", "inspector-v2", "inspector-v1")
STYLES = ("fine", "coarse")
_SECTION = "accounting."


class Preferences(NamedTuple):
    """The estimator, what is set about those that divide characters, the style of numbers, and the settings as a whole."""

    estimator: str = "wire-v1"
    heuristics: Heuristics = NO_HEURISTICS
    style: Literal["fine", "coarse"] = "fine"
    settings: Settings = Settings()

    @property
    def policy(self) -> Policy:
        """How is learned from usage."""
        from ullage.settings.policy import make_policy

        return make_policy(self.settings)

    def planner_estimator(self, provider: str, model: str) -> str:
        """What plans for a model are counted by, which is what its samples are made with."""
        from ullage.settings.resolving import resolve_by

        return resolve_by(self.settings, provider, model).token_estimator

    def meter(self, *, dialect: str | None, provider: str | None, model: str | None, client: str | None) -> Meter:
        """The meter for a model, as `make_meter` has it."""
        from ullage.core.accounting import make_meter

        return make_meter(
            dialect=dialect,
            provider=provider,
            model=model,
            client=client,
            estimator=self.estimator,
            heuristics=self.heuristics,
        )


def load_preferences(*, estimator: str | None = None, style: str | None = None) -> Preferences:
    """Flags over settings. What cannot be used of the settings is told on standard error, and left out."""
    from ullage.settings import load_settings

    loaded = load_settings(flags={"accounting.estimator": estimator, "accounting.number_style": style})
    for problem in loaded.problems:
        if (problem.key or "").startswith(_SECTION):
            click.echo(f"ullage: {problem}", err=True)
    accounting = loaded.settings.accounting
    return Preferences(accounting.estimator, accounting.heuristics, accounting.number_style, loaded.settings)


def estimator_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--estimator",
        type=click.Choice(ESTIMATORS),
        help="How to count. Default: accounting.estimator of the settings.",
    )(command)


def style_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--numbers", "style", type=click.Choice(STYLES), help="Decimals: one everywhere, or none from 1k."
    )(command)
