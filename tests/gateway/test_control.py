"""The control routes tell what the store knows, and only to those who hold the token and come by no web page."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.raw_http import connect
from ullage.daemon import Daemon
from ullage.testing import FakeProvider, Fault, Rule
from ullage.testing.gateway import run_gateway

CHAT = "/v1/chat/completions"
ROUTES = ["sessions", "manifests", "context", "events", "metrics", "pins", "memory"]


def bearer(gateway: Daemon) -> dict[str, str]:
    return {"authorization": f"Bearer {gateway.token_file.read_text()}"}


async def look(client: aiohttp.ClientSession, gateway: Daemon, route: str) -> tuple[int, Any]:
    async with client.get(f"{gateway.url}/ullage/v1/{route}", headers=bearer(gateway)) as response:
        return response.status, await response.json()


async def chat(client: aiohttp.ClientSession, gateway: Daemon, *texts: str, **more: Any) -> str:
    """Sends a conversation of these texts; the id of the record."""
    messages = [
        {"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts or ("hi",))
    ]
    headers = {"x-ullage-session": "mine"}
    async with client.post(
        gateway.url + CHAT, json={"model": "m", "messages": messages, **more}, headers=headers
    ) as response:
        await response.read()
    assert await asyncio.to_thread(gateway.engine.flush)
    return response.headers["x-ullage-request"]


# --- who may ask ---


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Bearer é",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer\t{token}",
    ],
)
@pytest.mark.parametrize("route", ["sessions", "unknown"])
async def test_without_the_token_nothing_is_told(
    authorization: str | None, route: str, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    headers = {}
    if authorization is not None:
        headers["authorization"] = authorization.format(token=gateway.token_file.read_text())
    async with client.get(f"{gateway.url}/ullage/v1/{route}", headers=headers) as response:
        body = await response.json()
    assert response.status == 401
    assert body["error"]["type"] == "ullage_error"
    assert body["error"]["code"] == "unauthorized"
    assert "`ullage doctor` says where it is" in body["error"]["hint"]


async def ask_as(gateway: Daemon, *lines: str) -> int:
    """The status that a request with these header lines and the right token gets."""
    token = f"authorization: {bearer(gateway)['authorization']}"
    async with connect(gateway) as connection:
        connection.send("\r\n".join(["GET /ullage/v1/sessions HTTP/1.1", token, *lines, "", ""]).encode())
        return (await connection.answer()).status


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8484", "127.1.2.3", "localhost:1", "LOCALHOST", "[::1]:8484"])
async def test_a_loopback_host_is_let_in(host: str, gateway: Daemon) -> None:
    assert await ask_as(gateway, f"host: {host}") == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.1@evil.example", "0.0.0.0", ""],
)
async def test_another_host_is_refused_even_with_the_token(host: str, gateway: Daemon) -> None:
    """A web page that rebinds its name to 127.0.0.1."""
    assert await ask_as(gateway, f"host: {host}") == 401


async def test_a_request_without_host_is_refused(gateway: Daemon) -> None:
    assert await ask_as(gateway) == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:8484"])
async def test_a_web_page_is_refused_even_with_the_token(origin: str, gateway: Daemon) -> None:
    assert await ask_as(gateway, "host: 127.0.0.1", f"origin: {origin}") == 401


async def test_the_token_of_the_control_routes_never_reaches_a_provider(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    for route in (*ROUTES, "unknown"):
        await look(client, gateway, route)
    assert not fake.requests


# --- what is told ---


@pytest.mark.parametrize("route", ["", "unknown", "sessions/../../etc", "tokens", "v1/sessions"])
async def test_an_unknown_route_is_a_404_that_names_the_known_ones(
    route: str, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    status, body = await look(client, gateway, route)
    assert status == 404
    assert all(known in body["error"]["hint"] for known in ROUTES)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_most_control_routes_are_for_reading(method: str, gateway: Daemon, client: aiohttp.ClientSession) -> None:
    url = f"{gateway.url}/ullage/v1/sessions"
    async with client.request(method, url, headers=bearer(gateway), data=b"x" * 100_000) as response:
        assert response.status == 404


async def test_an_idle_daemon_has_empty_lists_and_no_context(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    assert await look(client, gateway, "sessions") == (200, {"sessions": []})
    assert await look(client, gateway, "manifests") == (200, {"manifests": []})
    assert await look(client, gateway, "events") == (200, {"events": []})
    status, body = await look(client, gateway, "context")
    assert (status, body["error"]["type"]) == (404, "ullage_error")


async def test_sessions_calls_and_events_are_told_in_their_shapes(
    gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    first = await chat(client, gateway, "one")
    second = await chat(client, gateway, "another")
    _, sessions = await look(client, gateway, "sessions")
    (session,) = sessions["sessions"]
    assert (session["id"], session["calls"], session["identity"]) == ("mine", 2, "header")
    assert session["started_at"].endswith("Z") and session["last_at"] >= session["started_at"]
    _, manifests = await look(client, gateway, "manifests?session=mine")
    assert [manifest["id"] for manifest in manifests["manifests"]] == [second, first]
    manifest = manifests["manifests"][0]
    assert (manifest["status"], manifest["mode"], manifest["outcome"]) == ("unchanged", "observe", "ok")
    assert manifest["usage"]["output"] > 0
    assert await look(client, gateway, f"manifests?id={first}") == (200, manifests["manifests"][1])
    _, events = await look(client, gateway, "events?session=mine")
    assert [event["kind"] for event in events["events"]] == ["rewrite"]


async def test_the_context_is_that_of_the_newest_conversation(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    newest = await chat(client, gateway, "some words", "an answer", "more words")
    for query in ("", "?session=mine"):
        status, context = await look(client, gateway, f"context{query}")
        assert (status, context["source"], context["session"]) == (200, f"call:{newest}", "mine")
        assert sum(row["tokens"] for row in context["sections"]) + context["gap"] == context["total"]
    assert (await look(client, gateway, "context?session=other"))[0] == 404


@pytest.mark.parametrize(("limit", "number"), [("2", 2), ("0", 0), ("junk", 5), ("-1", 5), ("99999999999999999999", 5)])
async def test_lists_are_as_long_as_was_asked_for(
    limit: str, number: int, gateway: Daemon, client: aiohttp.ClientSession
) -> None:
    for count in range(5):
        await chat(client, gateway, str(count))
    _, body = await look(client, gateway, f"manifests?limit={limit}")
    assert len(body["manifests"]) == number


@pytest.mark.parametrize(
    "query", ["id=unknown", "id=%00", "id=" + "x" * 5000, "session=%ff%fe", "session=unknown&limit=1"]
)
async def test_odd_questions_have_plain_answers(query: str, tmp_path: Path, client: aiohttp.ClientSession) -> None:
    for store in ("memory", "sqlite"):
        async with run_gateway({}, tmp_path, store=store) as gateway:
            status, body = await look(client, gateway, f"manifests?{query}")
            assert (status, body.get("manifests", [])) in ((404, []), (200, []))


async def test_metrics_are_those_of_the_command(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    await chat(client, gateway, "some words")
    status, told = await look(client, gateway, "metrics?since=1h&by=session")
    assert (status, told["by"]) == (200, "session")
    assert [row["session"] for row in told["sessions"]] == ["mine"]
    (target,) = told["targets"]
    assert target["target"] == f"{told['providers'][0]['provider']}/m"
    assert (target["attempts"], target["successes"], target["statuses"]) == (1, 1, {"200": 1})
    assert target["latency_ms"]["p50"] > 0
    assert (await look(client, gateway, "metrics"))[1]["targets"] == told["targets"]
    for wrong, code in (("by=nothing", "bad_by"), ("since=yesterday", "bad_since")):
        status, refused = await look(client, gateway, f"metrics?{wrong}")
        assert (status, refused["error"]["code"]) == (400, code)


async def test_head_gives_the_head_alone(gateway: Daemon, client: aiohttp.ClientSession) -> None:
    async with client.head(f"{gateway.url}/ullage/v1/sessions", headers=bearer(gateway)) as response:
        assert response.status == 200
        assert int(response.headers["content-length"]) > 0
        assert await response.read() == b""


async def test_a_slow_database_holds_up_who_asks_about_it_and_no_relay(
    gateway: Daemon, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another process has it locked: SQLite then waits for five seconds (BerriAI/litellm#9491)."""
    asked, answered = threading.Event(), threading.Event()

    def slowly(**_: Any) -> list[Any]:
        asked.set()
        return [] if answered.wait(30) else ["a relay waited for this"]

    monkeypatch.setattr(gateway.store, "sessions", slowly)
    asking = asyncio.create_task(look(client, gateway, "sessions"))
    assert await asyncio.to_thread(asked.wait, 30)
    async with client.post(gateway.url + CHAT, json={"model": "m", "messages": []}) as response:
        await response.read()
    answered.set()
    assert await asking == (200, {"sessions": []})


async def test_a_request_that_failed_has_a_manifest_too(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(fault=Fault(hang_up=True)))
    failed = await chat(client, gateway)
    _, manifest = await look(client, gateway, f"manifests?id={failed}")
    assert (manifest["outcome"], manifest["http_status"], manifest["warnings"]) == ("error", None, ["upstream_closed"])
