"""Losses of what a model does not take, in whichever dialect it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .losses import Losses


def tell_shortened(losses: Losses, most_tokens: int) -> None:
    """A longer answer was asked for than the model can give."""
    losses.add("max_tokens", "max_tokens", f"The model answers with at most {most_tokens} tokens.")


def tell_fixed_sampling(losses: Losses) -> None:
    """A sampling was asked for that the model does not let be changed."""
    losses.add("sampling", "temperature", "The model takes no temperature, top_p or top_k.")


def tell_penalties(losses: Losses) -> None:
    """Words were to be made less or more likely at a model that reasons."""
    losses.add("sampling", "penalties", "The model takes no penalties and no bias.")


def tell_wordless(losses: Losses, where: str) -> None:
    """Instructions had something else than words."""
    losses.add("not_carried", where, "Instructions are words at the target; what else was among them is left out.")
