"""What real providers refuse of a conversation: halves of tool exchanges, an order they do not take, thinking that was altered
or lost what came before it.

Gathered from public reports of answers with status 400, in our own words. It reads the decoded body alone, and uses nothing of
what plans requests, so that it can judge what a plan sends.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from .binding import find_unbound
from .dialects.events import seal
from .dialects.openai_responses import input_items
from .prompt import as_dict, as_list, blocks_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ullage.core.wire import Dialect

    Block = dict[str, Any]

_SYSTEM = ("system", "developer")
_CHAT_CONTENT = ("content", "tool_calls", "function_call", "refusal", "audio")
_USER = ("user", "function")
_THINKING = ("thinking", "redacted_thinking")


def find_refusal(dialect: Dialect, payload: dict[str, Any]) -> str | None:
    """Why the provider of a dialect would refuse the conversation in a decoded request, with the place; `None` if it takes it."""
    return next(_CHECKS[dialect](payload), None)


class Turn(NamedTuple):
    """Messages of one side in a row, which providers read as one. `place` is the number of the first."""

    place: int
    is_user: bool
    blocks: list[Block]

    def all(self, kind: str, key: str) -> list[Any]:
        """What stands under a key of its blocks of that type."""
        return [block.get(key) for block in self.blocks if block.get("type") == kind]


_NOTHING = Turn(0, False, [])


def _turns(messages: Sequence[Any], blocks: Callable[[Block], Sequence[Any]]) -> list[Turn]:
    """The turns of a list of messages, without the system messages that stand inside of it."""
    numbered = [(place, as_dict(message)) for place, message in enumerate(messages)]
    spoken = [(place, message) for place, message in numbered if message.get("role") not in _SYSTEM]
    turns = []
    for is_user, members in groupby(spoken, key=lambda pair: pair[1].get("role", "user") in _USER):
        group = list(members)
        inside = [as_dict(block) for _, message in group for block in blocks(message)]
        turns.append(Turn(group[0][0], is_user, inside))
    return turns


def _check_chat(payload: dict[str, Any]) -> Iterator[str]:
    waiting: list[str] = []
    for place, message in enumerate(map(as_dict, as_list(payload.get("messages")))):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"messages[{place}]: a tool message must follow the assistant message with its call."
                return
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        if message.get("role") == "assistant":
            waiting = [str(as_dict(call).get("id")) for call in as_list(message.get("tool_calls"))]
            if not any(message.get(key) for key in _CHAT_CONTENT):
                yield f"messages[{place}]: an assistant message must have content or tool calls."
    if waiting:
        yield f"messages: the tool calls {', '.join(waiting)} must be followed by their tool messages."


def _check_responses(payload: dict[str, Any]) -> Iterator[str]:
    waiting: dict[str, int] = {}
    thought: int | None = None
    for place, item in enumerate(input_items(payload)):
        kind, call = str(item.get("type", "message")), item.get("call_id")
        if item.get("role") in _SYSTEM:
            continue
        if thought is not None and (item.get("role") == "user" or kind.endswith("_output")):
            break
        thought = place if kind == "reasoning" else None
        if call is not None and kind.endswith("_call"):
            waiting[call] = place
        elif call is not None and kind.endswith("_output") and waiting.pop(call, None) is None:
            yield f"input[{place}]: no tool call found for the output of {call}."
            return
    if thought is not None:
        yield f"input[{thought}]: a reasoning item without the item that it led to."
    for call, place in waiting.items():
        yield f"input[{place}]: no tool output found for the call {call}."


def _check_anthropic(payload: dict[str, Any]) -> Iterator[str]:
    messages = as_list(payload.get("messages"))
    for place, message in enumerate(map(as_dict, messages)):
        # System messages inside the list may be empty: some clients say with them how much to think from there on.
        may_be_empty = message.get("role") == "system" or (
            place == len(messages) - 1 and message.get("role") == "assistant"
        )
        yield from _check_blocks(place, blocks_of(message.get("content")), may_be_empty=may_be_empty)
    yield from _check_system(messages)
    turns = _turns(messages, lambda message: blocks_of(message.get("content")))
    if turns and not turns[0].is_user:
        yield f"messages.{turns[0].place}: the first message must be the user's."
    calls = [call for turn in turns for call in turn.all("tool_use", "id")]
    if len(calls) != len(set(calls)):
        yield "messages: the ids of tool_use blocks must be unique."
    for before, turn in pairwise([_NOTHING, *turns, _NOTHING]):
        asked, told = before.all("tool_use", "id"), turn.all("tool_result", "tool_use_id")
        if set(told) - set(asked):
            yield f"messages.{turn.place}: a tool_result must have its tool_use in the message before."
        if set(asked) - set(told):
            yield f"messages.{before.place}: a tool_use must have its tool_result in the message behind."
    if as_dict(payload.get("thinking")).get("type") == "enabled":
        yield from _check_loop(messages)
    yield from find_unbound(payload)


def _check_blocks(place: int, blocks: Sequence[Any], *, may_be_empty: bool) -> Iterator[str]:
    if not blocks and not may_be_empty:
        yield f"messages.{place}: a message must have content."
    for number, block in enumerate(map(as_dict, blocks)):
        if block.get("type") == "text" and not block.get("text"):
            yield f"messages.{place}.content.{number}: a text block must not be empty."
        if block.get("type") == "thinking":
            signature, text = block.get("signature"), block.get("thinking")
            if not signature or (text and str(signature).partition(".")[0] != seal(text)):
                yield f"messages.{place}.content.{number}: the signature is not the one that this thinking was given."
    if blocks and as_dict(blocks[-1]).get("type") in _THINKING:
        yield f"messages.{place}: the last block of a message must not be thinking."


def _check_system(messages: Sequence[Any]) -> Iterator[str]:
    """System messages inside the list: those that say something stand behind the user, and not before the user."""
    roles = [(as_dict(one).get("role"), blocks_of(as_dict(one).get("content"))) for one in messages]
    speaking = [(place, role) for place, (role, blocks) in enumerate(roles) if role != "system" or blocks]
    for before, (place, role), after in zip([(0, None), *speaking], speaking, [*speaking[1:], (0, None)], strict=False):
        if role == "system" and (before[1] not in ("user", "system") or after[1] == "user"):
            yield f"messages.{place}: a system message must follow the user, and not stand before the user."


def _check_loop(messages: Sequence[Any]) -> Iterator[str]:
    """A loop of tool calls that waits for its next answer begins with thinking if that is enabled."""
    opener = None
    for message in map(as_dict, reversed(messages)):
        blocks = list(map(as_dict, blocks_of(message.get("content"))))
        if message.get("role") == "assistant":
            opener = blocks
        elif message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in blocks):
            break
    if opener and opener[0].get("type") not in _THINKING:
        yield "messages: a loop of tool calls must begin with thinking where it is enabled."


def _check_gemini(payload: dict[str, Any]) -> Iterator[str]:
    contents = as_list(payload.get("contents"))
    for place, content in enumerate(map(as_dict, contents)):
        if not as_list(content.get("parts")):
            yield f"contents[{place}]: a content must have parts."
    turns = _turns(contents, lambda content: as_list(content.get("parts")))
    if turns and not turns[0].is_user and _named(turns[0], "functionCall"):
        yield f"contents[{turns[0].place}]: a function call must come right after the user or a function response."
    for before, turn in pairwise([_NOTHING, *turns, _NOTHING]):
        asked, told = _named(before, "functionCall"), _named(turn, "functionResponse")
        if asked != told:
            place = before.place if asked else turn.place
            yield f"contents[{place}]: as many function responses as function calls must follow right behind them."


def _named(turn: Turn, kind: str) -> list[str]:
    """The names of the calls or responses in a turn, sorted."""
    snake = "function_call" if kind == "functionCall" else "function_response"
    found = (block.get(kind, block.get(snake)) for block in turn.blocks)
    return sorted(str(as_dict(one).get("name")) for one in found if one is not None)


_CHECKS: Mapping[Dialect, Callable[[dict[str, Any]], Iterator[str]]] = {
    "openai-chat": _check_chat,
    "openai-responses": _check_responses,
    "anthropic": _check_anthropic,
    "gemini": _check_gemini,
}
