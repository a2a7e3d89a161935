"""Captured requests to count requests, and the answers to them to numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Raw, Struct

from ullage.core.errors import RequestError, UpstreamError
from ullage.core.wire.jsontext import decode
from ullage.upstream.cases import case_members, json_object, names_a_tool

if TYPE_CHECKING:
    from ullage.core.accounting.isolation import Case

    from .countable import Countable
    from .endpoints import CountEndpoint

Coverage = Literal["full-request", "partial-request"]
"""Whether everything that bears on the prompt is in the count (accounting specification, section 15.1)."""

# Members that a case selects from; any other is in an isolated case only if it is in all of them.
_SECTIONS = frozenset({"system", "instructions", "systemInstruction", "tools", "messages", "input", "contents"})


class CountRequest(Struct, frozen=True, kw_only=True):
    """A request ready to be counted. `left_out` are the members of the captured one that the endpoint does not take."""

    case: str
    path: str
    body: bytes
    left_out: tuple[str, ...] = ()


def count_request(countable: Countable, case: Case, endpoint: CountEndpoint, model: str) -> CountRequest:
    """The count request of a case. Members are taken over byte for byte; only the model is ours."""
    conversation = countable.conversation
    members = case_members(conversation, case, model=model)
    if conversation.dialect == "gemini":
        members["model"] = msgspec.json.encode(f"models/{model.removeprefix('models/')}")
    wanted = [name for name in endpoint.fields if _belongs(name, case, endpoint, members)]
    body = json_object({name: members[name] for name in wanted if name in members}, endpoint.wrapper)
    left_out = [] if case.minimal else [name for name in members if name not in endpoint.fields]
    return CountRequest(case=case.id, path=endpoint.path_for(model), body=body, left_out=tuple(left_out))


def bedrock_request(body: bytes, endpoint: CountEndpoint, model: str) -> CountRequest:
    """The count request of a Converse request. Raises `RequestError` if the body is not one JSON object."""
    try:
        members = msgspec.json.decode(body, type=dict[str, Raw])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RequestError(
            f"The request body is not one JSON object: {error}.", hint="Give one JSON object."
        ) from error
    taken = {name: bytes(members[name]) for name in endpoint.fields if name in members}
    return CountRequest(
        case="full",
        path=endpoint.path_for(model),
        body=json_object(taken, endpoint.wrapper),
        left_out=tuple(name for name in members if name not in endpoint.fields),
    )


def read_count(body: bytes, endpoint: CountEndpoint, host: str) -> int:
    """The tokens in an answer. Raises `UpstreamError` (`count_unreadable`) if there is no such number."""
    value = decode(body)
    tokens = value.get(endpoint.tokens) if isinstance(value, dict) else None
    if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
        return tokens
    raise UpstreamError(
        f"{host} answered, but not with a count: there is no number `{endpoint.tokens}` in its answer.",
        hint="Is this address the provider's own?",
        code="count_unreadable",
    )


def _belongs(name: str, case: Case, endpoint: CountEndpoint, members: dict[str, bytes]) -> bool:
    """Whether a member goes into the request of a case. A tool choice without tools is refused by some providers."""
    if name == endpoint.choice:
        return bool(case.tools) and not (case.minimal and names_a_tool(members.get(name, b"")))
    return not case.minimal or name in endpoint.constant or name in _SECTIONS
