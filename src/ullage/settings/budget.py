"""Settings of what may be spent (routing specification, section 17.1), and the limits in nano-USD that they come to."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field

from ullage.core.spend.ledger import ACTIONS, DEFAULT_ON_EXCEED, OnExceed, ProviderLimits, SpendLimits, to_nano

SECTION = "budget"
BUDGET_PROVIDERS = f"{SECTION}.providers"
ON_EXCEED = f"{SECTION}.on_exceed"
AMOUNTS = frozenset(f"{SECTION}.{name}" for name in ("task_usd", "session_usd", "daily_usd", "monthly_usd"))
"""Limits that a project may lower."""

# Zero is a limit. The upper bound keeps sums in range; nobody means more.
Usd = Annotated[float, Meta(ge=0, le=1_000_000)]


class BudgetProviderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What may be spent at one provider."""

    daily_usd: Annotated[Usd | None, Meta(description="USD in a day of this machine's time zone.")] = None
    monthly_usd: Annotated[Usd | None, Meta(description="USD in a month.")] = None
    on_exceed: Annotated[
        OnExceed | None, Meta(description="What happens there; what `budget.on_exceed` says if not set.")
    ] = None


class BudgetSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be spent. Every limit holds for calls that are being answered as well, each at the most that it may cost."""

    task_usd: Annotated[Usd | None, Meta(description="USD for one turn of yours, with all calls of its tool loop.")] = (
        None
    )
    session_usd: Annotated[Usd | None, Meta(description="USD in a session.")] = None
    daily_usd: Annotated[Usd | None, Meta(description="USD in a day of this machine's time zone.")] = None
    monthly_usd: Annotated[Usd | None, Meta(description="USD in a month.")] = None
    on_exceed: Annotated[
        OnExceed,
        Meta(
            description="What happens to a call that would exceed a limit: it is sent with a warning, its target is passed over,"
            " a cheaper one is taken where there is one, or nothing is sent."
        ),
    ] = DEFAULT_ON_EXCEED
    reserve_cap_usd: Annotated[
        Usd | None,
        Meta(description="Most that one call counts while its cost is not known yet. Not set: all it may cost."),
    ] = None
    providers: Annotated[dict[str, BudgetProviderSettings], Meta(description="Limits of providers.")] = field(
        default_factory=dict
    )


def make_spend_limits(settings: BudgetSettings) -> SpendLimits:
    """The limits of the settings."""
    return SpendLimits(
        task=_nano(settings.task_usd),
        session=_nano(settings.session_usd),
        day=_nano(settings.daily_usd),
        month=_nano(settings.monthly_usd),
        on_exceed=settings.on_exceed,
        reserve_cap=_nano(settings.reserve_cap_usd),
        providers={
            name: ProviderLimits(day=_nano(one.daily_usd), month=_nano(one.monthly_usd), on_exceed=one.on_exceed)
            for name, one in settings.providers.items()
        },
    )


def is_as_strong(value: Any, held: Any) -> bool:
    """Whether an action of a project is no weaker than the one that holds without it."""
    order: tuple[str, ...] = ACTIONS
    return order.index(value) >= order.index(held)


def _nano(usd: float | None) -> int | None:
    return None if usd is None else to_nano(usd)
