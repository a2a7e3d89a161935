"""Bytes to a `Conversation`: cuts a request body into slices and hashes them, without decoding a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ullage.core.errors import RequestError

from .cutting import check_depth, conversation_of, cut, cut_held, too_deep
from .extending import extend
from .jsontext import BOM
from .layout import LAYOUTS, list_member, members_and_messages
from .slicing import check_utf8, check_values

if TYPE_CHECKING:
    from .conversation import Conversation, Dialect


def parse_request(
    body: bytes,
    dialect: Dialect,
    *,
    path_model: str | None = None,
    path_stream: bool | None = None,
    previous: Conversation | None = None,
) -> Conversation:
    """Cuts the body into slices.

    `path_model` and `path_stream` are what the path of the request says of model and streaming (Gemini names both there, some
    hosts of other dialects the model): the path wins for Gemini, elsewhere the body does. `previous` is an earlier request of the
    same session, if one is at hand: it changes nothing but the time, which then goes by what is new. Raises `RequestError` if the
    body is not one JSON object in UTF-8, nests deeper than 200 levels (design 5), or is made of more values than any request.
    """
    try:
        if previous is not None:
            extended = extend(previous, body, dialect, path_model=path_model, path_stream=path_stream)
            if extended is not None:
                return extended
        check_utf8(body)
        check_values(body)
        return _parse_whole(body, dialect, path_model, path_stream)
    except UnicodeDecodeError as error:
        raise RequestError(f"The request body is not UTF-8: {error.reason} at a byte past {error.start}.") from error
    except msgspec.MsgspecError as error:
        raise RequestError(
            f"The request body is not one JSON object: {error}.", hint="Send one JSON object as the body."
        ) from error
    except RecursionError as error:
        raise too_deep() from error


def _parse_whole(body: bytes, dialect: Dialect, path_model: str | None, path_stream: bool | None) -> Conversation:
    layout = LAYOUTS[dialect]
    members, spans = members_and_messages(body, len(BOM) if body.startswith(BOM) else 0, layout)
    holder = list_member(members, layout.messages)
    messages = cut(body, dialect, "message", spans)
    check_depth(body, (member for member in members if member is not holder), messages)
    return conversation_of(
        body,
        dialect,
        members,
        system=cut_held(body, dialect, "system", members),
        tools=cut_held(body, dialect, "tool", members),
        messages=messages,
        path_model=path_model,
        path_stream=path_stream,
    )
