"""What the readers of all dialects share: odd values bend, and what cannot be carried is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ullage.core.translation.losses import refuse
from ullage.core.translation.nouns import AnswerFormat, Mark, Media, Text, Tool
from ullage.core.translation.tellings import tell_wordless
from ullage.core.wire.media import url_data
from ullage.core.wire.requests.parts import as_dict, as_list, as_text, name_of, type_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ullage.core.translation.losses import Losses

__all__ = [
    "as_dict",
    "as_list",
    "as_text",
    "flag",
    "function_tool",
    "hosted_tools",
    "instructions",
    "mark_of",
    "name_of",
    "note_rest",
    "number",
    "objects",
    "refuse_unless",
    "schema_format",
    "stops",
    "text_of",
    "type_of",
    "url_media",
    "whole",
]

_LARGEST = 1e18


def number(value: Any, where: str) -> float | None:
    """A number; `None` where nothing is said. Raises the refusal of anything else: the client's own provider would refuse it."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        raise refuse(where, "it is no number.")
    return value


def whole(value: Any, where: str, *, least: int | None = None) -> int | None:
    """A whole number, also written as a float; `None` where nothing is said. Raises the refusal of anything else, or of less."""
    found = number(value, where)
    if found is None:
        return None
    if found != int(found):
        raise refuse(where, "it is no whole number.")
    if least is not None and found < least:
        raise refuse(where, f"it is less than {least}.")
    return int(found)


def flag(value: Any) -> bool | None:
    """True or false, else `None`."""
    return value if isinstance(value, bool) else None


def mark_of(block: dict[str, Any]) -> Mark | None:
    """Anthropic's cache mark, which some clients also set on blocks of Chat Completions."""
    mark = block.get("cache_control")
    return mark if isinstance(mark, dict) else None


def text_of(block: Any) -> Text:
    """A block of text, or a text alone."""
    if not isinstance(block, dict):
        return Text(text=as_text(block))
    return Text(text=as_text(block.get("text")), mark=mark_of(block))


def stops(value: Any, where: str) -> tuple[str, ...]:
    """Stop sequences, of which there may be one alone. Raises the refusal of what is no text."""
    found = as_list(value)
    if not all(isinstance(one, str) for one in found):
        raise refuse(where, "a stop sequence is no text.")
    return tuple(filter(None, found))


def objects(value: Any, where: str) -> list[dict[str, Any]]:
    """A list of objects; nothing where nothing is said. Raises the refusal of anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise refuse(where, "it is no list of objects.")
    return value


def instructions(blocks: Any, where: str, losses: Losses) -> tuple[Text, ...]:
    """Instructions, which are texts everywhere; what else is among them is told."""
    texts = []
    for block in as_list(blocks):
        if isinstance(block, dict) and not isinstance(block.get("text"), str):
            tell_wordless(losses, where)
        else:
            texts.append(text_of(block))
    return tuple(texts)


def url_media(
    kind: Literal["image", "document"],
    url: Any,
    *,
    where: str,
    name: Any = None,
    detail: Any = None,
    mark: Mark | None = None,
) -> Media:
    """A picture or document by its address, which may be a data URL that holds it."""
    if not isinstance(url, str) or not url:
        raise refuse(
            where, "it holds no data and no address; files that another provider keeps cannot be read from here."
        )
    if url[:5].lower() == "data:":
        mime, data = url_data(url)
        if data is None:
            raise refuse(where, "its data URL cannot be read.")
        return Media(kind=kind, mime=mime or "", data=data, name=as_text(name), detail=as_text(detail), mark=mark)
    return Media(kind=kind, url=url, name=as_text(name), detail=as_text(detail), mark=mark)


def note_rest(payload: dict[str, Any], known: Collection[str], losses: Losses, *, inside: str = "") -> None:
    """Tells of every member that no reader knows, unless it says nothing."""
    for key, value in payload.items():
        if key not in known and value not in (None, [], {}):
            losses.add("not_carried", f"{inside}{key}", "The target's protocol has no place for it.")


def refuse_unless(payload: dict[str, Any], key: str, harmless: Collection[Any], reason: str) -> None:
    """Raises the refusal of a member that has a value that matters."""
    value = payload.get(key)
    if value is not None and value not in harmless:
        raise refuse(key, reason)


def function_tool(spec: dict[str, Any], *schema_keys: str, mark: Mark | None = None) -> Tool:
    """A function with a JSON schema under one of the keys."""
    schema = next((spec[key] for key in schema_keys if isinstance(spec.get(key), dict)), None)
    return Tool(
        name=as_text(spec.get("name")),
        description=as_text(spec.get("description")),
        schema=schema,
        strict=flag(spec.get("strict")),
        mark=mark,
    )


def hosted_tools(names: Iterable[str], tools: Collection[Tool], losses: Losses) -> None:
    """Tools that the client's provider would run: beside the client's own they are left out, alone they are the request."""
    for name in names:
        if not tools:
            raise refuse(f"tools.{name}", "the client's provider runs this tool itself, and no target can do so.")
        losses.add("hosted_tool", f"tools.{name}", "The client's provider runs this tool itself; it is not offered.")


def schema_format(spec: dict[str, Any]) -> AnswerFormat:
    """An answer of a JSON schema, as OpenAI's dialects name it."""
    return AnswerFormat(
        kind="schema",
        schema=as_dict(spec.get("schema")),
        name=as_text(spec.get("name")),
        description=as_text(spec.get("description")),
        strict=flag(spec.get("strict")),
    )
