"""A user's settings for three models of one provider, and what a day of routed calls leaves in a database."""

from __future__ import annotations

from typing import Any

from tests.cli.conftest import MINUTE_MS, NOW_MS
from tests.gateway.routes import FRONTIER, LIGHT, PRICES, STRONG
from ullage.core.wire import DIALECTS
from ullage.stores import CallRecord, SessionRecord

CELLAR, ATTIC = "3f2a91c0-4b7e-4c1d-9f00-5d4c8ad23b11", "0199c1d2e3f4a5b6c7d8e9"
"""Two sessions, the newest first."""
DEBUG, RENAME, OLD = "9b1d0c2e7f5a4418", "5c0a77d1e2b94f36", "11aa22bb33cc44dd"
"""Three tasks, the newest first; the last one is of the older session."""

_FIGURES = """
context_window = 200000
max_output_tokens = 64000
reasoning = true
images = true
"""
RULES = """
[[routing.rules]]
name = "images go up"
when = { has_images = true }
then = { minimum_tier = "strong" }

[routing.scenarios.debug]
minimum_tier = "mid"
"""


def settings_text(url: str) -> str:
    """Three models of one provider at this address, a policy with remarks, and a pool."""
    models = ", ".join(f'"{target.partition("/")[2]}"' for target in PRICES)
    dialects = ", ".join(f'"{dialect}"' for dialect in DIALECTS)
    told = [
        "[models]\nrefresh = false\n\n# how to choose\n[routing]\npolicy = 'balanced'  # as it comes\n",
        f'[providers.anthropic]\nurl = "{url}"\ndialects = [{dialects}]\nkey = "none"\nmodels = [{models}]\n',
        f'[routing.pools.pair]\ntargets = {{ "{STRONG}" = 1, "{FRONTIER}" = 1 }}\n',
    ]
    for target, price in PRICES.items():
        prices = f"input_price = {price}\noutput_price = {5 * price}\ncache_read_price = {price / 10}\n"
        told.append(f'[models.overrides."{target}"]{_FIGURES}{prices}cache_write_price = {1.25 * price}\n')
    return "\n".join(told)


def routed_call(number: int, task: str | None, target: str, minutes: float, **more: Any) -> CallRecord:
    """A call that was routed so many minutes ago; `route` adds to what is recorded of that."""
    provider, _, model = target.partition("/")
    price = PRICES[target]
    route = {
        "task_id": task,
        "target": target,
        "reason": "user",
        "kept": False,
        "policy": "balanced",
        "thinking": "low",
        "notes": [],
        "task": {"kinds": ["debug", "test"], "complexity": 0.316},
        **more.pop("route", {}),
    }
    fields: dict[str, Any] = {
        "id": f"{number:016x}",
        "session": CELLAR,
        "created_ms": round(NOW_MS - minutes * MINUTE_MS),
        "dialect": "anthropic",
        "kind": "conversation",
        "path": "/v1/messages",
        "provider": provider,
        "model": model,
        "status": 200,
        "outcome": "ok",
        "streamed": True,
        "first_byte_ms": 400.0,
        "duration_ms": 2_500.0,
        "estimated_input_tokens": 20_000,
        "usage": {"input_fresh": 2_000, "cache_read": 18_000, "cache_write": 0, "output": 600},
        "awareness": {
            "profile": {
                "prices": {"input": price, "output": 5 * price, "cache_read": price / 10, "cache_write": 1.25 * price}
            }
        },
        **more,
    }
    return CallRecord(route=route, **fields)


def weighed(target: str, *others: str) -> dict[str, Any]:
    """What is recorded of a decision beside its target."""
    targets = (target, *others)
    return {
        "reasons": ["debug", "test", "capability strong (catalog, medium confidence)"],
        "confidence": 0.76,
        "ranked": [
            {
                "target": one,
                "score": 0.72 - 0.05 * place,
                "cost": {"usd": 0.06 * PRICES[one], "request_usd": 0.008 * PRICES[one], "input": PRICES[one]},
            }
            for place, one in enumerate(targets)
        ],
    }


CALLS = (
    routed_call(9, DEBUG, STRONG, 3, route={"reason": "continuation", "kept": True}),
    routed_call(8, DEBUG, STRONG, 4, tool_calls=("Bash",), route={**weighed(STRONG, FRONTIER, LIGHT), "rule": "debug"}),
    routed_call(7, None, LIGHT, 5, kind="title", route={"reason": "helper", "task_id": "helper"}),
    routed_call(6, RENAME, LIGHT, 30, route=weighed(LIGHT, STRONG), duration_ms=1_200.0),
    routed_call(
        5,
        OLD,
        FRONTIER,
        300,
        session=ATTIC,
        status=529,
        outcome="error",
        usage=None,
        dialect="openai-chat",
        route={**weighed(FRONTIER), "policy": "best"},
    ),
)

SESSIONS = (
    SessionRecord(
        id=CELLAR,
        client="claude-code",
        identity="client",
        started_ms=NOW_MS - 60 * MINUTE_MS,
        last_ms=NOW_MS - 3 * MINUTE_MS,
        calls=4,
        routing={"current": STRONG, "answered_ms": NOW_MS - 3 * MINUTE_MS},
    ),
    SessionRecord(
        id=ATTIC,
        client="codex",
        identity="client",
        started_ms=NOW_MS - 400 * MINUTE_MS,
        last_ms=NOW_MS - 300 * MINUTE_MS,
        calls=1,
        routing={"current": FRONTIER},
    ),
)
