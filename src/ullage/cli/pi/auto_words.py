"""What follows `/auto-model` (routing specification, section 29)."""

from __future__ import annotations

from .asked import Row, Table
from .calls import auto, of_session, plain, screen, steering

_JSON = frozenset({"json"})

AUTO_MODEL: Table = {
    "on": Row(answer=auto("on"), does="choose a model for each task of this session"),
    "off": Row(answer=auto("off"), does="stay at the model that the session is at"),
    "status": Row(answer=auto("status"), flags=_JSON, does="activation, model, last route, policy, pool"),
    "why": Row(answer=auto("why"), flags=_JSON, does="why the newest task went where it did"),
    "plan": Row(
        answer=auto("plan"), takes="PROMPT", least=1, raw=True, does="where a prompt would go next; nothing is sent"
    ),
    "task": Row(answer=auto("task"), flags=_JSON, does="what the newest task that is over cost and took"),
    "outcome": Row(
        answer=of_session("outcome"),
        takes="success|failure|unknown",
        least=1,
        most=1,
        values=frozenset({"task"}),
        flags=_JSON,
        does="say how a task went",
    ),
    "models": Row(answer=auto("models"), flags=_JSON, does="the models that may be chosen now"),
    "providers": Row(answer=auto("providers"), flags=_JSON, does="their providers"),
    "history": Row(
        answer=screen("auto_screens", "show_history"), takes="[session]", most=1, does="the last 50 decisions"
    ),
    "metrics": Row(answer=auto("metrics"), flags=_JSON, does="successes, times and cost by provider, hour and model"),
    "quota": Row(answer=plain("quota"), flags=_JSON, does="how near each provider is to its limits"),
    "budget": Row(answer=of_session("budget"), flags=_JSON, does="what was spent, and what may be"),
    "pool": Row(answer=steering("pool"), takes="[NAME|off]", most=1, does="the active pool, or another one"),
    "rules": Row(answer=auto("rules"), flags=_JSON, does="rules and scenarios, and what is wrong in the settings"),
    "export": Row(
        answer=screen("auto_screens", "write_export"),
        takes="[json|jsonl]",
        most=1,
        does="write the calls of this session into a file",
    ),
    "doctor": Row(answer=screen("auto_screens", "show_doctor"), flags=_JSON, does="everything that routes go by"),
    "mode": Row(
        answer=screen("auto_screens", "set_mode"),
        takes="[balanced|best|cost|fast]",
        most=1,
        does="what weighs most, here and from now on",
    ),
    "pin": Row(
        answer=steering("pin"),
        takes="PROVIDER/MODEL",
        least=1,
        most=1,
        does="send all of this session to one model",
    ),
    "unpin": Row(answer=auto("unpin"), does="take that back"),
    "thinking": Row(
        answer=steering("thinking"), takes="[auto|pi|fixed LEVEL]", most=2, does="how much models think in this session"
    ),
    "feedback": Row(
        answer=screen("auto_screens", "vote"),
        takes="good|bad [PROVIDER/MODEL] [REASON]",
        least=1,
        raw=True,
        does="say that a model did well, or badly",
    ),
}
