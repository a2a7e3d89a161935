"""The evaluation of routes as tables and plain sentences, for a terminal and for the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .routing import beats_lot
from .routing_methods import LEARNED, PROPOSED, SHIPPED
from .routing_switching import RULES
from .tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .resampling import Interval
    from .routing import Knowledge, RoutingEvaluation, ThresholdScore
    from .routing_data import Unit
    from .routing_published import Check
    from .routing_scores import Difference, MethodScore, SetScore
    from .routing_switching import SwitchScore

_NONE = "-"
_ROUTED = (SHIPPED, LEARNED, PROPOSED)
_MOST_SHARES = 3


def checks_table(checks: Iterable[Check]) -> Table:
    """Published figures beside ours."""
    rows = [
        (
            check.name,
            check.what,
            f"{check.published:g}",
            f"{check.found:.4f}".rstrip("0").rstrip("."),
            _of(check),
            {True: "yes", False: "NO", None: "not to be told"}[check.agrees],
        )
        for check in checks
    ]
    return Table(header=("set", "figure", "published", "found", "tasks", "agrees"), rows=tuple(rows), texts=2)


def _of(check: Check) -> str:
    whole = check.tasks == check.published_tasks
    return f"{check.tasks:,}" if whole else f"{check.tasks:,} of {check.published_tasks:,}"


def knowledge_table(knowledge: Iterable[Knowledge]) -> Table:
    """What the router knows of each model."""
    rows = [
        (one.name, one.model, one.target, one.capability.removeprefix("capability "), one.price or "none")
        for one in knowledge
    ]
    return Table(header=("set", "model", "target", "ability", "price"), rows=tuple(rows), texts=5)


def set_table(score: SetScore) -> Table:
    """Every method on one set. Differences are points of a hundred, with 95 % intervals."""
    rows = [
        (
            one.method,
            f"{100 * one.quality:.1f}",
            _spend(one.spend, score.unit),
            _multiple(one.beside_best, one.beside_best_interval),
            _points(one.against_best) if one.method != f"always {score.best}" else _NONE,
            *((_NONE, _NONE) if one.constant else (_points(one.against_shares), _points(one.against_spend))),
        )
        for one in score.methods
    ]
    header = ("method", "score", "spend", "× best single", "against best single", "same shares", "equal spend")
    return Table(header=header, rows=tuple(rows))


def share_table(score: SetScore) -> Table:
    """Where our router sends the tasks of a set."""
    rows = [(one.method, one.kind, _shares(one)) for one in score.methods if one.kind in _ROUTED]
    return Table(header=("method", "what it is", "calls"), rows=tuple(rows), texts=3)


def threshold_table(thresholds: Iterable[ThresholdScore]) -> Table:
    """How well each measure tells for whom the stronger model is needed."""
    rows = [
        (
            one.name,
            one.measure,
            f"{one.share:.0%}",
            f"{100 * one.score.quality:.1f}",
            _points(one.score.against_spend),
            "yes" if beats_lot(one.score) else "no",
        )
        for one in thresholds
    ]
    header = ("set", "the hardest by", "to the strong model", "score", "against a lot of equal spend", "beats it")
    return Table(header=header, rows=tuple(rows), texts=2)


def switch_table(score: SwitchScore) -> Table:
    """What each rule of staying and switching comes to."""
    rows = [
        (
            one.rule,
            next(meaning for rule, meaning in RULES.items() if rule == one.rule),
            f"${one.usd:.4f}",
            _multiple(one.beside_one_request, one.interval),
            f"{one.switched:.0%}",
            f"{one.right:.0%}",
        )
        for one in score.rules
    ]
    header = ("rule", "what it does", "a task", "× one request", "switches", "cheaper of the two")
    return Table(header=header, rows=tuple(rows), texts=2)


def verdicts(evaluation: RoutingEvaluation) -> Iterator[str]:
    """What the tables say of our router in plain words, and whether automatic downgrades may be on by default."""
    for score in evaluation.sets:
        yield from _set_verdicts(score)
    if evaluation.switching is not None:
        yield _switch_verdict(evaluation.switching)
    yield guard_verdict(evaluation)


def guard_verdict(evaluation: RoutingEvaluation) -> str:
    """Whether automatic downgrades may be on by default."""
    if evaluation.downgrades:
        return "A route as it ships beats a lot of equal spend by more than chance."
    return "No route as it ships beats a lot of equal spend by more than chance, so automatic downgrades stay off by default."


def _set_verdicts(score: SetScore) -> Iterator[str]:
    best = f"the best single model ({score.best}, {100 * score.best_quality:.1f})"
    for kind in _ROUTED:
        routed = [one for one in score.methods if one.kind == kind]
        constant = [one for one in routed if one.constant]
        if constant:
            chosen = "; ".join(
                f"{one.method} to {next(iter(one.shares))} ({100 * one.quality:.1f})" for one in constant
            )
            yield (
                f"{score.name}, {kind}: every task goes to one model, {chosen}. That tells no task from another, so it cannot "
                f"beat a lot. Best alone is {score.best} ({100 * score.best_quality:.1f})."
            )
        for one in routed:
            if not one.constant:
                yield (
                    f"{score.name}, {kind}: {one.method} {_relation(one.against_spend)} a lot of equal spend "
                    f"({_points(one.against_spend)} points) and {_relation(one.against_best)} {best}{_at(one)}."
                )


def _relation(difference: Difference) -> str:
    if not difference.sure:
        return "does not beat"
    return "beats" if difference.mean > 0 else "is worse than"


def _at(one: MethodScore) -> str:
    return "" if one.beside_best in (None, 1.0) else f", at {one.beside_best:.2f} times its spend"


def _switch_verdict(score: SwitchScore) -> str:
    found = {one.rule: one for one in score.rules}
    one = found["horizon, 12 calls"]
    return (
        f"Switching: comparing all calls of a task costs {_multiple(one.beside_one_request, one.interval)} times what "
        f"comparing the next request does, over {score.tasks} tasks in {score.situations} situations each."
    )


def _shares(one: MethodScore) -> str:
    shown = [f"{model} {share:.0%}" for model, share in list(one.shares.items())[:_MOST_SHARES]]
    return ", ".join([*shown, *(["others"] if len(one.shares) > _MOST_SHARES else [])])


def _spend(spend: float, unit: Unit) -> str:
    return f"${spend:,.2f}" if unit == "USD" else f"{spend:,.0f}"


def _multiple(value: float | None, interval: Interval | None) -> str:
    if value is None or interval is None:
        return _NONE
    if interval.low == interval.high:
        return f"{value:.2f}"
    return f"{value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _points(difference: Difference) -> str:
    low, high = difference.interval
    return f"{100 * difference.mean:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"
