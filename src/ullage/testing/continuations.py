"""Responses kept for `previous_response_id`, as a provider with state keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dialects import openai_responses

if TYPE_CHECKING:
    from .prompt import Generation


class Continuations:
    """The newest stored responses by id, each with all the items that stand before the next one."""

    def __init__(self, limit: int = 1_000) -> None:
        self._limit = limit
        self._generations: dict[str, Generation] = {}
        self._items: dict[str, list[dict[str, Any]]] = {}

    def put(self, generation: Generation) -> None:
        """Keeps a response: what was asked (with what came before) and what was answered."""
        key = openai_responses.response_id(generation)
        self._generations[key] = generation
        asked = openai_responses.input_items(generation.prompt.payload)
        self._items[key] = asked + openai_responses.output_items(generation)
        while len(self._items) > self._limit:
            oldest = next(iter(self._items))
            del self._items[oldest], self._generations[oldest]

    def find(self, response_id: str) -> Generation | None:
        """The stored response of that id."""
        return self._generations.get(response_id)

    def extend(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload with the items of its previous response put before its own. Raises `KeyError` with an unknown id."""
        previous = payload.get("previous_response_id")
        if not isinstance(previous, str):
            return payload
        return {**payload, "input": self._items[previous] + openai_responses.input_items(payload)}
