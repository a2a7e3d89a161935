"""Pins and memories as supplements (planner specification, section 1, step 11)."""

from __future__ import annotations

import pytest

from tests.core.evidence.keeping import PROJECT, Keeping, letters
from ullage.core.evidence.evidence_text import pin_text
from ullage.core.evidence.ranking import Ranked, rank
from ullage.core.planning.offers import offer_memories, offer_pins


def test_a_pin_is_offered_with_its_text_its_tokens_and_its_class() -> None:
    pin = Keeping().pin("Use pnpm.", PROJECT, classification="internal")
    (offer,) = offer_pins([pin], letters)
    assert (offer.id, offer.kind, offer.text, offer.tokens) == ("i1", "pin", pin_text(pin), len(pin_text(pin)))
    assert (offer.score, offer.source_ids, offer.reason) == (950, ("i1",), "pinned for this project")
    assert (offer.classification, offer.created_ms) == ("internal", 1)


@pytest.mark.parametrize(
    ("own", "score"), [(107.0, 90.107), (34.0, 90.034), (98.0, 90.098), (50.1234565, 90.050123), (5_000.0, 90.999999)]
)
def test_a_memory_is_offered_below_what_is_pinned_by_its_own_score(own: float, score: float) -> None:
    memory = Keeping().remember("Build Runner = vitest")
    (offer,) = offer_memories([Ranked(memory, own, "recent")], letters)
    assert (offer.id, offer.kind, offer.score, offer.source_ids) == ("i1", "memory", score, ("i1",))


def test_a_memory_says_why_it_is_offered() -> None:
    memory = Keeping().remember("Build Runner = vitest")
    ranked = rank([memory], "vitest?")
    (offer,) = offer_memories(ranked, letters)
    assert (offer.text, offer.tokens, offer.reason) == (ranked[0].text, len(ranked[0].text), "1 term")


def test_equal_pins_give_equal_bytes() -> None:
    """Regression R50: so that what was sent before is read from the cache."""
    pin = Keeping().pin("Use pnpm.")
    assert offer_pins([pin], letters) == offer_pins([pin], letters)
