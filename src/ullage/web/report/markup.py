"""HTML and SVG built from elements, so that nothing gets into a page unescaped: names of files and tools are hostile text."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import msgspec

from ullage.core.terminal import safe
from ullage.core.tokens.surrogates import replace_lone_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

Attribute = str | int | float | bool | None

_EMPTY = frozenset({"meta", "rect", "line", "path", "circle", "use"})


class Markup(str):
    """Text that is HTML already. Only this module makes it."""

    __slots__ = ()


Child = str | Markup | None


def tag(name: str, /, *children: Child | Iterable[Child], **attributes: Attribute) -> Markup:
    """An element. Plain strings are escaped, `Markup` is taken as it is, `None` is left out.

    `_` in the name of an attribute becomes `-`; a trailing one is dropped, for `class_`. `True` is an attribute without a value,
    `None` and `False` are none.
    """
    opened = "".join([name, *(_attribute(key, value) for key, value in attributes.items())])
    if name in _EMPTY and not children:
        return Markup(f"<{opened}/>")
    return Markup(f"<{opened}>{join(*children)}</{name}>")


def join(*children: Child | Iterable[Child]) -> Markup:
    """Elements and texts one behind the other."""
    return Markup("".join(_child(child) for child in children))


def style(css: str) -> Markup:
    """Our own style sheet in its element."""
    return Markup(f"<style>\n{css}</style>")


def document(*children: Child) -> str:
    """A whole page."""
    return f"<!DOCTYPE html>\n{join(*children)}\n"


def embedded_json(identity: str, value: object) -> Markup:
    """Data for programs that read the page. No text in it can end the element or begin another."""
    text = _json(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{html.escape(identity)}">{text}</script>')


def _json(value: object) -> str:
    """The value as JSON; a name that no encoder takes (a file system has such) with U+FFFD in it."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(value)).decode()


def _encodable(value: object) -> object:
    match value:
        case str():
            return replace_lone_surrogates(value)
        case dict():
            return {_encodable(key): _encodable(member) for key, member in value.items()}
        case list() | tuple():
            return [_encodable(member) for member in value]
        case _:
            return value


def _child(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return html.escape(safe(child), quote=False)
    return "".join(_child(one) for one in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = _number(value) if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(safe(text))}"'


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
