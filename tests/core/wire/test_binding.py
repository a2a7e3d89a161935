"""Who may refuse thinking that lost what it was made on, and messages without regard to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ullage.core.wire import Conversation, canonical_hash, parse_request
from ullage.core.wire.binding import bare_hash, refuses_unbound

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
HIDDEN = {"type": "redacted_thinking", "data": "abc"}
TEXT = {"type": "text", "text": "Done."}


def read(content: Any = "Go.", **members: Any) -> Conversation:
    body = {"model": "claude-fable-5-1", "messages": [{"role": "assistant", "content": content}], **members}
    return parse_request(json.dumps(body).encode(), "anthropic")


def binding(behaviour: Any) -> dict[str, Any]:
    return {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behaviour}}


@pytest.mark.parametrize("thinking", [None, {"type": "adaptive"}, binding("error"), binding(None), "adaptive"])
def test_a_request_to_a_model_that_binds_may_be_refused(thinking: Any) -> None:
    assert refuses_unbound(read(thinking=thinking))
    assert refuses_unbound(read())
    assert not refuses_unbound(read(thinking=thinking, model="claude-opus-5"))
    assert not refuses_unbound(read(thinking=thinking, model=None))


def test_one_that_has_the_provider_leave_it_out_is_not() -> None:
    assert not refuses_unbound(read(thinking=binding("drop_block")))


def test_other_dialects_have_no_such_rule() -> None:
    body = json.dumps({"model": "anthropic/claude-fable-5.1", "messages": []}).encode()
    assert not refuses_unbound(parse_request(body, "openai-chat"))


@pytest.mark.parametrize("thoughts", [[THOUGHT], [HIDDEN], [THOUGHT, HIDDEN]])
def test_thinking_makes_no_other_message(thoughts: list[Any]) -> None:
    plain = read([TEXT]).messages[0]
    piece = read([*thoughts, TEXT]).messages[0]
    assert bare_hash(piece) == bare_hash(plain) == canonical_hash(plain, "anthropic")
    assert bare_hash(piece) != canonical_hash(piece, "anthropic")
    assert bare_hash(read(thoughts).messages[0]) == 0


def test_marks_of_caches_do_not_count() -> None:
    marked = read([THOUGHT, {**TEXT, "cache_control": {"type": "ephemeral"}}]).messages[0]
    assert bare_hash(marked) == bare_hash(read([TEXT]).messages[0])
