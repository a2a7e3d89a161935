"""The table of measured errors."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ullage.core.profiles import CONTENT_KINDS, FAMILIES, find_interval
from ullage.core.profiles.fitted import CONSTANTS, DATE, INTERVALS
from ullage.core.profiles.intervals import ANY_GROUP, interval_groups, size_class


@given(st.sampled_from(FAMILIES), st.sampled_from(CONTENT_KINDS), st.integers(0, 10_000_000))
def test_every_family_has_an_interval_around_its_estimate(family: object, kind: str, tokens: int) -> None:
    found = find_interval(family.fitted, "openai", kind, tokens)  # type: ignore[attr-defined]
    assert -1.0 <= found.low <= 0.0 <= found.high


def test_sizes_fall_into_classes() -> None:
    assert [size_class(tokens) for tokens in (0, 63, 64, 255, 256, 1_023, 1_024, 9_999_999)] == [0, 0, 1, 1, 2, 2, 3, 3]


def test_the_most_specific_group_is_asked_first_and_an_aggregator_apart() -> None:
    assert interval_groups(("claude", "claude-old"), "anthropic") == ["claude-old", "claude"]
    assert interval_groups(("claude",), "openrouter") == ["claude@openrouter"]
    assert interval_groups(("claude",), None) == ["claude"]


def test_a_model_of_which_nothing_was_fitted_has_a_wider_interval() -> None:
    known, unknown = (find_interval((group,), None, "tools", 300) for group in ("glm", "unknown"))
    assert not known.measured
    assert (unknown.high - unknown.low) > 1.4 * (known.high - known.low)


def test_the_file_tells_its_date_its_evidence_and_its_error() -> None:
    assert len(DATE) == len("2026-01-31")
    assert all(samples >= recordings > 0 and error >= 0 for _, _, _, samples, recordings, error in CONSTANTS)
    assert len({(group, place) for group, place, *_ in CONSTANTS}) == len(CONSTANTS)
    assert {kind for group, kind, *_ in INTERVALS if group == ANY_GROUP} >= {
        "text",
        "tools",
        "calls",
        "schema",
        "media",
    }
