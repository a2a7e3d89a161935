"""How pins and memories read in a request."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.evidence.keeping import Keeping, change
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.evidence_text import holds_our_text, memory_text, pin_text
from ullage.core.evidence.mutations import replay


def test_a_pin_says_what_it_is_where_it_is_from_and_how_much_it_counts() -> None:
    keeping = Keeping()
    first = keeping.pin("Use npm.")
    pin = keeping.pin(
        'Use "pnpm".',
        Owner(scope="branch", session="s1", branch="3:ab"),
        source_ids=("e1",),
        source_file="a.md",
        supersedes=first.id,
    )
    assert pin_text(pin).splitlines() == [
        "[ullage pin] Pinned by the user.",
        'pin: "i2"',
        'scope: "branch"',
        'session: "s1"',
        'mutation: "m2"',
        'branch: "3:ab"',
        'supersedes: "i1"',
        'source entries: ["e1"]',
        'source file: "a.md"',
        'content: "Use \\"pnpm\\"."',
        "The content above ranks below the system prompt and the messages of the user.",
        "[end of pin]",
    ]


def test_what_is_not_known_of_a_pin_has_no_line() -> None:
    pin = Keeping().pin("Use pnpm.", Owner(scope="project", project="/code/a"))
    assert [line.partition(":")[0] for line in pin_text(pin).splitlines()[1:-2]] == [
        "pin",
        "scope",
        "mutation",
        "content",
    ]


def test_a_memory_says_why_it_was_chosen_and_asks_to_be_verified() -> None:
    memory = Keeping().remember("Build Runner = vitest", source_ids=("e1", "e2"))
    assert memory_text(memory, 107.0, "key, 2 terms").splitlines() == [
        "[ullage memory] Noted by the user earlier.",
        'memory: "i1"',
        'scope: "session"',
        'session: "s1"',
        'mutation: "m1"',
        'source entries: ["e1","e2"]',
        'key: "build-runner"',
        "score: 107.0",
        'reason: "key, 2 terms"',
        'claim: "Build Runner = vitest"',
        "The claim above may be out of date: verify it before you rely on it.",
        "[end of memory]",
    ]


def test_a_memory_for_a_prefix_says_nothing_that_changes_with_the_question() -> None:
    memory = Keeping().remember("Build Runner = vitest")
    with_why = memory_text(memory, 107.0, "key, 2 terms").splitlines()
    assert memory_text(memory).splitlines() == [line for line in with_why if not line.startswith(("score", "reason"))]


@given(text=st.text(), session=st.text())
def test_whatever_is_pinned_stands_on_its_own_line_and_can_be_read_again(text: str, session: str) -> None:
    """A text cannot end its quotation, open another one, or break a line in any reader's eyes."""
    pin = replay([change(session=session, payload={"text": text})]).items["p1"]
    lines = pin_text(pin).splitlines()
    assert [line for line in lines if line.startswith("[")] == [lines[0], "[end of pin]"]
    (content,) = [line for line in lines if line.startswith("content: ")]
    assert msgspec.json.decode(content.removeprefix("content: ")) == text


def test_half_an_emoji_becomes_a_character_that_can_be_sent() -> None:
    pin = replay([change(payload={"text": "a\ud83d"})]).items["p1"]
    assert 'content: "a\ufffd"' in pin_text(pin).encode().decode()


def test_a_pin_reads_the_same_at_any_time() -> None:
    """Regression R50: nothing in it changes while the pin does not."""
    early, late = (replay([change(created_ms=time_ms)]).items["p1"] for time_ms in (1, 10**12))
    assert pin_text(early) == pin_text(late)


def test_what_we_put_into_requests_is_known_again() -> None:
    """Regression R31: what is replayed by a client must not be kept as if the user had said it."""
    pin, memory = Keeping().pin("Use pnpm."), Keeping().remember("Use pnpm.")
    for text in (pin_text(pin), memory_text(memory, 34.0, "recent")):
        assert holds_our_text(text)
        assert holds_our_text(" ".join(text.split()))
        assert holds_our_text(f"The user said:\n> {text}")
        assert holds_our_text(msgspec.json.encode(text).decode())


@pytest.mark.parametrize(
    "text",
    [
        "[ullage artifact: a large tool result, kept in full]",
        "before [local-only text withheld by ullage] after",
        "[ULLAGE pin]",
    ],
)
def test_placeholders_of_ours_are_known_too(text: str) -> None:
    assert holds_our_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ullage is the room left in a container",
        "Run `ullage pin add`.",
        "[ullage](https://example.org)",
        "see [ullage docs](https://example.org)",
        "[ullage:sensitive] note",
        "[ullage",
        "[ullage \n]",
        "array[ullage]",
    ],
)
def test_texts_about_us_are_not_ours(text: str) -> None:
    assert not holds_our_text(text)
