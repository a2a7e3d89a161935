"""What the daemon has of several Pis at once: each has a conversation of its own, also of the same session."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from ullage.pi import sessions
from ullage.pi.asking import PROTOCOL, Update

from .conftest import MODEL, said, user

WINDOW = {"context_window": 4_000, "max_output_tokens": 100, "safety_margin_tokens": 0}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stopReason": "stop"}
AUTO = {"provider": "ullage", "id": "auto", "api": "pi-virtual"}


async def test_two_pis_that_have_one_session_open_are_told_of_their_own_messages(open_door: Any) -> None:
    door = await open_door(mode="managed", models={"overrides": {"*": WINDOW}}, artifacts={"enabled": False})

    async def plan(process: int, number: int) -> Any:
        turns = [[user(f"{process} {turn}"), said(f"Answer. {'word ' * 300}")] for turn in range(20 + number)]
        messages = [*(one for turn in turns for one in turn), user("And now?")]
        keys = [f"{process}-{place}" for place in range(len(messages))]
        return len(messages), await door.context(messages, process=process, keys=keys)

    for number in range(5):
        for length, told in await asyncio.gather(plan(1, number), plan(2, number)):
            assert told["status"] == "managed"
            (run,) = told["messages"]
            assert run[1] == length - 1


async def test_what_one_of_them_asks_ends_no_request_of_the_other(open_door: Any) -> None:
    door = await open_door()
    first = await door.context([user("one")], process=1)
    await door.context([user("one")], process=2)
    assert await door.ask("answer", {"id": first["id"], "message": ANSWER, "status": 200}) == {"recorded": True}


async def test_an_errand_beside_a_request_does_not_end_it(open_door: Any) -> None:
    door = await open_door()
    model = {**MODEL, "max_tokens": 32_000, "input": 5, "output": 25}
    await door.ask("hello", {"protocol": PROTOCOL, "version": "0", "session": "s1", "models": [model]})
    told = await door.context([user("one")], model=AUTO, routed=True)
    assert "route" in await door.context([user("A title, please.")], model=AUTO, routed=True, reason="direct")
    assert await door.ask("answer", {"id": told["id"], "message": ANSWER, "status": 200}) == {"recorded": True}


async def test_half_a_character_in_a_text_is_no_hindrance(open_door: Any) -> None:
    door = await open_door(privacy={"enabled": True})
    cut = "cut here \ud83d"
    told = await door.context([user("one"), said(cut, ("c1", {"text": cut})), user(cut)], prompt=cut)
    assert door.status == 200, told
    payload = {"messages": [{"role": "user", "content": cut}]}
    assert await door.ask("check", {"model": MODEL, "payload": payload}) == {}
    told = await door.ask("clear", {"models": [MODEL], "messages": [user(cut)]})
    assert told == {"messages": [[0, 0]]}


def test_of_conversations_only_so_many_bytes_are_held_and_always_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "HELD_BYTES", 2_500)
    held = sessions.PiSessions()
    message = msgspec.Raw(msgspec.json.encode(user("x" * 1_000)))

    def take(session: str, **more: Any) -> bool:
        return held.take(Update(session=session, **more)) is not None

    def whole(session: str, times: int = 1) -> bool:
        keys = tuple(f"key-{number}" for number in range(times))
        return take(session, keys=keys, messages=(message,) * times, prompt="", tools=())

    assert all(map(whole, ("first", "second", "third")))
    assert [take(name, known=1, last="key-0") for name in ("first", "second", "third")] == [False, True, True]
    assert whole("long", 5)
    assert [take(name, known=1, last="key-0") for name in ("second", "third", "long")] == [False, False, True]
