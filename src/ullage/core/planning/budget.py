"""How many tokens a prompt may, should and would like to have (planner specification, section 4)."""

from __future__ import annotations

import math

from msgspec import Struct

from ullage.core.calibration import IDENTITY, Conversion


class Limits(Struct, frozen=True, kw_only=True):
    """What the settings say of limits: shares of the context window, and tokens. The defaults are those of planner specification,
    section 2.2."""

    target_fill_ratio: float = 0.7
    soft_limit_ratio: float = 0.8
    hard_limit_ratio: float = 0.9
    minimum_output_reserve: int = 8_192
    preferred_output_reserve: int = 32_768
    recent_tail_tokens: int = 64_000
    max_retrieved_history_tokens: int = 16_000
    max_project_tokens: int = 20_000


class Budget(Struct, frozen=True, kw_only=True):
    """The input limits of one model, all at least 1 and at most the window, with what they were drawn from.

    Figures up to `nominal_preferred` are provider tokens; `hard`, `soft` and `preferred` are tokens of the local estimator. The
    reserve and the margin are those that were used. `ratio` and `offset` are of the conversion between both.
    """

    context_window: int
    output_reserve: int
    safety_margin: int
    model_input_hard: int
    nominal_hard: int
    nominal_soft: int
    nominal_preferred: int
    ratio: float
    offset: float
    hard: int
    soft: int
    preferred: int

    @property
    def active(self) -> int:
        """What a plan fills, in local tokens: `preferred`, which is never above `hard`."""
        return self.preferred


def draw_budget(
    *,
    window: int,
    max_output: int | None,
    safety_margin: int,
    limits: Limits,
    conversion: Conversion = IDENTITY,
    max_input: int | None = None,
    requested_output: int | None = None,
) -> Budget:
    """The limits of a model with a context window of at least one token, by the rules of section 4.1.

    Two corrections of the reference: a small window keeps room for input (`_reserve`, `_margin`), and the preferred limit lies
    within the hard one (contradiction C9 of section 34). `max_output` is `None` where no source knows it; `max_input` is the
    provider's limit on the prompt alone, where it has one besides the window. `requested_output` is what the request lets its
    answer have: providers refuse one whose prompt and answer together could exceed the window.
    """
    reserve = max(_reserve(window, max_output, limits), _demand(window, requested_output))
    space = window - reserve if max_input is None else min(window - reserve, max_input)
    margin = _margin(space, safety_margin)
    room = space - margin
    nominal_hard = _within(room, limits.hard_limit_ratio * window)
    nominal_soft = _within(nominal_hard, limits.soft_limit_ratio * window)
    nominal_preferred = _within(nominal_hard, limits.target_fill_ratio * window)
    hard = max(1, conversion.to_local(nominal_hard))
    return Budget(
        context_window=window,
        output_reserve=reserve,
        safety_margin=margin,
        model_input_hard=room,
        nominal_hard=nominal_hard,
        nominal_soft=nominal_soft,
        nominal_preferred=nominal_preferred,
        ratio=conversion.slope,
        offset=conversion.offset,
        hard=hard,
        soft=_within(hard, conversion.to_local(nominal_soft)),
        preferred=_within(hard, conversion.to_local(nominal_preferred)),
    )


def _reserve(window: int, max_output: int | None, limits: Limits) -> int:
    """Room for the answer: as much as is preferred if the model allows it, but no more than a quarter of the window.

    The quarter is a correction: with a small window and a large or unknown maximum the reference reserves all of it.
    """
    ceiling = limits.preferred_output_reserve if max_output is None else max_output
    wanted = max(min(limits.minimum_output_reserve, ceiling), min(limits.preferred_output_reserve, ceiling))
    return min(wanted, window // 4)


_LEAST_INPUT = 8
"""An eighth of the window is what a demand for output must leave. With less, no prompt of an agent would fit, system prompt and
tools alone being larger, so that whoever asks for it, as for the whole window, relies on a provider that takes no demand at its
word (regression R45)."""


def _demand(window: int, requested: int | None) -> int:
    """The room that a request asks for its answer (regression R44), if it leaves any for the prompt."""
    return requested if requested is not None and requested <= window - math.ceil(window / _LEAST_INPUT) else 0


def _margin(space: int, wanted: int) -> int:
    """Room for our error within the `space` that the reserve leaves: what is asked for, as long as a third is left for input.

    A correction too: a margin of 1,024 tokens would take all of a window that small.
    """
    return min(wanted, space - math.ceil(space / 3))


def _within(most: int, tokens: float) -> int:
    """Whole tokens, no more than `most`, and never nothing: a limit of zero would keep every request out."""
    return max(1, min(most, math.floor(tokens)))
