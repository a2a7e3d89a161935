"""What Pi knows of its models, for their profiles: it is taken in like a provider's own list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ullage.engine import Endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.engine import Engine

    from .asking import Model

_PER_MILLION = 1_000_000
_ENDPOINT = Endpoint(dialect="openai-chat", purpose="models", path="/pi")


def tell_models(engine: Engine, models: Sequence[Model]) -> None:
    """Notes windows, limits and prices, provider by provider."""
    for provider in dict.fromkeys(model.provider for model in models):
        listed = [_entry(model) for model in models if model.provider == provider]
        exchange = engine.begin(
            id=engine.new_id(), endpoint=_ENDPOINT, headers={}, body=b"", root="", provider=provider
        )
        exchange.answer_began(200, [(b"content-type", b"application/json")])
        exchange.answer_chunk(msgspec.json.encode({"data": listed}))
        exchange.ended("whole")
        engine.finish(exchange)


def _entry(model: Model) -> dict[str, Any]:
    """A model in the words of a list that we read."""
    prices = {
        "prompt": model.input,
        "completion": model.output,
        "input_cache_read": model.cache_read,
        "input_cache_write": model.cache_write,
    }
    entry: dict[str, Any] = {
        "id": model.id,
        "context_length": model.context_window,
        "max_output_tokens": model.max_tokens,
        "thinking": model.reasoning,
        "supports_image_input": model.images,
    }
    if any(prices.values()):  # Pi writes zeros for what it does not know
        entry["pricing"] = {name: str(usd / _PER_MILLION) for name, usd in prices.items() if usd is not None}
    return {name: value for name, value in entry.items() if value is not None}
