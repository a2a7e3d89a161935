"""The door of Pi over real HTTP: what the extension says is accounted for, planned and checked like any client's request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage._version import __version__
from ullage.core.evidence.mutations import replay
from ullage.pi.asking import PROTOCOL
from ullage.stores import RouteOverride

from .conftest import CHAT, MODEL, result, said, user

DATA = Path(__file__).with_name("data")
ANSWER = {
    "role": "assistant",
    "content": [{"type": "text", "text": "Done."}],
    "model": "claude-opus-5",
    "stopReason": "stop",
    "usage": {"input": 100, "output": 7, "cacheRead": 40, "cacheWrite": 20, "cacheWrite1h": 5, "reasoning": 3},
}


@pytest.mark.parametrize("file", sorted(DATA.glob("*.jsonl")), ids=lambda file: file.stem)
async def test_a_recorded_conversation_of_a_real_pi_becomes_one_session_with_its_usage(
    open_door: Any, file: Path
) -> None:
    door = await open_door()
    ids: dict[str, str] = {}
    for line in map(json.loads, file.read_text().splitlines()):
        heard = line["said"]
        if line["route"] == "answer":
            heard["id"] = ids[heard["id"]]
        told = await door.ask(line["route"], heard)
        assert door.status == 200, told
        if line["id"] is not None:
            ids[line["id"]] = told["id"]
    door.daemon.engine.flush()
    (session,) = door.daemon.store.sessions()
    newest, second, first = door.daemon.store.calls()
    assert (session.client, session.client_version, session.project) == ("pi", file.stem, "/project")
    assert [one.tool_calls for one in (first, second, newest)] == [("bash",), (), ()]
    assert newest.usage is not None and newest.usage["input_fresh"] > 0
    assert newest.sample is not None and newest.sample.get("accepted") is True
    assert newest.model == "openai-model"


async def test_the_extension_is_told_what_holds(open_door: Any) -> None:
    door = await open_door(mode="managed", privacy={"enabled": True})
    told = await door.ask("hello", {"protocol": PROTOCOL, "version": "0", "session": "s1", "models": [MODEL]})
    assert (told["version"], told["protocol"]) == (__version__, PROTOCOL)
    assert (told["mode"], told["privacy"]) == ("managed", True)


async def test_only_what_is_new_needs_to_be_said(open_door: Any) -> None:
    door = await open_door()
    await door.context([user("one")])
    more = {"session": "s1", "model": MODEL, "known": 1, "last": "key-0", "keys": ["a", "b"]}
    told = await door.ask("context", {**more, "messages": [said("yes"), user("two")]})
    times = {"first_ms": 4_000.0, "lasted_ms": 9_000.0}
    await door.ask("answer", {"id": told["id"], "message": ANSWER, "status": 200, **times})
    door.daemon.engine.flush()
    call = next(one for one in door.daemon.store.calls() if one.id == told["id"])
    assert (call.first_output_ms, call.duration_ms) == (4_000, 9_000)  # as Pi has seen it, who tells us beside
    assert call.breakdown is not None
    rows = next(one for one in call.breakdown["sections"] if one["id"] == "messages")
    assert call.usage is not None and call.usage["cache_write_1h"] == 5 and call.usage["reasoning"] == 3
    assert rows["tokens"] > 0 and call.prefix_messages == 1


@pytest.mark.parametrize(
    ("kept_to", "by_hand", "window"), [(60_000, {}, 60_000), (60_000, {"context_window": 90_000}, 90_000)]
)
async def test_a_window_that_pi_s_user_has_set_holds_though_a_wider_one_is_published(
    open_door: Any, kept_to: int, by_hand: dict[str, int], window: int
) -> None:
    overrides = {"anthropic/claude-opus-5": by_hand} if by_hand else {}
    door = await open_door(mode="managed", models={"overrides": overrides})
    published = {"protocol": PROTOCOL, "version": "0", "session": "s1", "models": [MODEL]}
    await door.ask("hello", published)
    told = await door.context([user("one")], model={**MODEL, "context_window": kept_to})
    await door.ask("answer", {"id": told["id"], "message": ANSWER, "status": 200})
    door.daemon.engine.flush()
    (call,) = door.daemon.store.calls()
    assert call.awareness is not None
    profile = call.awareness["profile"]
    assert (profile["context_window"], call.awareness["budget"]["context_window"]) == (window, window)
    assert profile["sources"]["context_window"]["source"] == ("override" if by_hand else "client")


@pytest.mark.parametrize(
    "update", [{"known": 5, "last": "key-4"}, {"known": 1, "last": "another"}, {"known": 0, "session": "unknown"}]
)
async def test_what_goes_on_from_something_unknown_has_to_be_said_whole(open_door: Any, update: dict[str, Any]) -> None:
    door = await open_door()
    await door.context([user("one")])
    told = await door.ask(
        "context", {"session": "s1", "model": MODEL, "keys": ["k"], "messages": [user("two")], **update}
    )
    assert told == {"resync": True}


@pytest.mark.parametrize("model", [MODEL, CHAT], ids=["anthropic", "chat"])
async def test_a_plan_is_told_in_numbers_of_pis_messages(open_door: Any, model: dict[str, Any]) -> None:
    window = {"context_window": 4_000, "max_output_tokens": 100, "safety_margin_tokens": 0}
    door = await open_door(mode="managed", models={"overrides": {"*": window}}, artifacts={"enabled": False})
    old = [user("Read it."), said("I will.", ("c1", {"path": "a"})), result("c1", "word " * 4_000), said("Read.")]
    told = await door.context([*old, user("Now what?")], model=model)
    # The exchange of the tool leaves, what is around it stays.
    assert (told["status"], told["messages"]) == ("managed", [[0, 0], [3, 4]])


async def test_where_nothing_is_left_out_pi_sends_its_own(open_door: Any) -> None:
    door = await open_door(mode="managed", models={"overrides": {"*": {"context_window": 100_000}}})
    told = await door.context([user("one")])
    assert told["status"] == "unchanged" and "messages" not in told


async def test_a_pin_is_told_as_a_text_of_ours(open_door: Any) -> None:
    door = await open_door(mode="managed", models={"overrides": {"*": {"context_window": 100_000}}})
    headers = {"authorization": f"Bearer {door.daemon.token_file.read_text().strip()}"}
    pin = {"action": "add", "text": "Never push.", "session": "s1"}
    async with door._client.post(f"{door.daemon.url}/ullage/v1/pins", json=pin, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
    told = await door.context([user("one"), said("yes"), user("two")])
    texts = [one["text"] for one in told["messages"] if isinstance(one, dict)]
    assert len(texts) == 1 and "Never push." in texts[0]


@pytest.mark.parametrize("model", [MODEL, CHAT], ids=["anthropic", "chat"])
async def test_with_privacy_on_marked_text_stays_here(open_door: Any, model: dict[str, Any]) -> None:
    door = await open_door(privacy={"enabled": True})
    marked = "[ullage:local-only]MARK-SECRET[/ullage:local-only]"
    call = said("Look.", ("c1", {"path": f"/{marked}"}))
    told = await door.context([user("plain"), user(f"a {marked} b"), call, result("c1", f"x {marked}")], model=model)
    assert "MARK-SECRET" not in json.dumps(told)
    kept, changed, called, answered = told["messages"]
    assert kept == [0, 0]
    assert changed["content"] == [{"type": "text", "text": "a [local-only text withheld by ullage] b"}]
    assert called["content"][0] == 0 and called["content"][1]["arguments"] == {
        "path": "/[local-only text withheld by ullage]"
    }
    assert answered["content"] == [{"type": "text", "text": "x [local-only text withheld by ullage]"}]


async def test_a_local_model_sees_what_is_marked(open_door: Any) -> None:
    door = await open_door(privacy={"enabled": True, "local_providers": ["anthropic"]})
    told = await door.context([user("a [ullage:local-only]MARK-SECRET[/ullage:local-only]")])
    assert told["messages"] == [{"of": 0, "content": [{"type": "text", "text": "a MARK-SECRET"}]}]


@pytest.mark.parametrize(
    ("model", "payload"),
    [
        (MODEL, {"model": "m", "system": "s {}", "messages": [{"role": "user", "content": "x"}]}),
        (CHAT, {"model": "m", "messages": [{"role": "system", "content": "s {}"}]}),
        ({**CHAT, "api": "openai-responses"}, {"model": "m", "instructions": "s {}", "input": []}),
        (
            {**CHAT, "provider": "google", "api": "google-generative-ai"},
            {
                "model": "m",
                "contents": [{"role": "user", "parts": [{"text": "x {}"}]}],
                "config": {"systemInstruction": "s {}", "tools": [{"functionDeclarations": [{"description": "d {}"}]}]},
            },
        ),
    ],
    ids=["anthropic", "chat", "responses", "google"],
)
async def test_the_last_look_is_at_the_body_that_leaves(
    open_door: Any, model: dict[str, Any], payload: dict[str, Any]
) -> None:
    door = await open_door(privacy={"enabled": True})
    text = json.dumps(payload)
    marked = json.loads(text.replace("{}", "[ullage:local-only]MARK-SECRET[/ullage:local-only]"))
    told = await door.ask("check", {"model": model, "payload": marked})
    withheld = json.loads(text.replace("{}", "[local-only text withheld by ullage]"))
    assert told == {"payload": withheld}
    assert await door.ask("check", {"model": model, "payload": withheld}) == {}


async def test_a_body_in_another_form_leaves_whole_or_not_at_all(open_door: Any) -> None:
    door = await open_door(privacy={"enabled": True})
    model = {**MODEL, "api": "another-api", "provider": "another"}
    told = await door.ask(
        "check", {"model": model, "payload": {"contents": "[ullage:local-only]MARK-SECRET[/ullage:local-only]"}}
    )
    assert told["refused"]["privacy"] is True
    assert "MARK-SECRET" not in json.dumps(told)


@pytest.mark.parametrize(
    ("stop", "outcome", "status"), [("error", "error", 529), ("aborted", "left", 200), ("length", "ok", 200)]
)
async def test_how_a_request_ended_is_recorded(open_door: Any, stop: str, outcome: str, status: int) -> None:
    door = await open_door()
    told = await door.context([user("one")])
    message = {**ANSWER, "stopReason": stop, "errorMessage": "overloaded"}
    assert await door.ask("answer", {"id": told["id"], "message": message, "status": status}) == {"recorded": True}
    assert await door.ask("answer", {"id": told["id"], "message": message}) == {"recorded": False}
    door.daemon.engine.flush()
    (call,) = door.daemon.store.calls()
    assert (call.outcome, call.status) == (outcome, status)


async def test_a_request_that_pi_never_ended_is_over_with_the_next(open_door: Any) -> None:
    door = await open_door()
    first = await door.context([user("one")])
    await door.context([user("one")])
    door.daemon.engine.flush()
    assert [(one.id, one.outcome) for one in door.daemon.store.calls()] == [(first["id"], "left")]


async def test_the_panel_has_three_views_before_anything_was_sent(open_door: Any) -> None:
    door = await open_door()
    tool = {"name": "read", "description": "Read a file.", "parameters": {"type": "object"}}
    told = await door.ask(
        "panel", {"session": "s1", "model": MODEL, "prompt": "You are brief.", "tools": [tool], "width": 80}
    )
    assert list(told["views"]) == ["summary", "compact", "expanded"]
    assert told["tokens"] > 0 and "read" in told["views"]["compact"]


@pytest.mark.parametrize(("route", "heard"), [("context", {}), ("hello", {"protocol": "x"}), ("nothing", {})])
async def test_what_makes_no_sense_is_refused(open_door: Any, route: str, heard: dict[str, Any]) -> None:
    door = await open_door()
    told = await door.ask(route, heard)
    assert (door.status, told["error"]["type"]) == (400, "ullage_error")
    assert "ullage pi install" in told["error"]["hint"]


async def test_the_daemon_says_where_it_is_to_its_owner_alone(open_door: Any) -> None:
    door = await open_door(privacy={"enabled": True})
    file = door.daemon.token_file.with_name("daemon.json")
    told = json.loads(file.read_bytes())
    assert (told["url"], told["privacy"], told["protocol"]) == (door.daemon.url, True, PROTOCOL)
    assert file.stat().st_mode & 0o777 == 0o600


FRONTIER = {**MODEL, "id": "claude-opus-5", "max_tokens": 32_000, "input": 5, "output": 25, "reasoning": True}
LIGHT = {**MODEL, "id": "claude-haiku-4-5", "max_tokens": 32_000, "input": 1, "output": 5, "reasoning": True}
AUTO = {"provider": "ullage", "id": "auto", "api": "pi-virtual"}


async def begin(door: Any, *models: dict[str, Any]) -> None:
    await door.ask("hello", {"protocol": PROTOCOL, "version": "0", "session": "s1", "models": list(models)})


async def test_a_model_of_pis_is_chosen_and_kept_for_the_task(open_door: Any) -> None:
    door = await open_door()
    await begin(door, FRONTIER, LIGHT, {**CHAT, "max_tokens": 32_000, "input": 1, "output": 8})
    first = [user("List the files.")]
    told = await door.context(first, model=AUTO, routed=True)
    chosen = told["route"]["target"]
    assert chosen in ("anthropic/claude-opus-5", "anthropic/claude-haiku-4-5", "openai/gpt-5.5")
    assert told["messages"] == [[0, 0]]
    provider, model = chosen.split("/")
    answer = {**ANSWER, "stopReason": "toolUse", "provider": provider, "model": model}
    await door.ask("answer", {"id": told["id"], "message": answer, "status": 200})
    loop = [*first, said("I look.", ("c1", {"path": "."})), result("c1", "a.txt")]
    again = await door.context(loop, model=AUTO, routed=True, reason="continuation")
    assert again["route"]["target"] == chosen
    door.daemon.engine.flush()
    (call,) = door.daemon.store.calls()
    assert call.route is not None and (call.route["target"], call.route["reason"]) == (chosen, "user")
    assert (call.provider, call.model) == (provider, model)


async def test_selecting_the_model_that_stands_for_others_turns_routing_on(open_door: Any) -> None:
    door = await open_door()
    await begin(door, FRONTIER, LIGHT)
    door.daemon.store.put_route_override(RouteOverride(session="s1", key="activation", value="off", at_ms=1))
    assert (await door.context([user("One.")], model=AUTO, routed=True))["route"]["off"] is True
    assert await door.ask("activate", {"session": "s1"}) == {}
    assert "off" not in (await door.context([user("Two.")], model=AUTO, routed=True))["route"]


async def test_after_a_failure_another_model_is_chosen(open_door: Any) -> None:
    door = await open_door()
    await begin(door, FRONTIER, LIGHT)
    told = await door.context([user("List the files.")], model=AUTO, routed=True)
    failed = {**ANSWER, "stopReason": "error", "errorMessage": "overloaded", "content": []}
    await door.ask("answer", {"id": told["id"], "message": failed, "status": 529})
    again = await door.context([user("List the files.")], model=AUTO, routed=True, reason="retry")
    assert again["route"]["target"] != told["route"]["target"]


async def test_the_words_that_are_meant_for_the_router_reach_no_model(open_door: Any) -> None:
    door = await open_door()
    await begin(door, FRONTIER, LIGHT)
    told = await door.context([user("@high List the files.")], model=AUTO, routed=True)
    assert told["messages"] == [{"of": 0, "content": [{"type": "text", "text": "List the files."}]}]


async def test_an_errand_is_routed_beside_the_conversation(open_door: Any) -> None:
    door = await open_door()
    await begin(door, FRONTIER, LIGHT)
    await door.context([user("one")], model=AUTO, routed=True)
    told = await door.context([user("<conversation> summarise")], model=AUTO, routed=True, reason="direct")
    assert told["route"]["target"] == "anthropic/claude-haiku-4-5"
    more = {"session": "s1", "model": AUTO, "routed": True, "known": 1, "last": "key-0"}
    assert "route" in await door.ask("context", {**more, "keys": ["k"], "messages": [said("yes")]})


@pytest.mark.parametrize("errand", ["compaction", "branch_summary"])
async def test_a_summary_is_routed_as_one_whatever_it_is_made_of(open_door: Any, errand: str) -> None:
    """Pi asks who summarises with the conversation itself."""
    door = await open_door()
    await begin(door, FRONTIER, LIGHT)
    said_before = [user("one"), said("two"), user("three")]
    told = await door.context(said_before, model=AUTO, routed=True, reason="direct", errand=errand)
    door.daemon.engine.flush()
    (call,) = door.daemon.store.calls()
    assert (call.id, call.kind) == (told["id"], errand)
    assert told["route"]["target"] == "anthropic/claude-haiku-4-5"
    assert ("summary $0" in told["route"]["why"]) == (errand == "compaction")


async def test_who_has_told_of_no_models_has_to_begin_again(open_door: Any) -> None:
    door = await open_door()
    assert await door.context([user("one")], model=AUTO, routed=True) == {"resync": True}


async def test_where_nobody_may_take_it_the_reason_is_told(open_door: Any) -> None:
    door = await open_door()
    await begin(door)
    told = await door.context([user("one")], model=AUTO, routed=True)
    assert told["refused"]["privacy"] is False and told["refused"]["message"]


async def test_another_extension_may_ask_for_a_route(open_door: Any) -> None:
    door = await open_door()
    asked = {"models": [FRONTIER, LIGHT], "prompt": "Say hello.", "policy": "cost"}
    told = await door.ask("route", asked)
    assert told["target"] == "anthropic/claude-haiku-4-5"
    assert {one["target"] for one in told["ranked"]} == {"anthropic/claude-opus-5", "anthropic/claude-haiku-4-5"}
    assert (await door.ask("route", {**asked, "models": []}))["target"] is None


async def test_pins_in_a_session_s_file_are_for_that_session_alone(open_door: Any) -> None:
    door = await open_door()
    pin = {
        "id": "mut_1",
        "created_ms": 1,
        "kind": "pin",
        "op": "add",
        "item": "pin_1",
        "payload": {"text": "Never push."},
    }
    entries = [
        {**pin, "scope": "session", "session": "another"},
        {**pin, "id": "mut_2", "item": "pin_2", "scope": "project", "session": "another", "project": "/elsewhere"},
    ]
    told = await door.ask("kept", {"session": "s1", "cwd": "/project", "entries": entries})
    assert told == {"missing": []}
    assert [(one.session, one.project) for one in door.daemon.store.mutations()] == [("s1", None), ("s1", None)]
    assert await door.ask("kept", {"session": "s1", "cwd": "/project", "entries": entries}) == {"missing": []}
    told = await door.ask("kept", {"session": "s1", "entries": entries[:1]})
    assert [one["id"] for one in told["missing"]] == ["mut_2@s1"]
    assert await door.ask("kept", {"session": "s2"}) == {"missing": []}


@pytest.mark.parametrize("scope", ["session", "project"])
@pytest.mark.parametrize("op", ["status", "supersede"])
async def test_no_session_s_file_ends_what_is_kept_for_others(open_door: Any, scope: str, op: str) -> None:
    door = await open_door()
    pin = {"created_ms": 1, "kind": "pin", "scope": scope}
    added = {**pin, "id": "mut_1", "op": "add", "item": "pin_1", "payload": {"text": "Never push."}}
    await door.ask("kept", {"session": "s1", "cwd": "/project", "entries": [added]})
    ended = {**pin, "id": "mut_2", "op": op, "item": "pin_1" if op == "status" else "pin_2"}
    ended["payload"] = {"status": "deleted"} if op == "status" else {"text": "Push.", "supersedes": "pin_1"}
    for _ in range(2):
        told = await door.ask("kept", {"session": "s2", "cwd": "/elsewhere", "entries": [ended]})
        assert told == {"missing": []}
    assert [one.text for one in replay(door.daemon.store.mutations()).active("pin")] == ["Never push."]
    await door.ask("kept", {"session": "s1", "cwd": "/project", "entries": [added, ended]})
    assert "Never push." not in [one.text for one in replay(door.daemon.store.mutations()).active("pin")]


async def test_what_is_to_be_summarised_is_cleared_for_the_strictest_of_the_models(open_door: Any) -> None:
    rules = {"enabled": True, "local_providers": ["local"], "remote_providers": {"strict": {"allowed": ["normal"]}}}
    door = await open_door(privacy=rules)
    messages = [user("[ullage:internal]MARK-NOTE[/ullage:internal] a"), said("plain")]
    local, strict = ({**MODEL, "provider": name, "base_url": f"https://{name}.example"} for name in ("local", "strict"))
    told = await door.ask("clear", {"models": [local], "messages": messages})
    assert "MARK-NOTE" in json.dumps(told)
    told = await door.ask("clear", {"models": [local, strict], "messages": messages})
    assert "MARK-NOTE" not in json.dumps(told) and told["messages"][1] == [1, 1]


async def test_a_fork_has_the_pins_of_the_session_that_it_came_from(open_door: Any) -> None:
    door = await open_door()
    pin = {"created_ms": 1, "kind": "pin", "scope": "session", "session": "s1"}
    first = {**pin, "id": "mut_1", "op": "add", "item": "pin_1", "payload": {"text": "Never push."}}
    second = {**pin, "id": "mut_2", "op": "supersede", "item": "pin_2"}
    second["payload"] = {"text": "Never push to main.", "supersedes": "pin_1"}
    for session in ("s1", "s2", "s2"):
        assert await door.ask("kept", {"session": session, "entries": [first, second]}) == {"missing": []}
    active = replay(door.daemon.store.mutations()).active("pin")
    assert [(one.session, one.text) for one in active] == [(name, "Never push to main.") for name in ("s1", "s2")]


async def test_what_was_unpinned_in_a_fork_stays_so_in_forks_of_it_wherever_they_are_opened_first(
    open_door: Any,
) -> None:
    door = await open_door()
    pin = {"created_ms": 1, "kind": "pin", "scope": "session", "session": "s1"}
    added = {**pin, "id": "mut_1", "op": "add", "item": "pin_1", "payload": {"text": "Never push."}}
    ended = {**pin, "id": "mut_2", "op": "status", "item": "pin_1@s2", "session": "s2"}
    ended["payload"] = {"status": "deleted"}
    for session in ("s3", "s2"):
        assert await door.ask("kept", {"session": session, "entries": [added, ended]}) == {"missing": []}
    assert replay(door.daemon.store.mutations()).active("pin") == []
    await door.ask("kept", {"session": "s1", "entries": [added]})
    assert [one.session for one in replay(door.daemon.store.mutations()).active("pin")] == ["s1"]


ROOM = {"overrides": {"*": {"context_window": 100_000}}}
SMALL = {"overrides": {"*": {"context_window": 4_000, "max_output_tokens": 100, "safety_margin_tokens": 0}}}
LONG = [
    user("MARK-ONE " + "one " * 300),
    said("I will.", ("c1", {"path": "a"})),
    result("c1", "two " * 300),
    said("Read."),
    user("three " * 2_000),
    said("four " * 1_000),
    user("Now what?"),
]


def ds4_entry(kind: str, operation: str, **said: Any) -> dict[str, Any]:
    """An entry as DS4 has Pi write it."""
    name = said.get("item", {}).get("id") or said.get("pinId") or said.get("memoryId")
    data = {"schemaVersion": 1, "mutationId": f"{operation}-{name}", "createdAt": 1, "operation": operation, **said}
    return {"custom_type": f"ds4-context-{kind}-v1", "data": data}


def ds4_pin(name: str, text: str, scope: str = "session", **more: Any) -> dict[str, Any]:
    return ds4_entry("pin", "add", item={"id": name, "scope": scope, "content": text, "createdAt": 1, **more})


@pytest.mark.parametrize("model", [MODEL, CHAT], ids=["anthropic", "chat"])
@pytest.mark.parametrize("on", range(4))
async def test_all_of_a_labelled_turn_is_sent_from_the_next_request_on(
    open_door: Any, model: dict[str, Any], on: int
) -> None:
    door = await open_door(mode="managed", models=SMALL, artifacts={"enabled": False})
    told = await door.context(LONG, model=model)
    assert told["messages"] == [[6, 6]]
    more = {"session": "s1", "model": model, "known": 7, "last": "key-6"}
    told = await door.ask("context", {**more, "labels": {f"key-{on}": "ds4:pin why", "key-4": "a bookmark"}})
    assert (told["status"], told["messages"]) == ("managed", [[0, 3], [6, 6]])
    told = await door.ask("context", more)  # the same labels
    assert told["messages"] == [[0, 3], [6, 6]]
    await door.ask("answer", {"id": told["id"], "message": ANSWER, "status": 200})
    door.daemon.engine.flush()
    call = next(one for one in door.daemon.store.calls() if one.id == told["id"])
    assert call.plan is not None
    pinned = [one for one in call.plan["included"] if one["kind"] == "pin"]
    assert {one["reason"] for one in pinned} == {"labelled-pin"} and all(900 < one["score"] < 901 for one in pinned)
    told = await door.ask("context", {**more, "labels": {}})
    assert told["messages"] == [[6, 6]]


async def test_a_conversation_that_is_said_anew_has_the_labels_that_are_said_with_it(open_door: Any) -> None:
    door = await open_door(mode="managed", models=SMALL, artifacts={"enabled": False})
    told = await door.context(LONG, labels={"key-0": "ullage:pin"})
    assert told["messages"] == [[0, 3], [6, 6]]
    assert (await door.context(LONG))["messages"] == [[6, 6]]


async def test_labels_that_do_not_fit_are_told_of(open_door: Any) -> None:
    """Planner specification, sections 13.2 and 24: more than the cap of pins, and the request goes out as it came if it fits."""
    door = await open_door(mode="managed", models=ROOM, planning={"max_pinned_tokens": 100})
    told = await door.context(LONG, labels={"key-0": "ds4:pin"})
    assert told["status"] == "fallback" and "messages" not in told
    door = await open_door(mode="managed", models=SMALL, planning={"max_pinned_tokens": 100})
    told = await door.context(LONG, labels={"key-0": "ds4:pin"})
    assert told["status"] == "emergency"


async def test_a_labelled_turn_of_a_routed_request_is_sent_to_the_model_that_is_chosen(open_door: Any) -> None:
    window = {"context_window": 7_000, "max_output_tokens": 4_000, "safety_margin_tokens": 0}
    door = await open_door(mode="managed", models={"overrides": {"*": window}}, artifacts={"enabled": False})
    await begin(door, FRONTIER)
    told = await door.context(LONG, model=AUTO, routed=True, labels={"key-2": "ds4:pin"})
    assert (told["status"], told["route"]["target"]) == ("managed", "anthropic/claude-opus-5")
    assert told["messages"] == [[0, 3], [6, 6]]


async def test_what_ds4_has_pinned_and_noted_is_ours_once(open_door: Any) -> None:
    door = await open_door(mode="managed", models=ROOM)
    claim = {"id": "m1", "scope": "session", "claim": "Build runner = vitest", "createdAt": 1, "sourceEntryIds": []}
    custom = [
        ds4_pin("p1", "MARK-PIN Never push."),
        ds4_entry("memory", "add", item=claim),
        {"custom_type": "another"},
    ]
    for _ in range(2):
        assert await door.ask("kept", {"session": "s1", "cwd": "/project", "custom": custom}) == {"missing": []}
    assert len(door.daemon.store.mutations()) == 2
    sent = json.dumps(await door.context([user("Which build runner?")]))
    assert "MARK-PIN" in sent and "vitest" in sent
    custom.append(ds4_entry("pin", "status", pinId="p1", status="deleted"))
    await door.ask("kept", {"session": "s1", "cwd": "/project", "custom": custom})
    sent = json.dumps(await door.context([user("Which build runner?"), said("vitest"), user("And the build runner?")]))
    assert "MARK-PIN" not in sent and "vitest" in sent


async def test_what_ds4_pinned_and_we_took_back_stays_so(open_door: Any) -> None:
    door = await open_door()
    custom = [ds4_pin("p1", "Never push.")]
    asked = {"session": "s1", "cwd": "/project", "custom": custom}
    await door.ask("kept", asked)
    (pin,) = replay(door.daemon.store.mutations()).active("pin")
    headers = {"authorization": f"Bearer {door.daemon.token_file.read_text().strip()}"}
    unpin = {"action": "unpin", "id": pin.id}
    async with door._client.post(f"{door.daemon.url}/ullage/v1/pins", json=unpin, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
    (ours,) = (await door.ask("kept", asked))["missing"]
    assert (ours["op"], ours["item"]) == ("status", pin.id)
    assert await door.ask("kept", {**asked, "entries": [ours]}) == {"missing": []}
    assert replay(door.daemon.store.mutations()).active("pin") == []
    fork = {**asked, "session": "s2", "entries": [ours]}
    assert await door.ask("kept", fork) == {"missing": []}
    assert replay(door.daemon.store.mutations()).active("pin") == []


@pytest.mark.parametrize(("trusted", "cwd"), [(True, "/elsewhere"), (False, "/project"), (True, "")])
async def test_what_ds4_has_pinned_for_a_project_is_for_that_trusted_folder(
    open_door: Any, trusted: bool, cwd: str
) -> None:
    door = await open_door()
    custom = [ds4_pin("p1", "Never push.", "project", projectPath="/project")]
    await door.ask("kept", {"session": "s1", "cwd": cwd, "trusted": trusted, "custom": custom})
    assert not list(door.daemon.store.mutations())
    await door.ask("kept", {"session": "s1", "cwd": "/project", "custom": custom})
    assert [one.project for one in door.daemon.store.mutations()] == ["/project"]


async def test_a_pin_of_ds4_for_a_branch_is_sent_where_its_entry_is_on_the_branch(open_door: Any) -> None:
    door = await open_door(mode="managed", models=ROOM)
    custom = [ds4_pin("p1", "MARK-PIN Never push.", "branch", branchLeafId="e7")]
    told = await door.ask("kept", {"session": "s1", "cwd": "/project", "custom": custom})
    assert told == {"missing": [], "places": ["e7"]}
    assert "MARK-PIN" not in json.dumps(await door.context([user("one")]))
    assert "MARK-PIN" in json.dumps(await door.context([user("two")], places=["e7"]))
    more = {"session": "s1", "model": MODEL, "known": 0, "keys": ["k"], "messages": [user("three")]}
    assert "MARK-PIN" in json.dumps(await door.ask("context", more))
    assert "MARK-PIN" not in json.dumps(await door.ask("context", {**more, "messages": [user("4")], "places": []}))
