"""What the catalogues, the settings and the store know of models, put together for whoever looks beside the requests."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ullage.core.accounting import make_meter
from ullage.core.calibration import convert_growth, start_growth, take_pairs
from ullage.core.planning import Anchored, become_aware
from ullage.core.routing.identity import VIRTUAL_TARGETS
from ullage.settings.policy import make_policy
from ullage.settings.resolving import resolve_by
from ullage.stores import to_pairs, to_sample
from ullage.stores.base import SAMPLES_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ullage.core.accounting import Meter
    from ullage.core.calibration import GrowthState
    from ullage.core.planning import Awareness
    from ullage.core.profiles import ModelProfile
    from ullage.settings import Settings
    from ullage.stores import CallRecord, Reader, SampleRecord

    from .knowledge import Sources

_RECENT_CALLS = 500
"""So many calls are looked back upon for models without samples, and for switches: a few days of work."""

Target = tuple[str, str]
"""Provider and model, both exact."""


class Growth(NamedTuple):
    """What `growth-v1` learned of one client by one estimator."""

    client: str
    estimator: str
    state: GrowthState


class Learned(NamedTuple):
    """Everything about one target. `latest` is its newest sample, `switch` the newest call by which a session came to it,
    `last_ms` when it was last used, epoch milliseconds: each `None` where there is none."""

    awareness: Awareness
    growth: tuple[Growth, ...]
    latest: SampleRecord | None
    switch: CallRecord | None
    last_ms: int | None


class Known:
    """Asks all three. `store` is `None` where nothing was recorded yet."""

    def __init__(self, settings: Settings, sources: Sources, store: Reader | None, *, now_ms: int) -> None:
        self._settings = settings
        self._policy = make_policy(settings)
        self._sources = sources
        self._store = store
        self._now_ms = now_ms

    def seen(self) -> list[Target]:
        """Every target that was sampled or called lately, the last used first. Raises `StoreError` without a database."""
        return sorted(self._last_ms, key=lambda target: (-self._last_ms[target], target))

    def learned(self, provider: str, model: str) -> Learned:
        """What is known of a target, whether it was ever used or not."""
        calls = self._calls.get((provider, model), [])
        dialect = calls[0].dialect if calls else None
        profile = self._profile(provider, model, dialect)
        samples = self._samples(provider, model, profile.token_estimator)
        growth = self._growth(provider, model, dialect)
        awareness = become_aware(
            profile,
            [to_sample(sample) for sample in samples],
            self._policy,
            now_ms=self._now_ms,
            anchored=_anchored(growth, samples) if self._policy.method == "growth-v1" else None,
        )
        return Learned(
            awareness=awareness,
            growth=growth,
            latest=samples[0] if samples else None,
            switch=next((call for call in calls if _is_switch(call)), None),
            last_ms=self._last_ms.get((provider, model)),
        )

    @cached_property
    def _keys(self) -> list[tuple[str, str, str]]:
        return self._store.sample_keys() if self._store is not None else []

    @cached_property
    def _last_ms(self) -> dict[Target, int]:
        """When each target was last sampled, by whichever estimator, or called lately."""
        newest = {target: calls[0].created_ms for target, calls in self._calls.items()}
        for provider, model, estimator in self._keys:
            for sample in self._samples(provider, model, estimator, limit=1):
                newest[provider, model] = max(sample.created_ms, newest.get((provider, model), 0))
        return newest

    @cached_property
    def _calls(self) -> dict[Target, list[CallRecord]]:
        """Recent calls by what they asked for, the newest first."""
        found: dict[Target, list[CallRecord]] = defaultdict(list)
        for call in self._store.calls(limit=_RECENT_CALLS) if self._store is not None else ():
            if call.model is not None and call.model not in VIRTUAL_TARGETS:
                found[call.provider, call.model].append(call)
        return found

    def _profile(self, provider: str, model: str, dialect: str | None) -> ModelProfile:
        layers = self._sources.layers(provider, model)
        return resolve_by(self._settings, provider, model, dialect=dialect, layers=layers)

    def _samples(self, provider: str, model: str, estimator: str, *, limit: int = SAMPLES_KEPT) -> list[SampleRecord]:
        return self._store.samples(provider, model, estimator, limit=limit) if self._store is not None else []

    def _growth(self, provider: str, model: str, dialect: str | None) -> tuple[Growth, ...]:
        found = []
        for estimator in [key[2] for key in self._keys if key[:2] == (provider, model)]:
            by_client: dict[str, list[SampleRecord]] = defaultdict(list)
            for sample in self._samples(provider, model, estimator):
                if sample.pair is not None:
                    by_client[sample.client].append(sample)
            for client, samples in sorted(by_client.items()):
                meter = make_meter(
                    dialect=dialect,
                    provider=provider,
                    model=model,
                    client=client or None,
                    estimator=estimator,
                    heuristics=self._settings.accounting.heuristics,
                )
                found.append(Growth(client, estimator, _state(meter, samples)))
        return tuple(found)


def _state(meter: Meter, samples: Iterable[SampleRecord]) -> GrowthState:
    state = start_growth(meter.growth, meter.retention, own_tokens=meter.counts_the_wire)
    return take_pairs(state, to_pairs(samples))


def _anchored(growth: Sequence[Growth], samples: Sequence[SampleRecord]) -> Anchored | None:
    """The line of the newest call, as the next one of its session would be held to it."""
    if not samples:
        return None
    latest = samples[0]
    state = next(
        (one.state for one in growth if (one.client, one.estimator) == (latest.client, latest.estimator)), None
    )
    if state is None:
        return None
    conversion = convert_growth(state.law, anchor_prompt=latest.prompt, anchor_tokens=latest.estimated)
    return Anchored(conversion=conversion, pairs=len(state.pairs))


def _is_switch(call: CallRecord) -> bool:
    return bool(((call.awareness or {}).get("switch") or {}).get("switched"))
