"""What may be pinned, and what becomes of it."""

from __future__ import annotations

import msgspec
import pytest

from tests.core.evidence.keeping import HERE, PROJECT, Keeping, letters
from ullage.core.errors import CallError, InputError, UllageError
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.evidence_text import pin_text
from ullage.core.evidence.pins import PinLimits, remove_pin, report_pin
from ullage.core.privacy.classes import CLASSES

BRANCH = Owner(scope="branch", session="s1", branch="3:ab")


@pytest.fixture
def keeping() -> Keeping:
    return Keeping()


def test_a_pin_is_what_the_log_then_says(keeping: Keeping) -> None:
    pin = keeping.pin("Use pnpm.", classification="internal", source_ids=("e1",), source_file="a.md")
    assert keeping.kept.items == {pin.id: pin}
    assert (pin.text, pin.state, pin.created_ms, pin.classification) == ("Use pnpm.", "active", 1, "internal")


def test_a_pin_is_kept_on_one_line(keeping: Keeping) -> None:
    assert keeping.pin("  Use\n\tpnpm,\u2028 not npm. ").text == "Use pnpm, not npm."


@pytest.mark.parametrize("text", ["", "  \n", "\u3000"])
def test_nothing_cannot_be_pinned(text: str, keeping: Keeping) -> None:
    with pytest.raises(CallError) as refusal:
        keeping.pin(text)
    assert refusal.value.code == "empty_text"


def test_a_pin_has_4000_characters_at_most_and_an_emoji_is_two(keeping: Keeping) -> None:
    assert len(keeping.pin("x" * 4_000).text) == 4_000
    assert len(keeping.pin("🙂" * 2_000).text) == 2_000
    for text in ("x" * 4_001, "🙂" * 2_000 + "x"):
        with pytest.raises(CallError, match="has 4,001 characters; 4,000 is the most") as refusal:
            keeping.pin(text)
        assert refusal.value.code == "too_long"
    assert keeping.pin("   ".join("ab")).text == "a b"


def test_half_an_emoji_is_replaced_before_it_is_kept(keeping: Keeping) -> None:
    assert keeping.pin("a\ud83d").text == "a\ufffd"


def test_what_ullage_put_into_a_request_cannot_be_pinned(keeping: Keeping) -> None:
    """Regression R31."""
    evidence = pin_text(keeping.pin("Use pnpm."))
    for text in (evidence, f"Remember: {evidence}", "[local-only text withheld by ullage]"):
        with pytest.raises(CallError) as refusal:
            keeping.pin(text)
        assert refusal.value.code == "replayed_text"
    assert len(keeping.log) == 1


@pytest.mark.parametrize(
    "owner",
    [
        Owner(scope="session"),
        Owner(scope="session", session=""),
        Owner(scope="branch", session="s1"),
        Owner(scope="branch", branch="3:ab"),
        Owner(scope="project", session="s1"),
    ],
)
def test_whom_it_is_for_must_be_said(owner: Owner, keeping: Keeping) -> None:
    with pytest.raises(CallError) as refusal:
        keeping.pin("Use pnpm.", owner)
    assert refusal.value.code == "bad_scope"


def test_a_class_must_be_one_of_four(keeping: Keeping) -> None:
    for number, classification in enumerate(CLASSES):
        assert keeping.pin(f"{number}", classification=classification).classification == classification
    with pytest.raises(CallError, match="no class 'secret'"):
        keeping.pin("Use pnpm.", classification="secret")


def test_the_same_text_is_pinned_once_whatever_its_case(keeping: Keeping) -> None:
    first = keeping.pin("Use pnpm.")
    assert keeping.pin(" USE   PNPM. ") == first
    assert keeping.pin("STRASSE") == keeping.pin("straße")
    assert len(keeping.log) == 2


def test_another_owner_may_pin_the_same_text(keeping: Keeping) -> None:
    owners = (HERE, BRANCH, PROJECT, Owner(scope="session", session="s2"), Owner(scope="project", project="/code/b"))
    assert len({keeping.pin("Use pnpm.", owner).id for owner in owners}) == 5


def test_of_a_project_a_text_is_the_same_from_whichever_session_it_comes(keeping: Keeping) -> None:
    first = keeping.pin("Use pnpm.", PROJECT)
    assert keeping.pin("Use pnpm.", msgspec.structs.replace(PROJECT, session="s9")) == first


def test_a_text_that_was_removed_can_be_pinned_again(keeping: Keeping) -> None:
    first = keeping.pin("Use pnpm.")
    keeping.write(remove_pin(keeping.kept, first.id, keeping.stamp()))
    assert keeping.pin("Use pnpm.").id != first.id


# Limits


def test_a_pin_that_would_exceed_the_limit_of_its_owner_is_refused(keeping: Keeping) -> None:
    one = letters(pin_text(keeping.pin("Use pnpm.")))
    limits = PinLimits(tokens=2 * one)
    keeping.pin("Use bun!!", limits=limits)
    with pytest.raises(InputError) as refusal:
        keeping.pin("x", limits=limits)
    assert refusal.value.code == "pins_over_limit"
    assert f"take {2 * one + one - 8:,} tokens; {2 * one:,} is the most" in refusal.value.message
    assert "planning.max_pinned_tokens" in refusal.value.hint
    assert len(keeping.log) == 2


def test_pins_of_others_and_those_that_ended_take_no_room(keeping: Keeping) -> None:
    limits = PinLimits(tokens=letters(pin_text(keeping.pin("Use pnpm."))))
    keeping.write(remove_pin(keeping.kept, "i1", keeping.stamp()))
    keeping.pin("Use pnpm.", Owner(scope="session", session="s2"), limits=limits)
    assert keeping.pin("Use bun!!", limits=limits).is_active


def test_a_pin_makes_room_for_the_one_that_supersedes_it(keeping: Keeping) -> None:
    first = keeping.pin("Use npm!.")
    limits = PinLimits(tokens=letters(pin_text(first)) + len('supersedes: "i1"\n'))
    second = keeping.pin("Use pnpm.", supersedes=first.id, limits=limits)
    assert [(pin.id, pin.state) for pin in keeping.kept.of("pin")] == [(first.id, "superseded"), (second.id, "active")]


# What becomes of them


def test_a_pin_that_is_removed_says_why(keeping: Keeping) -> None:
    pin = keeping.pin("Use pnpm.")
    removed = keeping.write(remove_pin(keeping.kept, pin.id, keeping.stamp(), reason=" no  longer "))
    assert keeping.kept.find(pin.id) == removed
    assert (removed.state, removed.reason) == ("deleted", "no longer")


def test_a_reason_has_500_characters_at_most(keeping: Keeping) -> None:
    pin = keeping.pin("Use pnpm.")
    with pytest.raises(CallError, match="The reason has 501 characters"):
        remove_pin(keeping.kept, pin.id, keeping.stamp(), reason="x" * 501)
    with pytest.raises(CallError):
        remove_pin(keeping.kept, pin.id, keeping.stamp(), reason="[secret withheld by ullage]")


def test_what_is_not_there_or_has_ended_cannot_be_changed(keeping: Keeping) -> None:
    first = keeping.pin("Use npm.")
    second = keeping.pin("Use pnpm.", supersedes=first.id)
    memory = keeping.remember("Build Runner = vitest")
    for item_id, code in (("nothing", "not_found"), (memory.id, "not_found"), (first.id, "not_active")):
        with pytest.raises(InputError) as refusal:
            remove_pin(keeping.kept, item_id, keeping.stamp())
        assert refusal.value.code == code
        with pytest.raises(InputError):
            keeping.pin("Use bun.", supersedes=item_id)
    with pytest.raises(InputError) as refusal:
        remove_pin(keeping.kept, first.id, keeping.stamp())
    assert second.id in refusal.value.hint


def test_a_pin_may_be_superseded_by_the_same_words(keeping: Keeping) -> None:
    """To give it another class, or another owner."""
    first = keeping.pin("Use pnpm.")
    second = keeping.pin("use pnpm.", supersedes=first.id, classification="sensitive")
    assert (second.id != first.id, second.text, second.classification) == (True, "use pnpm.", "sensitive")


def test_a_text_that_another_pin_has_already_supersedes_nothing(keeping: Keeping) -> None:
    first, other = keeping.pin("Use npm."), keeping.pin("Use pnpm.")
    assert keeping.pin("Use pnpm.", supersedes=first.id) == other
    assert len(keeping.log) == 2


def test_no_refusal_repeats_the_text(keeping: Keeping) -> None:
    """Errors are logged and shown in places where a private text has no business."""
    keeping.pin("pnpm-secret")
    for attempt in (
        lambda: keeping.pin("pnpm-secret " * 999),
        lambda: keeping.pin("pnpm-secret [ullage pin]"),
        lambda: keeping.pin("pnpm-secret", Owner(scope="project")),
        lambda: keeping.pin("pnpm-secret 2", limits=PinLimits(tokens=1)),
    ):
        with pytest.raises(UllageError) as refusal:
            attempt()
        assert "pnpm-secret" not in refusal.value.message + refusal.value.hint


def test_a_manifest_says_everything_of_a_pin_but_its_text(keeping: Keeping) -> None:
    pin = keeping.pin("Use pnpm.", BRANCH, source_ids=("e1",), source_file="a.md", classification="internal")
    assert report_pin(pin, 40, "pinned for this branch") == {
        "id": "i1",
        "scope": "branch",
        "session": "s1",
        "branch": "3:ab",
        "mutation": "m1",
        "source_ids": ["e1"],
        "source_file": "a.md",
        "supersedes": None,
        "classification": "internal",
        "tokens": 40,
        "reason": "pinned for this branch",
    }
