"""Why there is no route: the stage that took the last candidate, and what would have had to be different (section 2.3)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from .capability import tier_rank
from .exclusions import STAGES, Excluded, Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .exclusions import Code, Stage
    from .filtering import Candidate, Limits


_NAMED = 3
_WIDEN = "Add models to `routing.models`, or to those of the name that was asked for."
_STRONGER = "Let a stronger model be chosen, or lower the least tier: a rule, an alias or the task asks for it."
_FITTING: Mapping[Code, str] = MappingProxyType(
    {
        "window-too-small": "Compact the session or begin a new one, or let a model with a larger window be chosen.",
        "tier-too-low": _STRONGER,
        "tier-unknown": _STRONGER,
        "dialect": "Let a model of the client's own protocol be chosen, or leave out what has no form in others.",
        "no-vision": "Let a model be chosen that reads pictures, or leave them out.",
        "output-too-small": "Let a model with longer answers be chosen.",
    }
)
"""The next step by what no model that is left over has, the most common first."""


def find_stop(candidates: Sequence[Candidate], excluded: Sequence[Excluded], limits: Limits) -> Stop:
    """The stop of candidates that are all excluded: at the stage that the last of them got to."""
    stage: Stage = max((dropped.stage for dropped in excluded), key=STAGES.__getitem__, default="constraints")
    last = [dropped for dropped in excluded if dropped.stage == stage]
    return _STOPS[stage](candidates, excluded, last, limits)


def _constrained(
    candidates: Sequence[Candidate], excluded: Sequence[Excluded], last: Sequence[Excluded], limits: Limits
) -> Stop:
    in_scope = [dropped for dropped in last if dropped.code not in ("virtual-entry", "out-of-scope")]
    if not in_scope:
        return Stop(
            stage="constraints",
            code="scope-empty",
            message="no model is in the scope" if candidates else "there are no models",
            hint=_WIDEN
            if candidates
            else "Set the key of a provider, or name one under [providers]; `ullage doctor` says more.",
            targets=_targets(last),
        )
    filtered = [dropped for dropped in in_scope if dropped.code != "no-credential"]
    if not filtered:
        return Stop(
            stage="constraints",
            code="auth-unavailable",
            message="no model in the scope has a credential",
            hint="Set the key of one of their providers.",
            targets=_targets(in_scope),
        )
    return Stop(
        stage="constraints",
        code="filtered-by-constraints",
        message=f"the constraints leave no model: {_reasons(filtered)}",
        hint="Loosen the constraints.",
        targets=_targets(filtered),
    )


def _unmatched(
    candidates: Sequence[Candidate], excluded: Sequence[Excluded], last: Sequence[Excluded], limits: Limits
) -> Stop:
    if limits.pin is None:
        best = max(candidates, key=lambda candidate: tier_rank(candidate.capability.overall)).capability.overall
        return Stop(
            stage="pin",
            code="unmatched-pin",
            message=f"the prompt pins the tier {limits.needs.pinned_tier}, the highest there is {best}",
            hint="Pin a lower tier, or let models of that tier be chosen.",
            targets=_targets(last),
        )
    target = limits.pin.target
    reason = next((dropped.reason for dropped in excluded if dropped.target == target), "there is no such candidate")
    return Stop(
        stage="pin",
        code="unmatched-pin",
        message=f"the pinned {target} cannot be used: {reason}",
        hint="Nothing else is taken in its place: change or clear the pin.",
        targets=(target,),
    )


def _incompatible(
    candidates: Sequence[Candidate], excluded: Sequence[Excluded], last: Sequence[Excluded], limits: Limits
) -> Stop:
    by_target = {candidate.target: candidate for candidate in candidates}
    fitted = [(dropped, by_target[dropped.target]) for dropped in last]
    return Stop(
        stage="fit",
        code="incompatible",
        message=f"no model fits the request: {'; '.join(_limiting(fitted, limits))}",
        hint=next(hint for code, hint in _FITTING.items() if any(dropped.code == code for dropped in last)),
        targets=_targets(last),
    )


def _limiting(fitted: Sequence[tuple[Excluded, Candidate]], limits: Limits) -> Iterator[str]:
    """What the request needs, and the most that those have who lack it."""
    needs = limits.needs
    of_code: dict[str, list[Candidate]] = {}
    for dropped, candidate in fitted:
        of_code.setdefault(dropped.code, []).append(candidate)
    lacking = of_code.get("tier-too-low", []) + of_code.get("tier-unknown", [])
    if lacking:
        best = max(lacking, key=lambda candidate: tier_rank(candidate.capability.overall))
        yield f"the tier {needs.minimum_tier} is needed, the highest is {best.capability.overall} ({best.target})"
    foreign = next((dropped for dropped, _ in fitted if dropped.code == "dialect"), None)
    if foreign is not None:
        yield f"{foreign.reason} ({', '.join(one.target for one in of_code['dialect'][:_NAMED])})"
    if "no-vision" in of_code:
        yield f"pictures are to be read, {len(of_code['no-vision'])} of the models cannot"
    if "window-too-small" in of_code:
        best = max(of_code["window-too-small"], key=lambda candidate: candidate.model.context_window or 0)
        most = best.model.context_window or 0
        yield f"a context window of {needs.window_tokens:,} tokens is needed, the largest is {most:,} ({best.target})"
    if "output-too-small" in of_code:
        best = max(of_code["output-too-small"], key=lambda candidate: candidate.model.max_output_tokens or 0)
        most = best.model.max_output_tokens or 0
        yield f"an answer of {needs.output_tokens:,} tokens is needed, the longest is {most:,} ({best.target})"


def _all_open(
    candidates: Sequence[Candidate], excluded: Sequence[Excluded], last: Sequence[Excluded], limits: Limits
) -> Stop:
    moments = [limits.open_circuits[dropped.target] for dropped in last]
    return Stop(
        stage="circuits",
        code="circuits-open",
        message=f"the circuits of all models that fit are open: {', '.join(_targets(last))}",
        hint="Try again when the first one opens for a trial.",
        targets=_targets(last),
        reopens_ms=min((moment for moment in moments if moment is not None), default=None),
    )


def _pool_empty(
    candidates: Sequence[Candidate], excluded: Sequence[Excluded], last: Sequence[Excluded], limits: Limits
) -> Stop:
    return Stop(
        stage="pool",
        code="pool-empty",
        message=f"no member of the pool is available, and it admits no others: {', '.join(_targets(last))} would do",
        hint="Leave the pool, or let it fall back to any model.",
        targets=_targets(last),
    )


_STOPS: Mapping[Stage, Callable[[Sequence[Candidate], Sequence[Excluded], Sequence[Excluded], Limits], Stop]] = {
    "constraints": _constrained,
    "pin": _unmatched,
    "fit": _incompatible,
    "circuits": _all_open,
    "pool": _pool_empty,
}


def _targets(dropped: Sequence[Excluded]) -> tuple[str, ...]:
    return tuple(one.target for one in dropped)


def _reasons(dropped: Sequence[Excluded]) -> str:
    more = [f"and {len(dropped) - _NAMED} more"] if len(dropped) > _NAMED else []
    return ", ".join([*(f"{one.target} ({one.reason})" for one in dropped[:_NAMED]), *more])
