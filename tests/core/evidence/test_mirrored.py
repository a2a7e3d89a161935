"""Design, section 11: what a client's session file says of pins and memories is for that session, and its project, alone."""

from __future__ import annotations

import pytest

from tests.core.evidence.keeping import change
from ullage.core.evidence.mirrored import own


@pytest.mark.parametrize("session", [None, "s1"])
def test_what_a_session_has_changed_itself_stays_as_it_is(session: str | None) -> None:
    assert own(change(session=session), "s1", "/project") == change(session="s1")


def test_a_fork_has_its_own_of_what_it_begins_with() -> None:
    given = change("m2", op="supersede", item="p2", payload={"text": "Use bun.", "supersedes": "p1"})
    mine = own(given, "s2", None)
    assert (mine.id, mine.item, mine.session, mine.payload["supersedes"]) == ("m2@s2", "p2@s2", "s2", "p1@s2")
    again = own(mine, "s3", None)
    assert (again.id, again.item, again.session, again.payload["supersedes"]) == ("m2@s3", "p2@s3", "s3", "p1@s3")


def test_what_is_for_a_project_is_for_the_one_that_the_session_is_in() -> None:
    for named in (None, "/project"):
        mine = own(change(scope="project", session="s9", project=named), "s1", "/project")
        assert (mine.id, mine.item, mine.session, mine.project) == ("m1", "p1", "s1", "/project")


@pytest.mark.parametrize("session", ["s1", "s9"])
def test_what_is_for_another_project_is_for_the_session_alone(session: str) -> None:
    mine = own(change(scope="project", session=session, project="/elsewhere"), "s1", "/project")
    assert (mine.id, mine.item, mine.scope, mine.session, mine.project) == ("m1@s1", "p1@s1", "session", "s1", None)
