"""All sources together: what each says of a model, at once and without waiting, whatever the network and the disk do."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from ullage.core.errors import UllageError

from .files import GENAI_FILE, LITELLM_FILE, Catalogue, read_catalogue, write_bytes
from .genai import PACKAGE, find_version, make_genai
from .litellm import LITELLM
from .lookup import Question, find_layers, find_reported
from .memory import LONGEST_NAME, Reported, forget_oldest, load_reported, merge, newest, save_reported
from .orders import LITELLM_ADDRESS, Order, Outcome
from .providers import find_provider
from .reported import LONGEST_ID, read_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from ullage.core.profiles import Layer

DEFAULT_REFRESH_HOURS = 24.0

RETRY_MS = 3_600_000
"""Wait after a fetch that failed, unless files are to be fetched more often."""

LARGEST_LIST_BYTES = 16 * 1024 * 1024
"""A list of models larger than this is not read."""

_MOST_ANSWERS = 2_048
_HOUR_MS = 3_600_000
_STALE = 3  # times the wait between fetches, from which on age is a problem


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class _State:
    """What is known at one moment. It is replaced whole, so that readers need no lock; answers are kept beside it."""

    def __init__(self, litellm: Catalogue | None, genai: Catalogue | None, reported: Mapping[str, Reported]) -> None:
        self.litellm = litellm
        self.genai = genai
        self.reported = reported
        self._answers: dict[tuple[str, str], tuple[Layer, ...]] = {}

    def layers(self, provider: str, model: str) -> tuple[Layer, ...]:
        answer = self._answers.get((provider, model))
        if answer is None:
            answer = tuple(self._find(provider, model))
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[provider, model] = answer
        return answer

    def models(self, provider: str) -> tuple[str, ...]:
        said, row = self.reported.get(provider), find_provider(provider)
        found = set(said.models if said is not None else ())
        # Ids of LiteLLM are those that are sent; genai-prices has some that only name a family.
        listed = set(_ids(self.litellm, row.litellm if row is not None else ()))
        return tuple(sorted(found | (listed or set(_ids(self.genai, row.genai if row is not None else ())))))

    def _find(self, provider: str, model: str) -> Iterator[Layer]:
        question = Question(provider, model, find_provider(provider))
        if self.litellm is not None:
            yield from find_layers(LITELLM, self.litellm, question)
        if self.genai is not None:
            yield from find_layers(PACKAGE, self.genai, question)
        said = self.reported.get(provider)
        layer = find_reported(said.models, model, said.as_of) if said is not None else None
        if layer is not None:
            yield layer


def _ids(catalogue: Catalogue | None, providers: Iterable[str]) -> Iterator[str]:
    """Ids of all models that a catalogue lists for these providers."""
    if catalogue is not None:
        for provider in providers:
            yield from catalogue.rows(provider)


class Catalogs:
    """What LiteLLM, genai-prices and providers say of models, from files in the cache folder. Use `open_catalogs` to make one.

    Any thread may ask and tell; no method raises.
    """

    def __init__(self, cache_dir: Path, *, refresh: bool, refresh_hours: float, clock: Callable[[], int]) -> None:
        self._folder = cache_dir
        self._refresh = refresh
        self._every_ms = round(refresh_hours * _HOUR_MS)
        self._clock = clock
        self._writing = threading.Lock()
        self._failures: dict[str, str] = {}
        self._failed_ms: dict[str, int] = {}
        self._state = _State(None, None, {})
        self.reload()

    def layers(self, provider: str, model: str) -> tuple[Layer, ...]:
        """What each source says of this model, exact ids and marked others: what `resolve_profile` takes.

        At once: the first question about a model takes up to four milliseconds, every other one a fraction of a microsecond.
        """
        if len(model) > LONGEST_ID or len(provider) > LONGEST_NAME:
            return ()
        return self._state.layers(provider, model)

    def models(self, provider: str) -> tuple[str, ...]:
        """Ids of models that a provider has told of and that catalogues list for it; lists come in pages, so neither is all."""
        return self._state.models(provider) if len(provider) <= LONGEST_NAME else ()

    @property
    def edition(self) -> object:
        """What is known now, as a mark: another object stands for other answers."""
        return self._state

    def note_models(self, provider: str, payload: bytes) -> None:
        """Takes in what a provider answered when it was asked for its models, and writes a small file if that is new.

        Call it beside the relay, not on the event loop.
        """
        if not provider or len(provider) > LONGEST_NAME or len(payload) > LARGEST_LIST_BYTES:
            return
        models = read_models(payload)
        with self._writing:
            state = self._state
            old = state.reported.get(provider)
            if not models or (old is not None and models.items() <= old.models.items()):
                return
            new = merge(old, provider, models, self._clock())
            known = forget_oldest(self._folder, {**state.reported, provider: new})
            self._state = _State(state.litellm, state.genai, known)
            try:
                save_reported(self._folder, new)
            except OSError as error:
                self._failures["provider"] = f"The cache folder cannot be written: {error}."
            else:
                self._failures.pop("provider", None)

    def reload(self) -> None:
        """Reads the files again, as after they were made anew."""
        litellm = read_catalogue(self._folder / LITELLM_FILE)
        genai = read_catalogue(self._folder / GENAI_FILE)
        with self._writing:
            self._state = _State(litellm, genai, newest(load_reported(self._folder), self._state.reported))

    def use_genai(self) -> None:
        """Distils genai-prices here and now if its file is missing or out of date: for commands that end soon."""
        if not self._genai_is_due():
            return
        try:
            file = make_genai(self._clock())
        except UllageError as error:
            self._failures[PACKAGE] = error.message
            return
        with self._writing:
            self._state = _State(self._state.litellm, Catalogue(file), self._state.reported)
        with contextlib.suppress(OSError):  # the next command then does it again
            write_bytes(self._folder / GENAI_FILE, msgspec.json.encode(file))

    def find_orders(self, *, address: str = LITELLM_ADDRESS, proxy: str | None = None) -> tuple[Order, ...]:
        """What should be made anew now, the local work first. What failed is tried again after an hour."""
        orders = []
        if self._genai_is_due() and not self._failed_lately(PACKAGE):
            orders.append(Order(source=PACKAGE, cache_dir=str(self._folder)))
        if self._refresh and self._litellm_is_due() and not self._failed_lately(LITELLM):
            orders.append(Order(source=LITELLM, cache_dir=str(self._folder), address=address, proxy=proxy))
        return tuple(orders)

    def take(self, order: Order, outcome: Outcome) -> None:
        """Takes in what came of an order: a new file, or what did not work."""
        if outcome.failure:
            self._failures[order.source] = outcome.failure
            self._failed_ms[order.source] = self._clock()
        else:
            self._failures.pop(order.source, None)
            self._failed_ms.pop(order.source, None)
        self.reload()

    def age_ms(self) -> int | None:
        """Milliseconds since LiteLLM's catalogue was last known to be the newest; `None` without one."""
        litellm = self._state.litellm
        return None if litellm is None else max(0, self._clock() - litellm.file.checked_ms)

    def problems(self) -> tuple[str, ...]:
        """What a user should know, in sentences: what is missing or old, and what failed."""
        return tuple(self._find_problems())

    def _find_problems(self) -> Iterator[str]:
        failure = self._failures.get(LITELLM)
        litellm = self._state.litellm
        if failure is not None:
            used = f"the copy of {litellm.file.as_of} is used" if litellm else "there is no copy yet"
            yield f"LiteLLM's catalogue could not be renewed, {used}. {failure}"
        elif litellm is None:
            yield f"There is no copy of LiteLLM's catalogue{' yet' if self._refresh else ': models.refresh is off'}."
        elif self._refresh and (self.age_ms() or 0) > _STALE * self._every_ms:
            yield f"LiteLLM's catalogue was not renewed since {litellm.file.as_of}."
        failure, genai = self._failures.get(PACKAGE), self._state.genai
        if failure is not None:
            used = f"those of {genai.file.as_of} are used" if genai else "there are none yet"
            yield f"The data of {PACKAGE} could not be read anew, {used}. {failure}"
        elif genai is None:
            yield f"The data of {PACKAGE} are not read yet."
        if "provider" in self._failures:
            yield f"What providers say of their models is forgotten at the end of this run. {self._failures['provider']}"

    def _litellm_is_due(self) -> bool:
        age_ms = self.age_ms()
        return age_ms is None or age_ms >= self._every_ms

    def _genai_is_due(self) -> bool:
        genai = self._state.genai
        if genai is None or genai.file.as_of != find_version():
            return True
        until_ms = genai.file.valid_until_ms
        return until_ms is not None and self._clock() >= until_ms

    def _failed_lately(self, source: str) -> bool:
        failed_ms = self._failed_ms.get(source)
        return failed_ms is not None and self._clock() - failed_ms < min(RETRY_MS, self._every_ms)


def open_catalogs(
    cache_dir: Path,
    *,
    refresh: bool = True,
    refresh_hours: float = DEFAULT_REFRESH_HOURS,
    clock: Callable[[], int] = _now_ms,
) -> Catalogs:
    """The catalogues in this folder, which need not exist. Reads the files, makes none: `keep_fresh` does.

    `refresh` off never uses the network. `clock` tells epoch milliseconds.
    """
    return Catalogs(cache_dir, refresh=refresh, refresh_hours=refresh_hours, clock=clock)


def load_now(cache_dir: Path, *, refresh: bool = True, clock: Callable[[], int] = _now_ms) -> Catalogs:
    """The catalogues for a command that ends soon: genai-prices is distilled on the spot if need be, the network is not used."""
    catalogs = open_catalogs(cache_dir, refresh=refresh, clock=clock)
    catalogs.use_genai()
    return catalogs
