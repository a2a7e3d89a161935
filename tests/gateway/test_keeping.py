"""The control routes `pins` and `memory`: changes by those who hold the token, and nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from tests.gateway.test_control import CHAT, bearer, chat, look
from ullage.core.evidence.changes import Owner
from ullage.core.evidence.mutations import Kept
from ullage.core.evidence.pins import NewPin, PinLimits, add_pin
from ullage.core.evidence.scopes import lies_on
from ullage.daemon import Daemon
from ullage.stores import open_store
from ullage.stores.keeping import make_stamp, write_change
from ullage.testing import FakeProvider
from ullage.testing.gateway import run_gateway

PIN = {"action": "add", "text": "Use pnpm.", "session": "s1"}
CLAIM = {"action": "add", "text": "Build Runner = vitest", "project": "/code/a"}


async def post(client: aiohttp.ClientSession, gateway: Daemon, route: str, change: Any) -> tuple[int, Any]:
    body = change if isinstance(change, bytes) else msgspec.json.encode(change)
    url = f"{gateway.url}/ullage/v1/{route}"
    async with client.post(url, headers=bearer(gateway), data=body) as response:
        return response.status, await response.json()


async def pin(client: aiohttp.ClientSession, gateway: Daemon, **fields: Any) -> dict[str, Any]:
    status, told = await post(client, gateway, "pins", PIN | fields)
    assert status == 200, told
    found: dict[str, Any] = told["pin"]
    return found


# --- pins ---


async def test_a_pin_is_added_and_listed(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    status, told = await post(client, gateway, "pins", PIN | {"classification": "internal", "source_ids": ["e1"]})
    assert (status, told["written"]) == (200, True)
    assert (told["pin"]["text"], told["pin"]["scope"], told["pin"]["session"]) == ("Use pnpm.", "session", "s1")
    assert (told["pin"]["classification"], told["pin"]["source_ids"]) == ("internal", ["e1"])
    assert await look(client, gateway, "pins") == (200, {"pins": [told["pin"]]})
    assert (await post(client, gateway, "pins", PIN | {"text": "use PNPM."}))[1] == {
        "pin": told["pin"],
        "written": False,
    }


async def test_a_pin_is_superseded_and_taken_back(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    old = await pin(client, gateway, classification="sensitive")
    new = (await post(client, gateway, "pins", {"action": "supersede", "id": old["id"], "text": "Use bun."}))[1]["pin"]
    assert (new["session"], new["classification"], new["supersedes"]) == ("s1", "sensitive", old["id"])
    status, told = await post(client, gateway, "pins", {"action": "unpin", "id": new["id"], "reason": "done"})
    assert (status, told["pin"]["state"], told["pin"]["reason"]) == (200, "deleted", "done")
    assert await look(client, gateway, "pins") == (200, {"pins": []})
    _, everything = await look(client, gateway, "pins?all=1")
    # Both may be of one millisecond, in which the order is that of their ids.
    assert {one["id"]: one["state"] for one in everything["pins"]} == {old["id"]: "superseded", new["id"]: "deleted"}


async def test_lists_are_those_of_one_session_or_project(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    for fields in ({"session": "s1"}, {"session": "s2"}, {"session": None, "project": "/code/a"}):
        await pin(client, gateway, **fields)
    for query, number in (
        ("", 3),
        ("?session=s2", 1),
        ("?project=/code/a", 1),
        ("?project=/code", 0),
        ("?session=s", 0),
    ):
        assert len((await look(client, gateway, f"pins{query}"))[1]["pins"]) == number


async def test_a_branch_is_that_of_the_session_s_newest_request(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    await chat(client, gateway, "one", "two", "three")
    branch = (await pin(client, gateway, scope="branch", session="mine"))["branch"]
    assert branch.startswith("2:")
    hashes = (0, 1, int(branch.partition(":")[2], 16))
    assert lies_on(branch, (*hashes, 4))
    assert not lies_on(branch, hashes[:2])


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (b"", 400, "bad_body"),
        (b"[1]", 400, "bad_body"),
        (b'{"action": "add"}', 400, "bad_body"),
        (b'{"action": "transmute", "text": "x"}', 400, "bad_body"),
        (b'{"text": "x", "session": "s1"}', 400, "bad_body"),
        (PIN | {"session": 7}, 400, "bad_body"),
        (PIN | {"scope": "planet"}, 400, "bad_body"),
        (PIN | {"colour": "red"}, 400, "bad_body"),
        (b'{"action": "add", "text": "\xff", "session": "s1"}', 400, "bad_body"),
        (PIN | {"text": " "}, 400, "empty_text"),
        (PIN | {"text": "x" * 4_001}, 400, "too_long"),
        (PIN | {"text": "[ullage pin] x"}, 400, "replayed_text"),
        (PIN | {"classification": "secret"}, 400, "bad_class"),
        (PIN | {"session": None}, 400, "bad_scope"),
        (PIN | {"scope": "branch", "session": None}, 400, "bad_scope"),
        (PIN | {"scope": "branch"}, 404, "no_branch"),
        (PIN | {"project": "code/a"}, 400, "bad_scope"),
        (PIN | {"project": "/code\0"}, 400, "bad_scope"),
        ({"action": "unpin", "id": "nothing"}, 404, "not_found"),
        ({"action": "supersede", "id": "nothing", "text": "x"}, 404, "not_found"),
        (b" " * 300_000, 413, "body_too_large"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_cannot_be_pinned_is_refused_and_leaves_nothing(
    change: Any, status: int, code: str, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    told = await post(client, gateway, "pins", change)
    assert (told[0], told[1]["error"]["type"], told[1]["error"]["code"]) == (status, "ullage_error", code)
    assert await look(client, gateway, "pins?all=1") == (200, {"pins": []})


async def test_what_has_ended_or_is_too_much_is_a_conflict(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    async with run_gateway({}, tmp_path, planning={"max_pinned_tokens": 100}) as gateway:
        kept = await pin(client, gateway)
        refused = [
            await post(client, gateway, "pins", PIN | {"text": "Use bun."}),
            await post(client, gateway, "pins", {"action": "unpin", "id": kept["id"]}),
            await post(client, gateway, "pins", {"action": "unpin", "id": kept["id"]}),
        ]
    assert [(status, told.get("error", {}).get("code")) for status, told in refused] == [
        (409, "pins_over_limit"),
        (200, None),
        (409, "not_active"),
    ]


# --- memory ---


async def test_a_claim_is_remembered_found_and_ended(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    status, told = await post(client, gateway, "memory", CLAIM)
    memory = told["memory"]
    assert (status, memory["key"], memory["scope"], memory["project"]) == (200, "build-runner", "project", "/code/a")
    assert await look(client, gateway, "memory") == (200, {"memory": [memory]})
    _, found = await look(client, gateway, "memory?query=which+build-runner")
    assert [(one["id"], one["score"], one["match"]) for one in found["memory"]] == [(memory["id"], 91.0, "key, 1 term")]
    change = {"action": "supersede", "id": memory["id"], "text": "We use jest"}
    new = (await post(client, gateway, "memory", change))[1]["memory"]
    assert (new["project"], new["key"]) == ("/code/a", "build-runner")
    expired = (await post(client, gateway, "memory", {"action": "expire", "id": new["id"], "reason": "gone"}))[1]
    assert (expired["memory"]["state"], expired["memory"]["reason"]) == ("expired", "gone")
    again = (await post(client, gateway, "memory", CLAIM | {"key": "runner"}))[1]["memory"]
    assert again["key"] == "runner"
    invalid = (await post(client, gateway, "memory", {"action": "invalidate", "id": again["id"]}))[1]
    assert invalid["memory"]["state"] == "invalid"
    assert await look(client, gateway, "memory?query=") == (200, {"memory": []})


async def test_a_claim_that_contradicts_another_is_a_conflict(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    held = (await post(client, gateway, "memory", CLAIM))[1]["memory"]
    status, told = await post(client, gateway, "memory", CLAIM | {"text": "build runner: jest"})
    assert (status, told["error"]["code"]) == (409, "conflict")
    assert held["id"] in told["error"]["message"]
    assert '"supersede"' in told["error"]["hint"] and "--" not in told["error"]["hint"]


# --- who may ask, and who sees it ---


@pytest.mark.parametrize("route", ["pins", "memory"])
async def test_without_the_token_nothing_is_changed(route: str, gateway: Daemon, client: aiohttp.ClientSession) -> None:
    url = f"{gateway.url}/ullage/v1/{route}"
    async with client.post(url, data=msgspec.json.encode(PIN)) as response:
        assert response.status == 401
    async with client.post(
        url, headers={**bearer(gateway), "origin": "http://127.0.0.1"}, data=msgspec.json.encode(PIN)
    ) as response:
        assert response.status == 401
    assert (await look(client, gateway, f"{route}?all=1"))[1] == {route: []}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_change_nothing(method: str, gateway: Daemon, client: aiohttp.ClientSession) -> None:
    url = f"{gateway.url}/ullage/v1/pins"
    async with client.request(method, url, headers=bearer(gateway), data=msgspec.json.encode(PIN)) as response:
        assert response.status == 404
    assert await look(client, gateway, "pins") == (200, {"pins": []})


async def test_what_another_process_writes_is_seen_at_once(client: aiohttp.ClientSession, tmp_path: Path) -> None:
    """As `ullage pin` does while the daemon runs."""
    change = add_pin(
        Kept(),
        NewPin(text="Use pnpm.", owner=Owner(scope="session", session="s1")),
        make_stamp("pin", 1),
        limits=PinLimits(),
        count=len,
    )

    def write() -> None:
        store = open_store("sqlite", tmp_path, lambda: 0)
        write_change(store, change)
        store.close()

    async with run_gateway({}, tmp_path, store="sqlite") as gateway:
        assert await look(client, gateway, "pins") == (200, {"pins": []})
        await asyncio.to_thread(write)
        _, told = await look(client, gateway, "pins")
        assert [one["id"] for one in told["pins"]] == [change.item.id]
        assert (await pin(client, gateway))["id"] == change.item.id


async def test_in_observe_mode_no_pin_reaches_the_provider(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    await pin(client, gateway, session="mine", text="pnpm-in-a-pin")
    await chat(client, gateway, "hello")
    assert [request.path for request in fake.requests] == [CHAT]
    assert b"pnpm-in-a-pin" not in fake.requests[0].body


async def test_no_record_of_a_call_holds_the_text_of_a_pin(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    await pin(client, gateway, session="mine", text="pnpm-in-a-pin")
    await post(client, gateway, "memory", CLAIM | {"text": "vitest-in-a-claim", "session": "mine", "project": None})
    await chat(client, gateway, "hello")
    for route in ("manifests", "sessions", "events"):
        told = msgspec.json.encode((await look(client, gateway, route))[1])
        assert b"pnpm-in-a-pin" not in told
        assert b"vitest-in-a-claim" not in told
