"""What the writers of all dialects share."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ullage.core.translation.arguments import INPUT, as_object, input_as_arguments
from ullage.core.translation.losses import refuse
from ullage.core.translation.models import has_fixed_sampling
from ullage.core.translation.nouns import Media, Refusal, Text
from ullage.core.translation.tellings import tell_fixed_sampling, tell_shortened
from ullage.core.wire.requests.parts import as_list

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import AnswerFormat, Call, Request, Result, Sampling, Tool
    from ullage.core.translation.target import Target

_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
_CUSTOM: dict[str, Any] = {
    "type": "object",
    "properties": {INPUT: {"type": "string", "description": "The whole input as plain text."}},
    "required": [INPUT],
}
_DEFAULT_IMAGE = "image/png"
_DEFAULT_DOCUMENT = "application/pdf"
_BY_ENDING = {
    **{ending: f"image/{ending}" for ending in ("png", "jpeg", "webp", "gif", "heic", "heif", "bmp")},
    "jpg": "image/jpeg",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
}


def schema_of(tool: Tool) -> dict[str, Any]:
    """The schema of a tool's arguments: those of a custom tool are one text."""
    if tool.custom:
        return _CUSTOM
    schema = tool.schema or _EMPTY
    return schema if schema.get("type") == "object" else {**_EMPTY, **schema, "type": "object"}


def description_of(tool: Tool) -> str:
    """The description, with the grammar of a custom tool where the target knows no grammars."""
    grammar = tool.format.get("definition") if tool.custom and isinstance(tool.format, dict) else None
    if not isinstance(grammar, str) or not grammar:
        return tool.description
    syntax = tool.format.get("syntax") or "grammar"
    return f"{tool.description}\n\nThe input must follow this {syntax}:\n{grammar}".lstrip()


def arguments_text(call: Call) -> str:
    """The arguments as JSON text."""
    return input_as_arguments(call.arguments) if call.custom else call.arguments or "{}"


def arguments_object(call: Call) -> dict[str, Any]:
    """The arguments as an object."""
    return {INPUT: call.arguments} if call.custom else as_object(call.arguments)


def joined(parts: Iterable[Any]) -> str:
    """The texts among the parts, with a line between."""
    return "\n\n".join(part.text for part in parts if isinstance(part, Text | Refusal))


def linked_mime(url: str) -> str:
    """The media type that the end of an address names; empty where it names none."""
    ending = url.partition("?")[0].partition("#")[0].rpartition(".")[2].lower()
    return _BY_ENDING.get(ending, "")


def mime_of(media: Media) -> str:
    """The media type; where nobody said, the usual one of its kind."""
    return media.mime or (_DEFAULT_IMAGE if media.kind == "image" else _DEFAULT_DOCUMENT)


def data_url(media: Media) -> str:
    """The address of a picture or document, or a data URL that holds it."""
    return media.url or f"data:{mime_of(media)};base64,{media.data}"


def with_readable(part: Text | Media) -> Text | Media:
    """A document of text as its text, with its name: every model reads that."""
    if not isinstance(part, Media) or part.kind != "document" or part.url or not part.mime.startswith("text/"):
        return part
    try:
        text = binascii.a2b_base64(part.data).decode("utf-8", "replace")
    except binascii.Error:
        raise refuse("messages.document", "its data is no base64.") from None
    return Text(text=f"{part.name}\n\n{text}".lstrip(), mark=part.mark)


def settle_sampling(request: Request, target: Target, losses: Losses, *, hottest: float) -> Sampling:
    """Temperature and its kin within what the model takes, and no longer an answer than it can give."""
    sampling = request.sampling
    most = target.max_output_tokens
    if most is not None and sampling.max_tokens is not None and sampling.max_tokens > most:
        tell_shortened(losses, most)
        sampling = replace(sampling, max_tokens=most)
    told = (sampling.temperature, sampling.top_p, sampling.top_k)
    if has_fixed_sampling(target.model) and any(one is not None for one in told):
        tell_fixed_sampling(losses)
        return replace(sampling, temperature=None, top_p=None, top_k=None)
    if sampling.temperature is not None and sampling.temperature > hottest:
        losses.add("temperature", "temperature", f"The target's highest temperature is {hottest:g}.")
        sampling = replace(sampling, temperature=hottest)
    return sampling


def drop_sampling(sampling: Sampling, losses: Losses, *names: str) -> None:
    """Tells of what was asked for and has no place in the dialect."""
    for name in names:
        if getattr(sampling, name) is not None:
            losses.add("sampling", name, "The target's protocol has no such member.")


def check_stops(sampling: Sampling, limit: int) -> list[str]:
    """The stop sequences. Raises the refusal of more than the dialect takes: one less would change the answer."""
    if len(sampling.stop) > limit:
        raise refuse("stop", f"the target takes at most {limit} stop sequences, not {len(sampling.stop)}.")
    return list(sampling.stop)


def drop_error_flag(results: Iterable[Result], losses: Losses) -> None:
    """OpenAI's dialects have no mark for a result that is an error; its text stays."""
    if any(result.is_error for result in results):
        losses.add("error_flag", "messages", "The target's protocol does not mark results as errors; their text stays.")


def openai_schema(wanted: AnswerFormat) -> dict[str, Any]:
    """The members of OpenAI's JSON-schema formats. A schema that fits its strict form is strict, as Anthropic's are."""
    schema = wanted.schema or _EMPTY
    strict = wanted.strict if wanted.strict is not None else _is_strict(schema)
    spec: dict[str, Any] = {"name": wanted.name or "answer", "schema": schema, "strict": strict}
    return {**spec, "description": wanted.description} if wanted.description else spec


def _is_strict(schema: Any) -> bool:
    """Whether every object names all of its members as required and allows no others."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    if "object" in as_list(schema.get("type")) or "properties" in schema:
        properties = schema.get("properties")
        names = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False or set(schema.get("required") or ()) != names:
            return False
    return all(map(_is_strict, schema.values()))


def drop_strict(tools: Iterable[Tool], losses: Losses) -> None:
    """Tells of tools whose arguments were to be held to their schema."""
    for tool in tools:
        if tool.strict:
            losses.add("strict", "tools.strict", "The target does not hold arguments to their schema.")
