"""Weighted sets of targets, and who of them is behind its share (routing specification, section 13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PoolModel = Literal["deficit", "v1"]


class Pool(Struct, frozen=True, kw_only=True):
    """Targets and providers with their weights, above 0. `fallback` says whether others may stand in where no member can."""

    targets: dict[str, float] = field(default_factory=dict)
    providers: dict[str, float] = field(default_factory=dict)
    fallback: Literal["none", "any"] = "none"

    def has(self, target: str) -> bool:
        """Whether a target is a member: it stands in each list that is not empty."""
        provider = target.partition("/")[0]
        return (not self.targets or target in self.targets) and (not self.providers or provider in self.providers)

    def weight(self, target: str) -> float:
        return self.targets.get(target, 1.0) * self.providers.get(target.partition("/")[0], 1.0)


def pool_scores(
    pool: Pool | None, targets: Iterable[str], attempts: Mapping[str, int], *, model: PoolModel = "deficit"
) -> dict[str, float]:
    """How far each target is behind its share of the attempts, 0 to 1; 0 for those who are no members, 0.5 without a pool.

    `deficit` measures the share that is missing, so that an imbalance of a hundredth weighs a hundredth. `v1` stretches whatever
    imbalance there is to the whole range.
    """
    ids = tuple(targets)
    if pool is None:
        return dict.fromkeys(ids, 0.5)
    members = [target for target in ids if pool.has(target)]
    scores = _deficits(pool, members, attempts) if model == "deficit" else _stretched(pool, members, attempts)
    return {target: scores.get(target, 0.0) for target in ids}


def project(pool: Pool, members: Iterable[str], attempts: Mapping[str, int]) -> dict[str, float]:
    """What each member would have had for its weight, were the next attempt its own."""
    return {target: (attempts.get(target, 0) + 1) / pool.weight(target) for target in members}


def _deficits(pool: Pool, members: list[str], attempts: Mapping[str, int]) -> dict[str, float]:
    weights = sum(pool.weight(target) for target in members)
    made = sum(attempts.get(target, 0) for target in members)
    if not made:
        return dict.fromkeys(members, 0.5)
    return {
        target: min(1.0, max(0.0, 0.5 + 2 * (pool.weight(target) / weights - attempts.get(target, 0) / made)))
        for target in members
    }


def _stretched(pool: Pool, members: list[str], attempts: Mapping[str, int]) -> dict[str, float]:
    projected = project(pool, members, attempts)
    low, high = min(projected.values(), default=0.0), max(projected.values(), default=0.0)
    if low == high:
        return dict.fromkeys(members, 0.5)
    return {target: 1 - (value - low) / (high - low) for target, value in projected.items()}
