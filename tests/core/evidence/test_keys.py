"""What a claim is about, and whether it affirms or denies (planner specification, section 15.2)."""

from __future__ import annotations

import pytest

from ullage.core.evidence.keys import base_subject, derive_key, find_polarity, normalise_key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Build Runner", "build-runner"),
        ("  Build   Runner! ", "build-runner"),
        ("src/core/config.ts", "src/core/config.ts"),
        ("max_tokens-2", "max_tokens-2"),
        ("--dry-run--", "dry-run"),
        ("Größe", "größe"),
        ("构建 工具", "构建-工具"),
        ("a & b", "a-b"),
        ("???", None),
        ("", None),
        ("x" * 200, "x" * 160),
        ("x" * 159 + " y", "x" * 159),
    ],
)
def test_a_key_is_lower_case_with_dashes_for_what_is_no_letter(text: str, key: str | None) -> None:
    assert normalise_key(text) == key


@pytest.mark.parametrize(
    ("claim", "key"),
    [
        ("Build Runner = vitest", "build-runner"),
        ("Build Runner: vitest", "build-runner"),
        ("Build Runner : vitest", "build-runner"),
        ("timeout=30", "timeout"),
        ("The port defaults to 8484", "the-port"),
        ("Ports default to 8484", "ports"),
        ("The build is slow", "the-build"),
        ("Tests are in tests/", "tests"),
        ("Dates must be ISO 8601", "dates"),
        ("Dates should be ISO 8601", "dates"),
        ("mode defaults to fast and is fixed", "mode"),
        ("Use pnpm", None),
        ("see https://example.org/a", None),
        ("starts at 12:30", None),
        ("if a == b", None),
        ("a != b", None),
        ("a => b", None),
        ("x <= 3", None),
        ("Q: yes", None),
        ("x = 1", None),
        ("is", None),
        ("", None),
        ("a" * 161 + ": x", None),
        ("a" * 160 + ": x", "a" * 160),
    ],
)
def test_the_key_of_a_claim_is_what_it_is_about(claim: str, key: str | None) -> None:
    assert derive_key(claim) == key


@pytest.mark.parametrize(
    ("claim", "polarity"),
    [
        ("telemetry is enabled", "positive"),
        ("telemetry is not enabled", "negative"),
        ("must never run", "negative"),
        ("the flag is ON", "positive"),
        ("switched off", "negative"),
        ("config of notes", None),
        ("nothing known", None),
        ("TRUE", "positive"),
        ("tests are required", "positive"),
        ("", None),
    ],
)
def test_words_that_deny_count_before_those_that_affirm(claim: str, polarity: str | None) -> None:
    assert find_polarity(claim) == polarity


@pytest.mark.parametrize(
    ("claim", "subject"),
    [
        ("telemetry is disabled", "telemetry"),
        ("must use tabs", "use-tabs"),
        ("never use tabs", "use-tabs"),
        ("never: on", None),
        ("not", None),
    ],
)
def test_the_subject_is_the_same_whether_affirmed_or_denied(claim: str, subject: str | None) -> None:
    assert base_subject(claim) == subject
