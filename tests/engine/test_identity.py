"""Which session a request belongs to, told by its messages alone; the traps of real clients."""

from __future__ import annotations

import pytest

from ullage.core.evidence.scopes import name_branch, name_place
from ullage.engine.identity import Genealogy, Origin, tip_of


@pytest.fixture
def genealogy() -> Genealogy:
    return Genealogy()


def test_a_request_that_extends_a_known_one_belongs_to_its_session(genealogy: Genealogy) -> None:
    first = genealogy.place_unnamed((1, 2), "a")
    second = genealogy.place_unnamed((1, 2, 3, 4), "b")
    assert (first.session, first.relation) == ("a", "new")
    assert (second.session, second.relation, second.shared) == ("a", "extends", 2)


def test_the_same_request_again_is_a_repeat(genealogy: Genealogy) -> None:
    genealogy.place_unnamed((1, 2), "a")
    again = genealogy.place_unnamed((1, 2), "b")
    assert (again.session, again.relation) == ("a", "repeats")


def test_a_shared_answer_with_another_continuation_is_a_branch(genealogy: Genealogy) -> None:
    genealogy.place_unnamed((1,), "a")
    genealogy.place_unnamed((1, 2, 3), "b")
    genealogy.place_unnamed((1, 2, 3, 4, 5), "c")
    branch = genealogy.place_unnamed((1, 2, 3, 9, 9), "d")
    assert (branch.session, branch.relation, branch.parent, branch.shared) == ("d", "branch", "a", 3)


def test_going_back_within_a_session_is_a_branch_of_it(genealogy: Genealogy) -> None:
    genealogy.place_named("a", (1,))
    genealogy.place_named("a", (1, 2, 3, 4, 5))
    back = genealogy.place_named("a", (1, 2, 3, 8))
    assert (back.session, back.relation, back.shared, back.before) == ("a", "branch", 3, 5)


def test_an_edited_middle_is_a_rewrite(genealogy: Genealogy) -> None:
    genealogy.place_named("a", (1, 2, 3, 4))
    edited = genealogy.place_named("a", (1, 9, 3, 4, 5))
    assert (edited.session, edited.relation, edited.shared) == ("a", "rewrite", 1)


def test_a_summary_in_place_of_everything_is_a_rewrite(genealogy: Genealogy) -> None:
    genealogy.place_named("a", (1, 2, 3, 4, 5, 6))
    compacted = genealogy.place_named("a", (7, 8))
    assert (compacted.relation, compacted.shared, compacted.before) == ("rewrite", 0, 6)


def test_two_chats_that_begin_with_the_same_examples_stay_apart(genealogy: Genealogy) -> None:
    """Aider's first messages are constant, and so may be its listing of the same files."""
    constant, listing = (1, 2, 3, 4, 5, 6), (50, 51)
    genealogy.place_unnamed((*constant, *listing, 60), "a")
    other = genealogy.place_unnamed((*constant, *listing, 70), "b")
    assert (other.session, other.relation) == ("b", "new")


def test_turns_inserted_before_the_file_listing_stay_in_their_chat(genealogy: Genealogy) -> None:
    """Aider puts the old turn before the listing and rewrites what follows: 6 of 9 messages match."""
    constant, listing = (1, 2, 3, 4, 5, 6), (50, 51)
    genealogy.place_unnamed((*constant, *listing, 60), "a")
    later = genealogy.place_unnamed((*constant, 61, 62, *listing, 63), "b")
    assert (later.session, later.relation, later.shared) == ("a", "rewrite", 6)


def test_an_empty_request_is_a_session_of_its_own(genealogy: Genealogy) -> None:
    assert genealogy.place_unnamed((), "a").relation == "new"
    assert genealogy.place_unnamed((), "b").session == "b"


def test_old_sessions_are_forgotten_when_there_are_too_many() -> None:
    genealogy = Genealogy(sessions=2)
    for number in range(1, 4):
        genealogy.place_unnamed((number,), f"s{number}")
    assert genealogy.place_unnamed((1, 2), "again").session == "again"
    assert genealogy.place_unnamed((3, 4), "later").session == "s3"


def test_a_session_goes_on_after_a_restart(genealogy: Genealogy) -> None:
    tip = tip_of((1, 2, 3))
    assert tip is not None
    genealogy.recall("old", tip)
    other = genealogy.place_unnamed((1, 9, 9, 9), "a")
    same = genealogy.place_unnamed((1, 2, 3, 4), "b")
    assert (other.session, other.relation) == ("a", "new")
    assert (same.session, same.relation, same.shared) == ("old", "extends", 3)


def test_a_tip_names_the_branch_that_a_pin_is_for() -> None:
    tip = tip_of((1, 2, 3))
    assert tip is not None
    assert name_place(tip.depth - 1, tip.last) == name_branch((1, 2, 3))


def test_an_empty_message_list_has_no_tip() -> None:
    assert tip_of(()) is None


def test_the_same_words_under_another_system_prompt_are_another_conversation(genealogy: Genealogy) -> None:
    genealogy.place_unnamed((1,), "a", Origin("anthropic/unknown", 10))
    other = genealogy.place_unnamed((1,), "b", Origin("anthropic/unknown", 20))
    assert (other.session, other.relation) == ("b", "new")


def test_the_same_words_of_another_client_or_dialect_are_another_conversation(genealogy: Genealogy) -> None:
    genealogy.place_unnamed((1, 2), "a", Origin("anthropic/aider", 10))
    other = genealogy.place_unnamed((1, 2, 3), "b", Origin("openai-chat/aider", 10))
    assert other.session == "b"


def test_a_system_prompt_that_changes_on_the_way_keeps_the_session(genealogy: Genealogy) -> None:
    """A date in it moves on, or a resumed client writes it anew; an answer of the session is shared."""
    genealogy.place_unnamed((1,), "a", Origin("gemini/gemini-cli", 10))
    genealogy.place_unnamed((1, 2, 3), "b", Origin("gemini/gemini-cli", 10))
    later = genealogy.place_unnamed((1, 2, 3, 4), "c", Origin("gemini/gemini-cli", 20))
    assert (later.session, later.relation) == ("a", "extends")


def test_a_thousand_conversations_that_begin_alike_are_told_apart_by_the_newest(genealogy: Genealogy) -> None:
    for number in range(1000):
        assert genealogy.place_unnamed((1, number + 10), f"s{number}").relation == "new"
    assert genealogy.place_unnamed((1, 1009, 5), "later").session == "s999"
