"""What may be spent, and what was: limits, reservations, and the sums that both are held against (routing, section 17).

Everything is plain data and arithmetic in whole billionths of a dollar (nano-USD), so that sums are exact. Whoever keeps the
ledger reads the totals of a call, has them judged here, and writes the change that comes of it, all in one transaction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ullage.core.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Action = Literal["allow", "warn", "avoid", "downgrade", "block"]
OnExceed = Literal["warn", "avoid", "downgrade", "block"]
ACTIONS: tuple[Action, ...] = ("allow", "warn", "avoid", "downgrade", "block")
"""From the weakest to the strongest (section 17.1)."""

DEFAULT_ON_EXCEED: OnExceed = "downgrade"
NANO = 1_000_000_000

RESERVATION_MS = 60 * 60 * 1000
"""A reservation that nobody has settled for so long is stuck: it ends, and its amount stays as an estimate (ours)."""

Scope = Literal["task", "session", "day", "month", "provider_day", "provider_month", "hour"]
State = Literal["open", "known", "estimated", "released"]
_GUESSED = ("open", "estimated")

_HOUR_MS = 60 * 60 * 1000


class Key(NamedTuple):
    """One sum: of a task, a session, a local day (`2026-01-31`) or month (`2026-01`), of one provider in these
    (`2026-01-31 openai`), or of an hour (the millisecond of the epoch at which it begins)."""

    scope: Scope
    name: str


class ProviderLimits(Struct, frozen=True, kw_only=True):
    """Limits of one provider in nano-USD; `None` sets none. `on_exceed` overrides that of all."""

    day: int | None = None
    month: int | None = None
    on_exceed: OnExceed | None = None


class SpendLimits(Struct, frozen=True, kw_only=True):
    """Limits in nano-USD; `None` sets none, zero is a limit like any other (section 17.1).

    `reserve_cap` is the most that one reservation counts, whatever its call may cost at worst.
    """

    task: int | None = None
    session: int | None = None
    day: int | None = None
    month: int | None = None
    on_exceed: OnExceed = DEFAULT_ON_EXCEED
    providers: Mapping[str, ProviderLimits] = field(default_factory=dict)
    reserve_cap: int | None = None

    @property
    def are_set(self) -> bool:
        """Whether there is any limit at all."""
        own = (self.task, self.session, self.day, self.month)
        of_providers = (limit for one in self.providers.values() for limit in (one.day, one.month))
        return any(limit is not None for limit in (*own, *of_providers))

    def checks(self, provider: str) -> Iterator[Check]:
        """What holds for a call to a provider, in the order of section 17.1."""
        one = self.providers.get(provider, _NO_PROVIDER_LIMITS)
        theirs = one.on_exceed or self.on_exceed
        for name, scope, limit, action in (
            ("task", "task", self.task, self.on_exceed),
            ("session", "session", self.session, self.on_exceed),
            ("daily", "day", self.day, self.on_exceed),
            ("monthly", "month", self.month, self.on_exceed),
            (f"{provider} daily", "provider_day", one.day, theirs),
            (f"{provider} monthly", "provider_month", one.month, theirs),
        ):
            if limit is not None:
                yield Check(name, scope, limit, action)  # type: ignore[arg-type]  # mypy widens the words of a tuple


class Check(NamedTuple):
    """One limit: what it is called, the sum that it is held against, and what happens where it is exceeded."""

    name: str
    scope: Scope
    limit: int
    action: OnExceed


_NO_PROVIDER_LIMITS = ProviderLimits()
NO_LIMITS = SpendLimits(providers=MappingProxyType({}))


class Spend(Struct, frozen=True, kw_only=True):
    """A call that is about to be sent. `at_ms` is epoch milliseconds and `day` the local day of that moment, `2026-01-31`.

    `estimate` is the most that it is expected to cost with a prompt of `input_tokens`, nano-USD; `None` where no price is known.
    `session` and `task` are `None` for a call that belongs to none: their limits are then held against the call alone.
    `unforeseen`: it costs something, and nobody knows how much, so that it goes beyond a limit that is used up.
    """

    id: str
    at_ms: int
    day: str
    provider: str
    model: str
    kind: str = "main"
    session: str | None = None
    task: str | None = None
    estimate: int | None = None
    input_tokens: int = 0
    unforeseen: bool = False

    @property
    def keys(self) -> tuple[Key, ...]:
        """The sums that it counts in."""
        month = self.day[:7]
        found = [
            Key("day", self.day),
            Key("month", month),
            Key("provider_day", f"{self.day} {self.provider}"),
            Key("provider_month", f"{month} {self.provider}"),
            Key("hour", str(self.at_ms // _HOUR_MS * _HOUR_MS)),
        ]
        found += [Key("session", self.session)] if self.session else []
        found += [Key("task", self.task)] if self.task else []
        return tuple(found)


class SpendAttempt(Struct, frozen=True, kw_only=True):
    """A call in the ledger. `amount` is what of it counts now, nano-USD: the reservation as long as it is `open`, then what it
    cost (`known`), else the reservation still (`estimated`); nothing if it was never sent (`released`).

    `capped` says that the reservation was less than the estimate, for the sake of `reserve_cap`.
    """

    spend: Spend
    amount: int
    state: State = "open"
    capped: bool = False
    settled_ms: int | None = None


class SpendTotal(Struct, frozen=True, kw_only=True):
    """One sum in nano-USD. `estimated` is the part of `amount` whose cost is not known, `imported` what another program has spent
    beside it; `unpriced` counts calls without a price, which are in no sum. `at_ms` is when it last changed."""

    scope: Scope
    name: str
    at_ms: int = 0
    amount: int = 0
    estimated: int = 0
    imported: int = 0
    calls: int = 0
    unpriced: int = 0

    @property
    def key(self) -> Key:
        return Key(self.scope, self.name)

    @property
    def used(self) -> int:
        """What limits are held against."""
        return self.amount + self.imported


class Exceeded(Struct, frozen=True, kw_only=True):
    """A limit that a call would go beyond: its name, itself, what is used of it, and what that leads to."""

    name: str
    limit: int
    used: int
    action: OnExceed


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether a call may be sent. `amount` is what it counts until its cost is known, nano-USD.

    `reserved` says that it is in the ledger: it is to be settled, or released if it is not sent after all. `unenforced` names the
    blocking limits that nobody can hold it to, for want of a price.
    """

    action: Action = "allow"
    exceeded: tuple[Exceeded, ...] = ()
    amount: int = 0
    reserved: bool = False
    capped: bool = False
    unenforced: tuple[str, ...] = ()

    @property
    def may_be_sent(self) -> bool:
        """Whether this target may be called at all."""
        return self.action not in ("avoid", "block")


ALLOWED = Verdict()


class Change(NamedTuple):
    """What is to be written."""

    attempt: SpendAttempt
    totals: tuple[SpendTotal, ...]


def to_nano(usd: float) -> int:
    """Dollars in nano-USD, rounded half up. Raises `CallError` for what is no amount of money (section 17.4)."""
    if isinstance(usd, bool) or not math.isfinite(usd) or usd < 0:
        raise CallError(f"{usd!r} is no cost.", hint="A cost is a number of USD from 0 on.", code="bad_cost")
    return math.floor(usd * NANO + 0.5)


def judge(limits: SpendLimits, spend: Spend, totals: Mapping[Key, SpendTotal]) -> Verdict:
    """What the limits say of a call. A limit is exceeded where what is used and the estimate together are more than it."""
    amount, capped = _reserve_amount(limits, spend)
    used = {key.scope: totals[key].used for key in spend.keys if key in totals}
    checks = tuple(limits.checks(spend.provider))
    exceeded = tuple(
        Exceeded(name=check.name, limit=check.limit, used=used.get(check.scope, 0), action=check.action)
        for check in checks
        if used.get(check.scope, 0) + max(amount, spend.unforeseen) > check.limit
    )
    unpriced = spend.estimate is None
    return Verdict(
        action=strongest(one.action for one in exceeded),
        exceeded=exceeded,
        amount=amount,
        capped=capped,
        unenforced=tuple(check.name for check in checks if unpriced and check.action == "block"),
    )


def strongest(actions: Iterable[Action]) -> Action:
    """The strongest of several; `allow` of none."""
    return max(actions, key=ACTIONS.index, default="allow")


def reserve(
    limits: SpendLimits, spend: Spend, totals: Mapping[Key, SpendTotal], *, skip_downgrade: bool = False
) -> tuple[Verdict, Change | None]:
    """Judges a call, and counts it at its worst unless it may not be sent (section 17.3).

    With `skip_downgrade` a cheaper target is at hand: a call that should be downgraded is not counted either.
    """
    verdict = judge(limits, spend, totals)
    if not verdict.may_be_sent or (skip_downgrade and verdict.action == "downgrade"):
        return verdict, None
    attempt = SpendAttempt(spend=spend, amount=verdict.amount, capped=verdict.capped)
    return replace(verdict, reserved=True), count(attempt, totals)


def count(attempt: SpendAttempt, totals: Mapping[Key, SpendTotal]) -> Change:
    """Adds a call that is not in the ledger yet to all its sums."""
    guessed = attempt.state in _GUESSED
    sums = tuple(
        replace(
            total,
            at_ms=max(total.at_ms, attempt.spend.at_ms),
            amount=total.amount + attempt.amount,
            estimated=total.estimated + attempt.amount * guessed,
            calls=total.calls + (attempt.state != "released"),
            unpriced=total.unpriced + (attempt.spend.estimate is None and guessed),
        )
        for total in _sums(attempt.spend, totals)
    )
    return Change(attempt, sums)


def settle(attempt: SpendAttempt, cost: int | None, totals: Mapping[Key, SpendTotal], *, at_ms: int) -> Change | None:
    """Replaces a reservation by what the call cost, in the sums that it was counted in and no other (section 17.4).

    `cost` is nano-USD; `None` and zero mean that nobody knows, so the reservation stays, as an estimate. What is known already,
    or was never sent, is not settled again. Raises `CallError` for a cost below zero.
    """
    if cost is not None and cost < 0:
        raise CallError(f"{cost} is no cost.", hint="A cost is a number from 0 on.", code="bad_cost")
    if attempt.state in ("known", "released") or (attempt.state == "estimated" and not cost):
        return None
    if not cost:
        return _end(attempt, totals, at_ms=at_ms, state="estimated", amount=attempt.amount)
    return _end(attempt, totals, at_ms=at_ms, state="known", amount=cost)


def release(attempt: SpendAttempt, totals: Mapping[Key, SpendTotal], *, at_ms: int) -> Change | None:
    """Takes a reservation back whose call was never sent, or was refused before it could cost anything."""
    if attempt.state in ("known", "released"):
        return None
    return _end(attempt, totals, at_ms=at_ms, state="released", amount=0)


def adopt(known: SpendAttempt, told: SpendAttempt, totals: Mapping[Key, SpendTotal]) -> Change | None:
    """What another record of the same call adds to the one that is in the ledger."""
    at_ms = told.settled_ms or told.spend.at_ms
    match told.state:
        case "open":
            return None
        case "released":
            return release(known, totals, at_ms=at_ms)
        case _:
            return settle(known, told.amount if told.state == "known" else None, totals, at_ms=at_ms)


def _end(attempt: SpendAttempt, totals: Mapping[Key, SpendTotal], *, at_ms: int, state: State, amount: int) -> Change:
    guessed_before = attempt.amount
    guessed = amount if state == "estimated" else 0
    was_unpriced = attempt.spend.estimate is None
    sums = tuple(
        replace(
            total,
            at_ms=max(total.at_ms, at_ms),
            amount=max(0, total.amount + amount - attempt.amount),
            estimated=max(0, total.estimated + guessed - guessed_before),
            calls=max(0, total.calls - (state == "released")),
            unpriced=max(0, total.unpriced - (was_unpriced and state != "estimated")),
        )
        for total in _sums(attempt.spend, totals)
    )
    return Change(replace(attempt, state=state, amount=amount, settled_ms=at_ms), sums)


def _sums(spend: Spend, totals: Mapping[Key, SpendTotal]) -> Iterator[SpendTotal]:
    return (totals.get(key) or SpendTotal(scope=key.scope, name=key.name) for key in spend.keys)


def _reserve_amount(limits: SpendLimits, spend: Spend) -> tuple[int, bool]:
    """What a call counts until its cost is known, and whether that is less than its estimate."""
    estimate = spend.estimate or 0
    if limits.reserve_cap is not None and estimate > limits.reserve_cap:
        return limits.reserve_cap, True
    return estimate, False
