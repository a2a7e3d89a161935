"""The one entry: requests in all dialects through preparation and check (planner specification, sections 23 and 24)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ullage.core.errors import PrivacyError, RequestError
from ullage.core.privacy import Destination, Exclusion, PrivacySettings, holds_placeholder, sanitizing
from ullage.core.privacy import guard as module
from ullage.core.privacy.guard import PrivacyGuard
from ullage.core.wire import parse_request

if TYPE_CHECKING:
    from tests.core.privacy.conftest import Sending

W = "[local-only text withheld by ullage]"
S = "[secret withheld by ullage]"


def user(content: Any, **options: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": content}], **options}


def said(sent: dict[str, Any]) -> Any:
    return sent["messages"][0]["content"]


# The worked examples of section 23.4.
def test_a_blocked_span_becomes_a_placeholder_that_names_its_class(send: Sending, remote: Destination) -> None:
    assert said(send(user("a [ds4:local-only]k[/ds4:local-only] b"), remote)) == f"a {W} b"
    assert send.report["blocked_blocks"] == 1
    assert send.report["selected_classifications"] == {"local-only": 1}


def test_an_allowed_marker_goes_and_its_text_stays(send: Sending, remote: Destination) -> None:
    assert said(send(user("[ds4:internal] note"), remote)) == "note"
    assert send.report["selected_classifications"] == {"internal": 1}


def test_an_escaped_marker_changes_nothing(send: Sending, remote: Destination) -> None:
    assert said(send(user("\\[ds4:sensitive] x"), remote)) == "\\[ds4:sensitive] x"
    assert send.report["selected_classifications"] == {"normal": 1}


def test_a_password_is_withheld_from_a_remote_provider_only(
    send: Sending, remote: Destination, local: Destination
) -> None:
    text = 'password = "hunter22"'
    assert said(send(user(text), remote)) == f'password = "{S}"'
    assert send.report["secret_redactions"] == 1
    assert said(send(user(text), local)) == text
    assert send.report["secret_redactions"] == 0


def test_a_switch_of_provider_hides_and_restores(send: Sending, remote: Destination, local: Destination) -> None:
    request = user("[ds4:local-only]k[/ds4:local-only]")
    assert [said(send(request, one)) for one in (local, remote, local)] == ["k", W, "k"]


def test_nothing_to_hide_is_the_very_conversation(remote: Destination) -> None:
    conversation = parse_request(b' {"messages" : [{"role":"user","content":"hi"}] , "x":1e999}', "anthropic")
    prepared = PrivacyGuard(PrivacySettings()).prepare(conversation, remote)
    assert prepared.conversation is conversation


def test_markers_split_over_the_texts_of_a_message_block_all_of_it(send: Sending, remote: Destination) -> None:
    parts = ["[ds4:local-only]", "SPLIT", "[/ds4:local-only]"]
    sent = send(user([{"type": "text", "text": part} for part in parts]), remote)
    assert [part["text"] for part in said(sent)] == [W, W, W]


def test_unclear_markers_in_one_block_of_the_system_prompt_block_the_others(send: Sending, remote: Destination) -> None:
    system = [{"type": "text", "text": text} for text in ("a [ds4:local-only]", "between", "[/ds4:local-only] b")]
    sent = send(user("hi", system=system), remote)
    assert [block["text"] for block in sent["system"]] == [W, W, W]
    assert said(sent) == "hi"


def test_an_unclear_marker_of_an_allowed_class_is_taken_out(send: Sending, remote: Destination) -> None:
    assert said(send(user("a [ds4:internal] b"), remote)) == "a  b"


def test_the_class_of_text_without_a_marker_may_block_everything(send: Sending) -> None:
    nothing = Destination(kind="remote", provider="x", allowed=("normal",), base="sensitive")
    tool = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {"q": {}}}}
    sent = send(user("confidential", system="s", tools=[tool], metadata={"user_id": "u"}, temperature=1), nothing)
    left = "[sensitive text withheld by ullage]"
    assert (said(sent), sent["system"], sent["metadata"]) == (left, left, {"user_id": left})
    assert sent["tools"] == [{"name": "f", "description": left, "input_schema": {"type": "object", "properties": {}}}]
    assert (sent["model"], sent["temperature"]) == ("m", 1)


def test_a_signed_block_of_thinking_is_whole_or_gone(send: Sending, remote: Destination) -> None:
    def thought(text: str) -> dict[str, Any]:
        block = {"type": "thinking", "thinking": text, "signature": "abc"}
        return {"messages": [{"role": "assistant", "content": [block, {"type": "text", "text": "x"}]}]}

    assert send(thought("fine"), remote) == thought("fine")
    changed = send(thought("hm sk-abcdefgh12"), remote)
    assert said(changed)[0] == {"type": "text", "text": "[thinking withheld by ullage]"}
    assert send.report["secret_redactions"] == 1


def test_calls_and_results_keep_their_ids_names_and_places(send: Sending, remote: Destination) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": "x [ds4:local-only] y", "SECRET NAME": 4}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "[ds4:local-only] all of it"}
    sent = send({"messages": [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]}, remote)
    assert sent["messages"][0]["content"] == [{"type": "tool_use", "id": "t1", "name": "f", "input": {"text": W}}]
    assert sent["messages"][1]["content"] == [{"type": "tool_result", "tool_use_id": "t1", "content": W}]


def test_arguments_in_json_stay_json(send: Sending, remote: Destination) -> None:
    arguments = r'{"t":"\u005bds4:local-only]k[\/ds4:local-only] z","password":"hunter22","pin": 1234}'
    request = {
        "messages": [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}],
            }
        ]
    }
    sent = send(request, remote, "openai-chat")
    call = sent["messages"][0]["tool_calls"][0]
    assert json.loads(call["function"]["arguments"]) == {"t": f"{W} z", "password": S, "pin": 1234}
    assert (call["id"], call["function"]["name"]) == ("c1", "f")


def test_escaped_markers_in_arguments_stay(send: Sending, remote: Destination) -> None:
    arguments = json.dumps({"text": "write \\[ds4:local-only] like this"})
    request = {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": arguments}}]}]}
    assert send(request, remote, "openai-chat") == request


def test_names_of_a_call_that_are_marked_are_withheld_and_do_not_collide(send: Sending, remote: Destination) -> None:
    names = {"[ds4:local-only]a[/ds4:local-only]": 1, "[ds4:local-only]b[/ds4:local-only]": 2}
    block = {"type": "tool_use", "id": "t", "name": "f", "input": names}
    sent = send({"messages": [{"role": "assistant", "content": [block]}]}, remote)
    assert said(sent)[0]["input"] == {W: 1, f"{W} 2": 2}


def test_pictures_of_a_blocked_message_become_texts(send: Sending, remote: Destination) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    sent = send(user([{"type": "text", "text": "a [ds4:local-only] b"}, picture]), remote)
    assert said(sent)[1] == {"type": "text", "text": W}


def test_sealed_data_is_not_searched_for_what_looks_like_a_token(send: Sending, remote: Destination) -> None:
    sealed = "gAAAA" + "x" * 80 + "-sk-abcdefgh1234_" + "y" * 80
    request = {"input": [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": sealed}]}
    assert send(request, remote, "openai-responses") == request


def test_options_are_searched_too(send: Sending, remote: Destination) -> None:
    sent = send(user("hi", metadata={"user_id": "sk-abcdefgh12", "x": "[ds4:local-only] y"}), remote)
    assert sent["metadata"] == {"user_id": S, "x": W}


def test_a_member_that_a_repeated_name_hides_is_searched_too(remote: Destination) -> None:
    guard = PrivacyGuard(PrivacySettings())
    body = b'{"messages":[{"content":"[ds4:local-only]k"}],"messages":[{"role":"user","content":"hi"}]}'
    prepared = guard.prepare(parse_request(body, "anthropic"), remote)
    assert b'"k"' not in prepared.conversation.body
    assert prepared.conversation.body.endswith(b'"messages":[{"role":"user","content":"hi"}]}')


def test_unclear_markers_among_options_refuse_the_request(send: Sending, remote: Destination) -> None:
    with pytest.raises(PrivacyError, match="options") as refused:
        send(user("hi", metadata={"a": "x [ds4:local-only] y"}), remote)
    assert "y" not in refused.value.message.split()


def test_other_slices_keep_their_bytes(remote: Destination) -> None:
    first, last = b'{ "role":"user", "content" : "\\u0061" }', b'{"role":"user","content":"z"}'
    middle = b'{"role":"assistant","content":"sk-abcdefgh12"}'
    body = b'{"stream":true,"messages":[' + b", ".join((first, middle, last)) + b'],"model":"m" }'
    prepared = PrivacyGuard(PrivacySettings()).prepare(parse_request(body, "anthropic"), remote).conversation
    assert [piece.raw for piece in prepared.messages] == [first, middle.replace(b"sk-abcdefgh12", S.encode()), last]
    assert prepared.body == body.replace(b"sk-abcdefgh12", S.encode())
    assert (prepared.model, prepared.stream) == ("m", True)


def test_a_request_of_gemini_keeps_what_its_path_says(remote: Destination) -> None:
    body = b'{"contents":[{"parts":[{"text":"sk-abcdefgh12"}]}]}'
    conversation = parse_request(body, "gemini", path_model="gemini-x", path_stream=True)
    prepared = PrivacyGuard(PrivacySettings()).prepare(conversation, remote).conversation
    assert (prepared.model, prepared.stream) == ("gemini-x", True)


def test_what_was_read_is_not_read_again(remote: Destination, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = PrivacyGuard(PrivacySettings())
    body = json.dumps(user("a [ds4:local-only]k[/ds4:local-only]", system="sk-abcdefgh12")).encode()
    first = guard.prepare(parse_request(body, "anthropic"), remote)
    monkeypatch.setattr(module, "sanitize_slice", None)
    monkeypatch.setattr(module, "sanitize_rest", None)
    again = guard.prepare(parse_request(body, "anthropic"), remote)
    assert (again.conversation.body, again.report) == (first.conversation.body, first.report)


def test_whatever_goes_wrong_in_preparation_refuses_the_request(
    remote: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = PrivacyGuard(PrivacySettings())
    monkeypatch.setattr(module, "sanitize_slice", lambda *_, **__: 1 / 0)
    with pytest.raises(PrivacyError) as refused:
        guard.prepare(parse_request(json.dumps(user("hi")).encode(), "anthropic"), remote)
    assert refused.value.code == "privacy_failed"


def test_whatever_goes_wrong_in_the_check_refuses_the_request(
    remote: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = PrivacyGuard(PrivacySettings())
    monkeypatch.setattr(module, "passes", lambda *_: 1 / 0)
    with pytest.raises(PrivacyError) as refused:
        guard.check(b"{}", remote)
    assert refused.value.code == "privacy_failed"


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"[ds4:local-only]k"}',
        b'{"a":"x \\u005bds4:sensitive] k"}',
        b'{"a":{"api_key":"abcdef"}}',
        b'{"a":"ghp_abcdefghijkl"}',
        b'{"sk-abcdefgh12":1}',
        b"not json: sk-abcdefgh12",
        b"\xff\xfe [ds4:local-only]",
    ],
)
def test_the_check_reads_rendered_bytes_whatever_they_are(body: bytes, remote: Destination, local: Destination) -> None:
    guard = PrivacyGuard(PrivacySettings())
    with pytest.raises(PrivacyError) as refused:
        guard.check(body, remote)
    assert refused.value.code == "privacy_refused"
    guard.check(body, local)


def test_the_check_lets_allowed_classes_and_escaped_markers_pass(remote: Destination) -> None:
    PrivacyGuard(PrivacySettings()).check(b'{"a":"[ds4:internal]x","b":"\\\\[ds4:local-only]y"}', remote)


def test_a_body_that_goes_on_from_one_that_passed_is_checked_where_it_is_new(remote: Destination) -> None:
    guard = PrivacyGuard(PrivacySettings())
    body = json.dumps([user("word " * 40_000)]).encode()
    guard.check(body, remote)
    guard.check(body, remote)
    with pytest.raises(PrivacyError):
        guard.check(body[:-1] + b',"sk-abcdefgh12"]', remote)
    with pytest.raises(PrivacyError):
        guard.check(body.replace(b"word word", b"sk-abcdefgh12", 1), remote)
    guard.check(body[:-1] + b',"fine"]', remote)


def test_a_supplement_goes_whole_or_not_at_all(remote: Destination) -> None:
    guard = PrivacyGuard(PrivacySettings())
    assert guard.screen("plain", "internal", remote).text == "plain"
    assert guard.screen("a [ds4:local-only]k[/ds4:local-only]", "normal", remote).text is None
    assert guard.screen("plain", "sensitive", remote).text is None
    assert guard.screen("[ds4:normal]down[/ds4:normal]", "local-only", remote).classification == "local-only"
    assert guard.screen("key sk-abcdefgh12", "normal", remote).text == f"key {S}"


def test_an_unclosed_marker_never_passes_though_the_text_is_classified(remote: Destination) -> None:
    """Where the reference system lets it pass (section 23.1)."""
    screened = PrivacyGuard(PrivacySettings()).screen("a [ds4:local-only] b", "normal", remote)
    assert (screened.text, screened.classification) == (None, "local-only")


def test_the_report_is_counts_and_names(send: Sending, remote: Destination) -> None:
    send(user("sk-abcdefgh12 [ds4:local-only]k[/ds4:local-only]"), remote)
    assert send.report == {
        "enabled": True,
        "destination": "remote",
        "provider": "openai",
        "allowed_classifications": ["normal", "internal"],
        "selected_classifications": {"local-only": 1},
        "blocked_blocks": 1,
        "secret_redactions": 1,
        "excluded_sources": [],
        "provider_checks": 0,
        "enforcement": "context",
    }


def test_the_report_takes_in_what_was_left_out_and_checked(remote: Destination) -> None:
    conversation = parse_request(b'{"messages":[]}', "anthropic")
    report = PrivacyGuard(PrivacySettings()).prepare(conversation, remote).report
    left_out = Exclusion(kind="pin", id="p1", classification="sensitive")
    manifest = report.with_exclusions(left_out).checked().manifest()
    assert manifest["excluded_sources"] == [{"kind": "pin", "id": "p1", "classification": "sensitive"}]
    assert (manifest["provider_checks"], manifest["enforcement"]) == (1, "context-and-provider")


def test_destinations_follow_the_settings() -> None:
    guard = PrivacyGuard(PrivacySettings(redact_secrets=False, default_classification="internal"))
    destination = guard.destination(provider="openai", root="https://api.openai.com")
    assert (destination.redact, destination.base) == (False, "internal")
    assert guard.destination(provider="openai", root="https://api.openai.com") is destination


def test_what_was_withheld_is_known_again() -> None:
    """R31: it must not be stored as if a user had said it."""
    assert holds_placeholder(f"remember {W}")
    assert holds_placeholder(S)
    assert not holds_placeholder("withheld by ullage")


def test_empty_texts_of_a_blocked_message_stay_empty(send: Sending, remote: Destination) -> None:
    parts = [{"type": "text", "text": ""}, {"type": "text", "text": "a [ds4:local-only] b"}]
    assert [part["text"] for part in said(send(user(parts), remote))] == ["", W]


def test_what_no_dialect_knows_in_a_blocked_message_is_withheld_with_its_name(
    send: Sending, remote: Destination
) -> None:
    part = {"type": "text", "text": "a [ds4:local-only] b", "x-customer": 4711, "citations": [{"span": 1}]}
    assert said(send(user([part]), remote))[0] == {"type": "text", "text": W, W: W, "citations": [{W: W}]}


def test_an_id_that_is_a_secret_becomes_one_that_providers_take(send: Sending, remote: Destination) -> None:
    call = {"type": "tool_use", "id": "sk-abcdefgh12", "name": "f", "input": {"a": "x [ds4:local-only] y"}}
    sent = send({"messages": [{"role": "assistant", "content": [call]}]}, remote)
    assert said(sent)[0] == {"type": "tool_use", "id": "withheld", "name": "f", "input": {"text": W}}


def test_what_is_remembered_is_bounded_and_nothing_depends_on_it(
    remote: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in ("_OUTCOMES", "_RESTS", "_CONVERSATIONS"):
        monkeypatch.setattr(module, bound, 2)
    monkeypatch.setattr(module, "_EDITED_BYTES", 100)
    guard = PrivacyGuard(PrivacySettings())
    bodies = [json.dumps(user(f"{n} sk-abcdefgh12 {'x' * 60}", metadata={"n": n})).encode() for n in range(6)]
    for body in bodies * 2:
        fresh = PrivacyGuard(PrivacySettings()).prepare(parse_request(body, "anthropic"), remote)
        assert guard.prepare(parse_request(body, "anthropic"), remote) == fresh


def test_a_slice_that_cannot_be_blanked_refuses_the_request(
    send: Sending, remote: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizing, "blank", lambda raw, *_: (raw, 0))
    with pytest.raises(PrivacyError, match="cannot be taken out"):
        send(user("a [ds4:local-only] b"), remote)


def test_a_request_that_cannot_be_read_once_it_is_edited_is_refused(
    remote: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RequestError("no")

    conversation = parse_request(json.dumps(user("sk-abcdefgh12")).encode(), "anthropic")
    monkeypatch.setattr(module, "parse_request", refuse)
    with pytest.raises(PrivacyError, match="read"):
        PrivacyGuard(PrivacySettings()).prepare(conversation, remote)
