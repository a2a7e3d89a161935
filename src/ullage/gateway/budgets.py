"""The control route `budget`: what may be spent, what is, and the limits of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.core.errors import CallError
from ullage.engine.budgets import newest_spender, put_session_limits, report_budget

from .asking import Query, decode, now_ms

if TYPE_CHECKING:
    from ullage.engine import Engine
    from ullage.stores import Store

_FIELDS = ("session_usd", "task_usd", "on_exceed")


class SetBudget(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Limits of one session in place of those of the settings, in USD; null takes one back."""

    session: str
    session_usd: float | UnsetType | None = UNSET
    task_usd: float | UnsetType | None = UNSET
    on_exceed: Literal["warn", "avoid", "downgrade", "block"] | UnsetType | None = UNSET


_SET = msgspec.json.Decoder(SetBudget)


class Budgets:
    """Answers for one daemon. Every method may wait for the database."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store = store
        self._spending = engine.spending

    def budget(self, query: Query) -> Any:
        """Every limit with what is spent and reserved of it."""
        session = query.get("session") or newest_spender(self._store.ledger)
        return report_budget(self._store, self._spending.limits, session=session, now_ms=now_ms())

    def change_budget(self, body: bytes) -> Any:
        """Limits of a session, which hold from the next call on."""
        asked = decode(_SET, body)
        given = {name: value for name in _FIELDS if not isinstance(value := getattr(asked, name), UnsetType)}
        if not given:
            raise CallError("nothing is set", hint=f"Give one of {', '.join(_FIELDS)}.", code="bad_body")
        limits = put_session_limits(self._store, asked.session, given, now_ms())
        self._spending.heed()
        return {"session": asked.session, "limits": msgspec.to_builtins(limits)}
