"""Settings of what may be spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ullage.core.spend import NO_LIMITS, ProviderLimits, SpendLimits
from ullage.settings.budget import BudgetProviderSettings, BudgetSettings, make_spend_limits

if TYPE_CHECKING:
    from conftest import Files

USER = """
[budget]
task_usd = 0.5
daily_usd = 5
reserve_cap_usd = 0.25
on_exceed = "block"

[budget.providers.anthropic]
monthly_usd = 50
on_exceed = "avoid"
"""


def test_nothing_is_limited_unless_it_is_set(files: Files) -> None:
    assert files.load().settings.budget == BudgetSettings()
    assert make_spend_limits(BudgetSettings()) == NO_LIMITS
    assert not make_spend_limits(BudgetSettings(on_exceed="block", reserve_cap_usd=1)).are_set


def test_limits_are_whole_billionths_of_a_dollar(files: Files) -> None:
    budget = files.load(USER).settings.budget
    assert budget.providers == {"anthropic": BudgetProviderSettings(monthly_usd=50, on_exceed="avoid")}
    assert make_spend_limits(budget) == SpendLimits(
        task=500_000_000,
        day=5_000_000_000,
        on_exceed="block",
        reserve_cap=250_000_000,
        providers={"anthropic": ProviderLimits(month=50_000_000_000, on_exceed="avoid")},
    )


@pytest.mark.parametrize(
    ("project", "limit"),
    [("daily_usd = 2", 2), ("daily_usd = 6", 5), ("session_usd = 7", 5)],
)
def test_a_project_may_only_lower_limits(files: Files, project: str, limit: float) -> None:
    budget = files.load(USER, f"[budget]\n{project}").settings.budget
    assert budget.daily_usd == limit
    assert budget.session_usd == (7 if "session" in project else None)


@pytest.mark.parametrize(("of_user", "of_project", "holds"), [("warn", "block", "block"), ("block", "warn", "block")])
def test_a_project_may_only_make_the_action_stronger(files: Files, of_user: str, of_project: str, holds: str) -> None:
    text = '[budget]\non_exceed = "{}"'
    assert files.load(text.format(of_user), text.format(of_project)).settings.budget.on_exceed == holds


@pytest.mark.parametrize("project", ["[budget.providers.openai]\ndaily_usd = 1", "[budget]\nreserve_cap_usd = 1"])
def test_a_project_says_nothing_of_providers_and_reservations(files: Files, project: str) -> None:
    (problem,) = files.problems(USER, project)
    assert "A project file may not set budget." in problem


@pytest.mark.parametrize(
    "text",
    ["daily_usd = -1", 'daily_usd = "a lot"', 'on_exceed = "stop"', "daily_usd = inf", "dayly_usd = 5"],
)
def test_a_limit_that_cannot_be_used_keeps_the_daemon_from_starting(files: Files, text: str) -> None:
    loaded = files.load(f"[budget]\n{text}")
    assert [problem.blocking for problem in loaded.problems] == [True]
