"""What is known of targets: profiles, samples and pairs of calls, in memory beside the store that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ullage.core.calibration import newest
from ullage.core.errors import StoreError
from ullage.core.profiles import ModelProfile, resolve_profile
from ullage.stores import to_pairs, to_sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ullage.core.calibration import Key, Pair, Sample
    from ullage.core.profiles import Layer
    from ullage.core.profiles.overrides import ModelOverride
    from ullage.stores import SampleRecord, Store

# Profiles and windows in memory; the names of models come from clients, so their number is bounded.
_TARGETS = 500
# Other processes learn on the same database: what they wrote is taken up this late at most.
_FRESH_MS = 60_000
# As many samples of a key as a store keeps (planner specification, section 7.1).
_KEPT = 200

WindowKey = tuple[str, str, str]
"""Provider, model and estimator, all exact."""


class Sources(Protocol):
    """What is published of models; the same object is given again as long as nothing new is."""

    def layers(self, provider: str, model: str) -> Sequence[Layer]: ...

    def note_models(self, provider: str, payload: bytes) -> None: ...


class Nothing:
    """Nobody publishes anything: profiles are what overrides say."""

    def layers(self, provider: str, model: str) -> Sequence[Layer]:
        return ()

    def note_models(self, provider: str, payload: bytes) -> None:
        pass


class _Window:
    """The newest samples of one key, and when they were last read from the store."""

    __slots__ = ("read_ms", "samples")

    def __init__(self, samples: list[Sample], read_ms: int) -> None:
        self.samples = samples
        self.read_ms = read_ms


class Knowledge:
    """Profiles and samples of all targets in use. Used by one thread only.

    `window` is how many samples of a key are looked at. A store that cannot be read is as good as an empty one; it says itself
    what is wrong with it.
    """

    def __init__(
        self,
        store: Store,
        *,
        sources: Sources | None = None,
        overrides: Mapping[str, ModelOverride] | None = None,
        enabled: bool = True,
        estimator: str = "chars-v1",
        growth_estimator: str | None = None,
        window: int = 24,
    ) -> None:
        self._store = store
        self._sources = sources or Nothing()
        self._overrides = overrides or {}
        self._enabled = enabled
        self._estimator = estimator
        self._growth_estimator = growth_estimator
        self._size = window
        self._profiles: dict[tuple[str, str, str | None], tuple[Sequence[Layer], ModelProfile]] = {}
        self._windows: dict[WindowKey, _Window] = {}

    def profile(self, provider: str, model: str, dialect: str | None) -> ModelProfile:
        """What is known of a target now."""
        key, layers = (provider, model, dialect), self._sources.layers(provider, model)
        known = self._profiles.get(key)
        if known is None or known[0] is not layers:
            profile = resolve_profile(
                provider,
                model,
                dialect=dialect,
                layers=layers,
                overrides=self._overrides,
                enabled=self._enabled,
                estimator=self._estimator,
                growth_estimator=self._growth_estimator,
            )
            known = self._profiles[key] = (layers, profile)
            if len(self._profiles) > _TARGETS:
                del self._profiles[next(iter(self._profiles))]
        return known[1]

    def note_models(self, provider: str, payload: bytes) -> None:
        """Takes in what a provider answered when it was asked for its models."""
        self._sources.note_models(provider, payload)

    def samples(self, key: WindowKey, now_ms: int) -> Sequence[Sample]:
        """The newest samples of a key, at most the window's number."""
        window = self._windows.get(key)
        if window is None or now_ms - window.read_ms > _FRESH_MS:
            window = self._read(key, window.samples if window is not None else (), now_ms)
        return window.samples

    def add(self, record: SampleRecord, now_ms: int) -> None:
        """Takes a new sample, for the store to keep and for the next request to be judged by."""
        key = (record.provider, record.model, record.estimator)
        self.samples(key, now_ms)  # those of before are read first, so that the new one is not the only one
        window = self._windows[key]
        window.samples = newest((to_sample(record), *window.samples), self._size)
        self._store.put_sample(record)

    def pairs(self, key: Key) -> list[Pair]:
        """The pairs of calls that were kept of what `growth-v1` learns."""
        return to_pairs(self._kept((key.provider, key.model, key.estimator), key.client))

    def _read(self, key: WindowKey, known: Iterable[Sample], now_ms: int) -> _Window:
        merged = {sample.id: sample for sample in (*map(to_sample, self._kept(key)), *known)}
        window = _Window(newest(merged.values(), self._size), now_ms)
        self._windows.pop(key, None)
        self._windows[key] = window
        if len(self._windows) > _TARGETS:
            del self._windows[next(iter(self._windows))]
        return window

    def _kept(self, key: WindowKey, client: str | None = None) -> list[SampleRecord]:
        try:
            return self._store.samples(*key, client=client, limit=_KEPT)
        except StoreError:
            return []
