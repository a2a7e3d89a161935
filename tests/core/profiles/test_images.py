"""Pictures by their size (accounting specification, section 7)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ullage.core.profiles import FAMILIES, find_family, image_tokens


def tokens(model: str, width: int, height: int, detail: str | None = None) -> int:
    return image_tokens(find_family("p", "openai-chat", model).images, width, height, detail)


@pytest.mark.parametrize(
    ("model", "size", "expected"),
    [
        ("claude-haiku-4-5", (128, 128), 25 + 3),
        ("claude-haiku-4-5", (540, 360), 260 + 3),
        ("claude-haiku-4-5", (1024, 768), 1_036 + 3),
        ("gpt-4o", (3008, 2000), 1_105),
        ("gpt-4o-mini", (1, 1), 8_500),
        ("gpt-4.1-nano", (540, 360), 502),
        ("gpt-5-nano", (128, 128), 24),
        ("gpt-5.6-sol", (1024, 768), 922),
        ("gemini-2.0-flash", (3008, 2000), 13 * 258),
        ("gemini-2.5-flash", (128, 128), 258),
        ("pixtral-12b", (128, 128), 30),
        ("pixtral-12b", (239, 178), 70),
        ("mistral.pixtral-large-2502", (597, 566), 38 * 36 + 36),
        ("qwen2.5-vl-72b", (597, 566), 420 + 2),
        ("qwen2.5-vl-7b", (60, 30), 6 + 2),
        ("glm-4.6v", (597, 566), 420 + 2),
        ("grok-4.3", (239, 178), 256),
        ("grok-4.3", (900, 500), 5 * 256 + 2 * 256),
    ],
)
def test_a_picture_costs_what_was_observed(model: str, size: tuple[int, int], expected: int) -> None:
    assert tokens(model, *size) == expected


def test_low_detail_costs_the_base_alone() -> None:
    assert tokens("gpt-4o", 3008, 2000, "low") == 85


def test_a_large_picture_is_scaled_down_to_the_cap_of_its_model() -> None:
    assert tokens("claude-opus-4-1", 4000, 3000) <= 1_568 + 3
    assert 1_568 < tokens("claude-opus-4-8", 4000, 3000) <= 4_784 + 3


@given(st.sampled_from(FAMILIES), st.integers(1, 20_000), st.integers(1, 20_000))
@example(next(family for family in FAMILIES if family.images.kind == "area"), 1, 1)
def test_every_rule_gives_a_positive_number_for_every_size(family: object, width: int, height: int) -> None:
    assert image_tokens(family.images, width, height) > 0  # type: ignore[attr-defined]
