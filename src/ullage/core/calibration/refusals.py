"""Which calls make no sample, and why (planner specification, section 7.1; regressions R39 to R43)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .ratio import SAFE_INTEGER

if TYPE_CHECKING:
    from ullage.core.content import Usage

Refusal = Literal[
    "helper",
    "duplicate",
    "answered",
    "error",
    "aborted",
    "cut",
    "unparsed",
    "no_usage",
    "zero_usage",
    "sentinel",
    "no_estimate",
    "invalid",
]
"""Why a call is no sample.

`helper`: a client's request beside the conversation. `duplicate`: its answer was counted before. `answered`: by us, not by the
provider. `error`: the provider failed. `aborted`: the client left. `cut`: the answer broke off. `unparsed`, `no_estimate`: we
made nothing of the request. `no_usage`, `zero_usage`: the provider reported nothing or zero. `sentinel`: it reported the window
and one, which stands for "unknown" in some servers. `invalid`: a figure below zero or beyond what an integer of JSON can hold.
"""

_OUTCOMES: dict[str, Refusal | None] = {
    "ok": None,
    "answered": "answered",
    "left": "aborted",
    "cut": "cut",
    "unparsed": "unparsed",
}


def refuse(
    *,
    outcome: str,
    stop_reason: str | None,
    usage: Usage | None,
    estimated: int | None,
    helper: bool = False,
    counted: bool = False,
    window: int | None = None,
) -> Refusal | None:
    """Why the call cannot teach anything; `None` if it is a sample.

    `outcome` and `stop_reason` are those of the call's record; an outcome that is not known here is an error. `estimated` are the
    raw tokens of the prompt, `counted` says that this answer made a sample before, `window` is the context window if it is known.
    """
    if helper:
        return "helper"
    if counted:
        return "duplicate"
    ended = "error" if stop_reason == "error" else _OUTCOMES.get(outcome, "error")
    return ended or _refuse_usage(usage, window) or _refuse_estimate(estimated)


def _refuse_usage(usage: Usage | None, window: int | None) -> Refusal | None:
    if usage is None or usage.prompt is None:
        return "no_usage"
    if any((part or 0) < 0 for part in (usage.input_fresh, usage.cache_read, usage.cache_write)):
        return "invalid"
    if usage.prompt == 0:
        return "zero_usage"
    if window is not None and usage.prompt == window + 1:
        return "sentinel"
    return "invalid" if usage.prompt > SAFE_INTEGER else None


def _refuse_estimate(estimated: int | None) -> Refusal | None:
    if estimated is None or estimated == 0:
        return "no_estimate"
    return None if 0 < estimated <= SAFE_INTEGER else "invalid"
