"""A plan in sentences: what is sent, what is left out and why, and what to do about it. Told from the report that is stored."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .awareness_text import counted
from .records import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.core.planning.records import Plan

    Report = dict[str, Any]

_ERRORS = {
    "fixed_over_limit": "Prompt, tools and framing take {fixed_tokens:,} tokens: the limit is {limit:,}.",
    "mandatory_over_limit": "What must be sent takes {tokens:,} tokens{pins}: the limit is {limit:,}.",
    "pins_over_cap": "The pins take more than planning.max_pinned_tokens allows.",
    "broken_exchange": "In the current turn, a tool call lacks its result, or a result its call.",
    "invalid_selection": "What was chosen is not what a provider takes.",
}

_REASONS = {
    "recent-tail-limit": "would make the recent tail longer than {recent_tail_limit:,} tokens",
    "recent-tail-and-input-budget": "would exceed both the recent tail and the input limit",
    "input-budget": "would exceed the input limit",
    "recent-tail-closed": "are older than the first that did not fit",
    "before-tail": "are older than where the tail was cut for the prompt cache's sake",
    "thinking-first": "come before the first signed thinking of the loop, with which it must begin",
    "broken-exchange": "hold a call without its result, or a result without its call",
    "summary-policy-or-budget": "are summaries beyond their budget",
    "background-without-retrieval": "come before the first request of the user",
    "category-budget": "exceed the budget of their kind",
    "no-source": "name no source",
    "duplicate": "were offered twice",
    "no-user-message": "found no request of the user to stand before",
    "plan-failed": "go with no plan that failed",
}
_TAILS = {
    "fits": "all of it fits",
    "held": "it was held there, which is cheaper than to have what follows read anew",
    "first-request": "this is the first request of its session",
    "history-replaced": "what it began with is gone",
    "new-turn": "with a new turn it was shortened, far enough to stay there for a while",
    "cold-cache": "the prompt cache had gone cold, so it was shortened",
    "dear": "to hold it longer would have cost more than to shorten it",
    "over-limit": "the input limit left no choice",
}
_UNPLANNED = {
    "window_unknown": "The context window of the model is not known.",
    "prompt_kept_by_provider": "The provider holds a part of its prompt that the request only names.",
}
_KINDS = {"pin": "pin", "memory": "remembered fact", "retrieval": "piece of history", "project": "snippet"}
_LARGEST = 5


def describe_error(made: Plan) -> str:
    """Why there is no managed plan, in a sentence."""
    assert made.error is not None, "asked for the error of a plan that has one"
    pinned = sum(row.tokens for row in made.groups if row.kind == "pin" and row.selected)
    pinned += sum(one.tokens for one in made.supplements if one.kind == "pin")
    return _error_text(made.error, made.fixed_tokens, made.tokens, made.limit, pinned)


def plan_line(report: Report) -> str:
    """The plan in a few words: `managed: 12 of 38 messages, ~1.1k of at most 1.2k tokens`. Nothing where none was made."""
    if "messages" not in report:
        return ", ".join([report["status"], *report["warnings"]]) if "status" in report else ""
    count = report["messages"]
    size = f"~{tokens(report['tokens'])} of at most {tokens(report['limit'])} tokens"
    error = f" ({report['error']})" if report["error"] is not None else ""
    return f"{report['status']}{error}: {count['included']:,} of {counted(count['total'], 'message')}, {size}"


def tell_privacy(privacy: Report) -> Iterator[str]:
    """What was withheld from the provider, if anything was."""
    told = [
        f"{counted(privacy[key], noun)} {words}"
        for key, noun, words in (
            ("blocked_blocks", "text", "withheld by class"),
            ("secret_redactions", "secret", "redacted"),
        )
        if privacy[key]
    ]
    if told:
        yield f"From {privacy['provider']} ({privacy['destination']}): {', '.join(told)}."
    for one in privacy["excluded_sources"]:
        yield f"Not added: the {_KINDS[one['kind']]} {one['id']}, which is {one['classification']}."


def tell_plan(report: Report, estimator: str) -> Iterator[str]:
    """The sentences, one a line. A request that no plan could be made of has none of the figures."""
    if "messages" not in report:
        why = " ".join(_UNPLANNED.get(warning, warning) for warning in report["warnings"])
        yield f"No plan could be made, so the client's own request went out. {why}".rstrip()
        return
    yield _opening(report, estimator)
    yield from _left_out(report)
    yield from _changes(report)
    yield from _supplements(report)
    yield from _cache(report)
    if report["messages"]["excluded"]:
        yield "To keep something whatever the limit, pin it: `ullage pin add TEXT`."


def _opening(report: Report, estimator: str) -> str:
    count = report["messages"]
    size = f"~{report['tokens']:,} of at most {report['limit']:,} tokens by {estimator}"
    some = f"{count['included']:,} of {counted(count['total'], 'message')}"
    sent = f"{some} {'is' if count['included'] == 1 else 'are'} sent"
    match report["status"]:
        case "unchanged":
            return f"Everything fits: {_as_it_came(report)}, {size}."
        case "managed":
            target = f", {report['target_tokens']:,} by preference" if report["target_tokens"] < report["limit"] else ""
            return f"{sent}: {size}{target}."
        case "emergency":
            return f"{report_error(report)} So the current turn and the newest that fits are sent: {some}, {size}."
        case "fallback":
            return f"{report_error(report)} So the client's own request is sent: {size}."
        case _:
            return f"{report_error(report)} Nothing less can be sent."


def _as_it_came(report: Report) -> str:
    privacy = report.get("privacy") or {}
    if privacy.get("blocked_blocks") or privacy.get("secret_redactions"):
        return "the request goes out whole but for what privacy withheld"
    return "the request goes out as it came"


def report_error(report: Report) -> str:
    """Why there is no managed plan; nothing where there is one."""
    if report["error"] is None:
        return ""
    pinned = sum(item["tokens"] for item in report["included"] if item["kind"] == "pin")
    pinned += sum(one["tokens"] for one in report["supplements"] if one["kind"] == "pin")
    sent = report["tokens"] if report["status"] == "refused" else None
    return _error_text(report["error"], report["fixed_tokens"], sent, report["limit"], pinned)


def _error_text(error: str, fixed: int, sent: int | None, limit: int, pinned: int) -> str:
    if error == "mandatory_over_limit" and sent is None:
        return f"What must be sent exceeds the limit of {limit:,} tokens."
    pins = f", {pinned:,} of them in pins" if pinned else ""
    return _ERRORS[error].format(fixed_tokens=fixed, tokens=sent, limit=limit, pins=pins)


def _left_out(report: Report) -> Iterator[str]:
    sizes: dict[str, int] = defaultdict(int)
    for item in report["excluded"]:
        sizes[item["reason"]] += item["tokens"]
    whole = "inventory" not in report
    for reason, number in report["reasons"].items():
        size = f" (~{sizes[reason]:,} tokens)" if whole else ""
        yield f"{_that(number, 'message')} left out{size}: they {_why(reason, report)}."
    if report["oversized"]:
        yield f"Among them: {counted(report['oversized'], 'turn')} no smaller than the whole recent tail."
    largest = sorted(report["excluded_groups"], key=lambda one: -one["tokens"])[:_LARGEST]
    if len(largest) > 1:
        named = ", ".join(f"{one['id'].partition(':')[2]} (~{tokens(one['tokens'])})" for one in largest)
        yield f"The largest of these, by the numbers of their messages: {named}."


def _why(reason: str, report: Report) -> str:
    return _REASONS.get(reason, reason).format(recent_tail_limit=report["recent_tail_limit"])


def _changes(report: Report) -> Iterator[str]:
    if report["replaced"]:
        places = ", ".join(str(one["index"]) for one in report["replaced"])
        yield f"Shortened, with a note of what is missing: the results in {_named('message', places, report['replaced'])}."
    cut = [item for item in report["included"] if item.get("cut")]
    if cut:
        places = ", ".join(str(item["index"]) for item in cut)
        yield f"Instructions alone of {_named('message', places, cut)}: what was asked there has left with its answer."
    if unbound := report.get("thinking_left_out", 0):
        yield (
            f"Without {counted(unbound, 'block')} of thinking: its model takes it back only behind what it was made on, and that"
            " has changed."
        )
    if report["rescued"]:
        yield "The turn before the current one is kept although it is larger than the recent tail."


def _named(noun: str, places: str, of: list[Any]) -> str:
    return f"{noun}{'' if len(of) == 1 else 's'} {places}"


def _supplements(report: Report) -> Iterator[str]:
    sent: dict[str, list[Report]] = defaultdict(list)
    for one in report["supplements"]:
        sent[one["kind"]].append(one)
    for kind, some in sent.items():
        size = sum(one["tokens"] for one in some)
        places = ", ".join(dict.fromkeys(str(one["before"]) for one in some))
        yield f"Added: {counted(len(some), _KINDS[kind])} (~{size:,} tokens), before message {places}."
    for one in report["left_out"]:
        yield f"Not added: the {_KINDS[one['kind']]} {one['id']}, as such ones {_why(one['reason'], report)}."


def _cache(report: Report) -> Iterator[str]:
    """Where the tail begins and why, if it was chosen with the prompt cache in mind, and what that costs."""
    tail = report["cache"]
    if not tail:
        return
    if tail["first"] or report["status"] != "unchanged":
        yield f"The tail begins at message {tail['first']}: {_TAILS[tail['reason']]}."
    if tail["warm_prefix_tokens"]:
        yield f"The provider should still hold ~{tail['warm_prefix_tokens']:,} tokens of it in its prompt cache."
    if tail["expected_usd"] is not None:
        calls = "The next call" if tail["calls"] == 1 else f"The next {tail['calls']} calls"
        cost = f"{_dollars(tail['expected_usd'])} without the answers"
        yield f"{calls} should cost {cost}{_rejected(tail['rejected'])}."


def _rejected(other: Report | None) -> str:
    if other is None or other["expected_usd"] is None:
        return ""
    return f", {_dollars(other['expected_usd'])} if the tail began at message {other['first']}"


def _dollars(amount: float) -> str:
    return f"${amount:.4f}"


def _that(number: int, noun: str) -> str:
    return f"{number:,} {noun} is" if number == 1 else f"{number:,} {noun}s are"
