"""A plan's body told in numbers of Pi's messages: whoever applies the numbers has the body's messages."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ullage.core.wire import Dialect, parse_request, render
from ullage.pi.asking import Update
from ullage.pi.mapping import map_back
from ullage.pi.sessions import SESSIONS, PiSession, PiSessions

from .conftest import said, user

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai-chat")
RAW = msgspec.Raw(msgspec.json.encode(user("a")))
OURS = msgspec.json.encode({"role": "user", "content": "Kept for you."})


def session_of(texts: list[str]) -> PiSession:
    """Prompts and answers in turns; what is the same has the same key."""
    messages = [(user if number % 2 == 0 else said)(text) for number, text in enumerate(texts)]
    session = PiSession()
    session.take(
        Update(
            session="s",
            keys=tuple(f"{message['role']}-{text}" for message, text in zip(messages, texts, strict=True)),
            messages=tuple(msgspec.Raw(msgspec.json.encode(message)) for message in messages),
            prompt="Be brief.",
            tools=(),
        )
    )
    return session


def expand(told: list[Any], session: PiSession, dialect: Dialect) -> list[bytes]:
    sent: list[bytes] = []
    for one in told:
        if isinstance(one, list):
            sent += [session.written(number) for number in range(one[0], one[1] + 1)]
        else:
            assert one == {"text": "Kept for you."}
            sent.append(OURS)
    return sent


@given(
    texts=st.lists(st.sampled_from("abc"), min_size=1, max_size=12),
    dialect=st.sampled_from(DIALECTS),
    data=st.data(),
)
def test_the_numbers_stand_for_the_messages_of_the_body(
    texts: list[str], dialect: Dialect, data: st.DataObject
) -> None:
    session = session_of(texts)
    whole = parse_request(session.body("m", dialect, 10), dialect)
    first = len(whole.messages) - len(texts)  # the prompt, where it is a message
    kept = sorted(data.draw(st.sets(st.integers(first, len(whole.messages) - 1), min_size=1)))
    ours = {place: [OURS] for place in data.draw(st.sets(st.sampled_from(kept)))}
    body = render(whole, messages=[*range(first), *kept], inserted=ours)
    sent = [piece.raw for piece in parse_request(body, dialect).messages[first:]]
    assert expand(map_back(body, dialect, session), session, dialect) == sent


def test_messages_that_moved_are_found_wherever_they_stand() -> None:
    session = session_of(["a", "b", "c", "d"])
    whole = parse_request(session.body("m", "anthropic", 10), "anthropic")
    body = render(whole, messages=[0, 3], inserted={3: [whole.messages[1].raw]})
    assert map_back(body, "anthropic", session) == [[0, 1], [3, 3]]
    swapped = render(whole, messages=[0], inserted={0: [whole.messages[3].raw]})
    assert map_back(swapped, "anthropic", session) == [[3, 3], [0, 0]]


def test_a_changed_message_is_told_by_its_number_and_what_is_new_in_it() -> None:
    session = session_of(["a", "b", "c"])
    whole = parse_request(session.body("m", "anthropic", 10), "anthropic")
    raw = whole.messages[1].raw
    body = render(whole, messages=[1, 2], replaced={1: raw.replace(b'"text":"b"', b'"text":"x"')})
    assert map_back(body, "anthropic", session) == [{"of": 1, "content": [{"type": "text", "text": "x"}]}, [2, 2]]
    assert map_back(body, "anthropic", session, own_answers=True) == [[1, 2]]


def test_what_was_sent_is_held_of_the_newest_conversations_alone() -> None:
    sessions = PiSessions()
    for number in range(SESSIONS + 2):
        update = Update(session=f"s{number}", keys=("a",), messages=(RAW,), prompt="", tools=())
        session = sessions.take(update)
        assert session is not None
        map_back(session.body("m", "anthropic", 10), "anthropic", session)
    held = [session for session in sessions._known.values() if session.sent is not None]
    assert len(sessions._known) == SESSIONS and len(held) == 8
