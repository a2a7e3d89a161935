"""Requests for a virtual model over real sockets: where they go, as what, and what is told and recorded of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import aiohttp
import pytest

from tests.gateway.routes import FRONTIER, LIGHT, STRONG, ask, routed, run_routed, sent_model
from ullage.core.wire import DIALECTS, Dialect
from ullage.daemon import Daemon
from ullage.testing import BuiltRequest, FakeProvider, Fault, Rule, make_request, make_tools
from ullage.testing.gateway import run_gateway

EASY = "Rename the variable x in this line to count."
HARD = "Plan and review the architecture of our payment service, then debug the failing production deployment."


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_virtual_model_becomes_a_real_one(
    dialect: Dialect, stream: bool, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request(dialect, model="ullage/auto", turns=(HARD,), tools=make_tools(2), stream=stream)
    async with run_routed(fake, tmp_path) as gateway:
        came = await ask(gateway, client, request, x_ullage_trace="1")
    assert came.status == 200
    target = came.headers["x-ullage-target"]
    assert target in (LIGHT, STRONG, FRONTIER)
    assert f"anthropic/{sent_model(fake)}" == target == came.route["target"]
    assert came.headers["x-ullage-attempts"] == "1"
    assert came.headers["x-ullage-session"] == "s" == came.call.session
    assert came.headers["x-ullage-route"]
    assert f"target={target}" in came.headers["x-ullage-why"]
    assert (came.call.provider, came.call.model) == ("anthropic", sent_model(fake))
    assert came.route["reason"] == "user" and not came.route["kept"]
    assert {one["target"] for one in came.route["ranked"]} == {LIGHT, STRONG, FRONTIER}
    assert "payment" not in json.dumps(came.route)
    assert came.call.usage is not None or (dialect, stream) == ("openai-chat", True)


async def test_all_else_of_the_request_stays_byte_for_byte(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    body = b'{ "model" : "auto",  "messages":[{"role":"user", "content":"Hello \\u00e9."} ],"temperature":0.20,"n":1}'
    async with run_routed(fake, tmp_path, routing={"models": [LIGHT]}) as gateway:
        request = make_request("openai-chat")
        await ask(gateway, client, type(request)(dialect="openai-chat", path=request.path, headers={}, body=body))
    assert fake.requests[0].body.startswith(body.replace(b'"auto"', b'"claude-haiku-4-5"')[:-1])


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_clients_key_goes_to_nobody_else(
    dialect: Dialect, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request(dialect, model="auto")
    async with run_routed(fake, tmp_path) as gateway:
        await ask(gateway, client, request, cookie="secret=1", openai_organization="org")
    received = fake.requests[0]
    assert b"fake-key" not in b"".join(value for _, value in received.headers)
    assert not {b"cookie", b"openai-organization", b"x-ullage-session"} & {name.lower() for name, _ in received.headers}


async def test_the_targets_own_key_goes_along(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "target-key")
    sections = routed(fake.url)
    sections["providers"]["anthropic"]["key"] = "env:FAKE_KEY"
    async with run_gateway(dict.fromkeys(DIALECTS, "http://127.0.0.1:1"), tmp_path / "b", **sections) as gateway:
        await ask(gateway, client, make_request("anthropic", model="auto"))
    assert dict(fake.requests[0].headers).get(b"x-api-key") == b"target-key"


async def test_a_model_of_a_provider_is_not_routed(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    request = make_request("openai-chat", model="fake-large", turns=('Say {"model":"auto"} please, "model":"auto"',))
    async with client.post(gateway.url + request.path, data=request.body, headers=request.headers) as response:
        assert "x-ullage-route" not in response.headers
        assert "x-ullage-target" not in response.headers
    assert fake.requests[0].body == request.body


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_without_anybody_to_choose_it_is_refused_in_the_clients_dialect(
    dialect: Dialect, gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    came = await ask(gateway, client, make_request(dialect, model="ullage/auto"))
    error = json.loads(came.body)["error"]
    assert came.status == 400
    assert error["type"] == "ullage_error" and "scope-empty" in (
        error["code"],
        error.get("details", [{}])[0].get("reason"),
    )
    assert not len(fake.requests)
    assert came.route["stop"]["code"] == "scope-empty"


@pytest.mark.parametrize(
    ("path", "key"),
    [("/v1/models", "data"), ("/v1beta/models", "models")],
)
async def test_lists_of_models_have_the_virtual_ones(
    path: str, key: str, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:

    sections = routed(fake.url, routing={"aliases": {"cheap": {"policy": "cost"}}})
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        async with client.get(gateway.url + path) as response:
            listed = json.loads(await response.read())[key]
    names = [model.get("id") or model["name"].removeprefix("models/") for model in listed]
    assert names[-2:] == ["ullage/auto", "cheap"]
    assert len(names) > 2


@pytest.mark.parametrize("status", [None, 401, 404])
async def test_where_a_provider_lists_nothing_the_virtual_models_are_listed_all_the_same(
    status: int | None, tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    fake.script.add(Rule(route="models", fault=Fault(status=status or 500)))
    usual = fake.url if status is not None else "http://127.0.0.1:1"
    async with run_gateway(dict.fromkeys(DIALECTS, usual), tmp_path, **routed(fake.url)) as gateway:
        async with client.get(gateway.url + "/v1/models", headers={"x-api-key": "wrong"}) as response:
            page = json.loads(await response.read())
    assert (response.status, [model["id"] for model in page["data"]]) == (200, ["ullage/auto"])
    assert page["last_id"] == "ullage/auto"


async def test_a_list_is_left_alone_while_there_is_nobody_to_choose(
    gateway: Daemon, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    async with client.get(gateway.url + "/v1/models") as theirs, client.get(fake.url + "/v1/models") as usual:
        assert await theirs.read() == await usual.read()


async def test_a_compressed_request_is_routed_plain_and_any_other_one_passes_as_it_came(
    tmp_path: Path, fake: FakeProvider, client: aiohttp.ClientSession
) -> None:
    sections = routed(fake.url)
    async with run_gateway(dict.fromkeys(DIALECTS, fake.url), tmp_path, **sections) as gateway:
        for model in ("auto", "fake-large"):
            request = make_request("openai-responses", model=model)
            packed = BuiltRequest(
                dialect="openai-responses",
                path=request.path,
                headers={**request.headers, "content-encoding": "gzip"},
                body=gzip.compress(request.body),
            )
            came = await ask(gateway, client, packed)
            assert came.status == 200
            assert ("x-ullage-target" in came.headers) == (model == "auto")
    chosen, other = fake.requests
    assert json.loads(chosen.body)["model"] in sections["providers"]["anthropic"]["models"]
    assert b"content-encoding" not in {name.lower() for name, _ in chosen.headers}
    assert gzip.decompress(other.body) == request.body
    assert came.call.session == "s" and came.call.model == "fake-large"
