"""The window of a model, and a limit on its input alone, from sources that mean different things by one number.

Where a source gives the largest input, that is mostly the window. Of some models it is not: gpt-5 takes 272,000 tokens in and
128,000 out, a window of 400,000. A second source tells the two readings apart: if it names a window that is exactly input plus
output, output comes on top. Otherwise the largest input is taken for the window, which can only be too careful.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .choosing import UNKNOWN, Found, Provenance, credit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .facts import Layer, ModelFacts

NO_LIMIT = Found(None, Provenance(source="default", detail="the window alone"))
"""No limit on input below the window is known."""


def find_window(ordered: Sequence[Layer]) -> Found:
    """The limit on input and output together, of the first layer that says anything of it."""
    for layer in ordered:
        if layer.facts.context_window is not None:
            return Found(layer.facts.context_window, credit(layer))
        if layer.facts.max_input_tokens is not None:
            return _from_largest_input(layer, ordered)
    return UNKNOWN


def find_input_limit(window: int | None, ordered: Sequence[Layer]) -> Found:
    """The largest input of the first layer that has one, if it is less than the window.

    A similar model's is believed only where it adds up with its largest output to this window.
    """
    for layer in ordered:
        largest = layer.facts.max_input_tokens
        if window is None or largest is None or not (layer.exact or _added_up(layer.facts) == window):
            continue
        return Found(largest, credit(layer)) if largest < window else NO_LIMIT
    return UNKNOWN if window is None else NO_LIMIT


def _from_largest_input(layer: Layer, ordered: Sequence[Layer]) -> Found:
    total = _added_up(layer.facts)
    for other in ordered:
        if total is not None and other.facts.context_window == total:
            note = f"{layer.facts.max_input_tokens:,} in and {layer.facts.max_output_tokens:,} out, as {other.source} adds up"
            return Found(total, credit(layer, note, exact=other.exact))
    return Found(layer.facts.max_input_tokens, credit(layer, "the largest input, taken for the window"))


def _added_up(facts: ModelFacts) -> int | None:
    """Input plus output. An output as large as the input means that both share the window, so there is nothing to add."""
    largest, output = facts.max_input_tokens, facts.max_output_tokens
    return largest + output if largest is not None and output is not None and output < largest else None
