"""Requests against the types that the official SDKs take: what their authors say a provider accepts.

These types say `Iterable` where they mean a list; pydantic takes a text for one, and reads it late. So they are rewritten with
lists.
"""

from __future__ import annotations

import collections.abc
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from anthropic.types import MessageParam
from google.genai.types import Content
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict, is_typeddict

from ullage.core.wire import Dialect

_MESSAGES: dict[Dialect, Any] = {
    "openai-chat": ChatCompletionMessageParam,
    "openai-responses": ResponseInputItemParam,
    "anthropic": MessageParam,
    "gemini": Content,
}


def find_fault(raw: bytes, dialect: Dialect) -> str | None:
    """Why the SDK of a dialect would not take a message; `None` if it does."""
    try:
        _adapter(dialect).validate_json(raw)
    except ValidationError as error:
        return str(error)
    return None


@cache
def _adapter(dialect: Dialect) -> TypeAdapter[Any]:
    return TypeAdapter(_with_lists(_MESSAGES[dialect], {}))


def _with_lists(kind: Any, made: dict[Any, Any]) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal or (origin is None and not is_typeddict(kind)):
        return kind
    if is_typeddict(kind):
        if kind not in made:
            made[kind] = Any  # a type that holds itself is not looked into again
            made[kind] = _typed_dict(kind, made)
        return made[kind]
    if origin is Annotated:
        return _with_lists(arguments[0], made)
    inner = tuple(_with_lists(argument, made) for argument in arguments)
    if origin is collections.abc.Iterable:
        return list[inner[0]]  # type: ignore[valid-type]
    if origin in (Required, NotRequired):
        return origin[inner[0]]
    return Union[inner] if origin is Union or origin.__name__ == "UnionType" else origin[inner]  # noqa: UP007 - made of a tuple


def _typed_dict(kind: Any, made: dict[Any, Any]) -> Any:
    fields = {}
    # With annotations that are texts, the class itself does not know which of its keys are required.
    for name, hint in get_type_hints(kind, include_extras=True).items():
        wrapper = get_origin(hint)
        if wrapper not in (Required, NotRequired):
            wrapper, hint = (Required if kind.__total__ else NotRequired), Required[hint]
        fields[name] = wrapper[_with_lists(get_args(hint)[0], made)]
    return with_config(ConfigDict(arbitrary_types_allowed=True))(TypedDict(kind.__name__, fields))  # type: ignore[operator]
