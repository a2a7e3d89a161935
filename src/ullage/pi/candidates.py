"""The models that Pi offers, as those among whom is chosen: Pi has their credentials, and its scope decides who they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ullage.core.profiles import Prices
from ullage.core.routing.identity import converses
from ullage.core.routing.models import ModelRecord
from ullage.core.routing.route import prepare_candidates
from ullage.core.routing.suggesting import suggest
from ullage.engine.targets import Destination

from .messages import dialect_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.core.routing.filtering import Candidate
    from ullage.core.routing.route import RouteConfig
    from ullage.core.wire import Dialect

    from .asking import Model


class PiTargets:
    """Pi's models. All of them speak the protocol that stands for Pi's own: it is Pi that sends."""

    def __init__(self, models: Sequence[Model], config: RouteConfig) -> None:
        self.models = {model.target: model for model in models}
        self.windows = {one.target: one.context_window for one in models if one.context_window}
        self._config = config
        self._known: dict[Dialect, tuple[Candidate, ...]] = {}

    @property
    def dialect(self) -> Dialect:
        """The protocol whose form stands for Pi's: Anthropic's if a model speaks it, where alone thinking has its place."""
        spoken = {dialect_of(model.api) for model in self.models.values()}
        return "anthropic" if "anthropic" in spoken else "openai-chat"

    def candidates(self, dialect: Dialect, *, client_key: bool) -> tuple[Candidate, ...]:
        """All of them; whether the client has a key does not matter."""
        if dialect not in self._known:
            prepared = prepare_candidates((_record(model, dialect) for model in self.models.values()), self._config)
            self._known[dialect] = tuple(replace(one, converses=converses(one.model.id)) for one in prepared)
        return self._known[dialect]

    def destination(self, target: str, dialect: Dialect, *, client_key: bool) -> Destination | None:
        """Where Pi sends what goes to a model."""
        model = self.models.get(target)
        if model is None:
            return None
        return Destination(
            target=target, provider=model.provider, model=model.id, dialect=dialect, root=model.root, client_key=True
        )

    def suggest(self, target: str) -> str | None:
        """The model that was probably meant."""
        return suggest(target, list(self.models))


def _record(model: Model, dialect: Dialect) -> ModelRecord:
    prices = Prices(input=model.input, output=model.output, cache_read=model.cache_read, cache_write=model.cache_write)
    priced = any((model.input, model.output))  # Pi writes zeros for what it does not know
    return ModelRecord(
        provider=model.provider,
        id=model.id,
        reasoning=model.reasoning,
        inputs=("text", "image") if model.images else ("text",),
        context_window=model.context_window,
        max_output_tokens=model.max_tokens,
        prices=prices if priced else Prices(),
        thinking_levels=model.levels or None,
        api=dialect,
    )
