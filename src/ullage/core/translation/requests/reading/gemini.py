"""Requests of Gemini generateContent, in either spelling of its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.core.profiles.thinking import level_of_budget
from ullage.core.translation.efforts import effort_of_word
from ullage.core.translation.losses import refuse
from ullage.core.translation.nouns import (
    UNSIGNED,
    AnswerFormat,
    Call,
    Effort,
    Media,
    Message,
    Reasoning,
    Request,
    Result,
    Sampling,
    Text,
    ToolChoice,
)
from ullage.core.translation.sealing import unwrap
from ullage.core.wire.jsontext import compact
from ullage.core.wire.requests.gemini import pick, snake

from .common import (
    as_dict,
    as_list,
    as_text,
    function_tool,
    hosted_tools,
    instructions,
    number,
    objects,
    stops,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.core.translation.losses import Losses
    from ullage.core.translation.nouns import Part, Tool, ToolMode

_KNOWN = ("model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "cachedContent")
_KNOWN_CONFIG = (
    *("temperature", "topP", "topK", "maxOutputTokens", "stopSequences", "frequencyPenalty", "presencePenalty", "seed"),
    *(
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "thinkingConfig",
        "candidateCount",
        "responseLogprobs",
    ),
    *("responseModalities", "logprobs", "speechConfig"),
)
_MODES: dict[str, ToolMode] = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_OUTPUTS = ("output", "result", "content")


def read(payload: dict[str, Any], losses: Losses) -> Request:
    """The request. Raises `TranslationRefused`."""
    if pick(payload, "cachedContent") is not None:
        raise refuse("cachedContent", "what it holds lies at the client's provider; send the whole conversation.")
    _note_rest(payload, _KNOWN, losses)
    config = as_dict(pick(payload, "generationConfig"))
    _refuse_what_no_target_can(config)
    _note_rest(config, _KNOWN_CONFIG, losses, inside="generationConfig.")
    return Request(
        system=_system(pick(payload, "systemInstruction"), losses),
        messages=tuple(_message(as_dict(one), losses) for one in as_list(payload.get("contents"))),
        tools=_tools(objects(payload.get("tools"), "tools"), losses),
        tool_choice=_tool_choice(as_dict(pick(as_dict(pick(payload, "toolConfig")), "functionCallingConfig"))),
        format=_format(config),
        effort=_effort(as_dict(pick(config, "thinkingConfig"))),
        sampling=Sampling(
            max_tokens=whole(pick(config, "maxOutputTokens"), "maxOutputTokens", least=1),
            temperature=number(config.get("temperature"), "temperature"),
            top_p=number(pick(config, "topP"), "topP"),
            top_k=whole(pick(config, "topK"), "topK"),
            stop=stops(pick(config, "stopSequences"), "stopSequences"),
            frequency_penalty=number(pick(config, "frequencyPenalty"), "frequencyPenalty"),
            presence_penalty=number(pick(config, "presencePenalty"), "presencePenalty"),
            seed=whole(config.get("seed"), "seed"),
        ),
    )


def _note_rest(payload: dict[str, Any], known: Iterable[str], losses: Losses, *, inside: str = "") -> None:
    names = {spelled for name in known for spelled in (name, snake(name))}
    for key, value in payload.items():
        if key not in names and value not in (None, [], {}):
            losses.add("not_carried", f"{inside}{key}", "The target's protocol has no place for it.")


def _refuse_what_no_target_can(config: dict[str, Any]) -> None:
    if (whole(pick(config, "candidateCount"), "candidateCount") or 1) != 1:
        raise refuse("candidateCount", "several answers to one request have no place in the target's protocol.")
    if pick(config, "responseLogprobs") or config.get("logprobs"):
        raise refuse("responseLogprobs", "the target's protocol gives no probabilities.")
    modalities = [as_text(one).upper() for one in as_list(pick(config, "responseModalities"))]
    if modalities not in ([], ["TEXT"]) or pick(config, "speechConfig"):
        raise refuse("responseModalities", "answers that are more than text cannot be carried.")


def _system(value: Any, losses: Losses) -> tuple[Text, ...]:
    parts = as_dict(value).get("parts") if isinstance(value, dict) and "parts" in value else value
    return instructions(parts, "systemInstruction", losses)


def _message(content: dict[str, Any], losses: Losses) -> Message:
    """One content. Gemini's own signature of a call or a text is reasoning before it."""
    parts: list[Part] = []
    for part in as_list(content.get("parts")):
        block = part if isinstance(part, dict) else {"text": as_text(part)}
        for found in _parts(block, losses):
            before = parts[-1] if parts else None
            if isinstance(found, Reasoning) and isinstance(before, Reasoning) and before.seal is None:
                parts[-1] = Reasoning(text=before.text + found.text, seal=found.seal)
            else:
                parts.append(found)
    return Message(role="assistant" if content.get("role") == "model" else "user", parts=tuple(parts))


def _parts(block: dict[str, Any], losses: Losses) -> list[Part]:
    signature = as_text(pick(block, "thoughtSignature"))
    seal = unwrap(signature, "gemini") if signature and signature not in UNSIGNED else None
    if block.get("thought") is True:
        return [Reasoning(text=as_text(block.get("text")), seal=seal)]
    lead: list[Part] = [Reasoning(seal=seal)] if seal is not None else []
    call, response = pick(block, "functionCall"), pick(block, "functionResponse")
    inline, file = pick(block, "inlineData"), pick(block, "fileData")
    if isinstance(call, dict):
        arguments = compact(call.get("args") or {})
        return [*lead, Call(id=as_text(call.get("id")), name=as_text(call.get("name")), arguments=arguments)]
    if isinstance(response, dict):
        return [_result(response)]
    if isinstance(inline, dict):
        return [_inline(inline)]
    if isinstance(file, dict):
        return [_file(file)]
    if isinstance(block.get("text"), str):
        return [*lead, Text(text=block["text"])]
    for key in block:
        losses.add("not_carried", f"contents.{key}", "The target's protocol has no such part.")
    return lead


def _result(response: dict[str, Any]) -> Result:
    """An object of any shape: what it says under Google's own names is its text, else all of it is."""
    answer = response.get("response")
    found = as_dict(answer)
    name = next((key for key in ("error", *_OUTPUTS) if list(found) == [key]), None)
    text = as_text(found[name] if name is not None else answer)
    nested = [as_dict(part) for part in as_list(response.get("parts"))]
    media = [_inline(inline) for part in nested if isinstance(inline := pick(part, "inlineData"), dict)]
    return Result(
        id=as_text(response.get("id")),
        name=as_text(response.get("name")),
        parts=(Text(text=text), *media),
        is_error=name == "error",
    )


def _inline(blob: dict[str, Any]) -> Media:
    mime = as_text(pick(blob, "mimeType"))
    _refuse_sound(mime)
    kind = "image" if mime.startswith("image/") else "document"
    data = as_text(blob.get("data")).replace("-", "+").replace("_", "/")
    return Media(
        kind="image" if kind == "image" else "document", mime=mime, data=data, name=as_text(pick(blob, "displayName"))
    )


def _file(file: dict[str, Any]) -> Media:
    mime, url = as_text(pick(file, "mimeType")), as_text(pick(file, "fileUri"))
    _refuse_sound(mime)
    if not url.startswith(("http://", "https://")) or "generativelanguage.googleapis.com" in url:
        raise refuse("contents.fileData", "files that the client's provider keeps cannot be read from here.")
    return Media(kind="image" if mime.startswith("image/") else "document", mime=mime, url=url)


def _refuse_sound(mime: str) -> None:
    if mime.startswith(("audio/", "video/")):
        raise refuse("contents.inlineData", "sound and film cannot be carried.")


def _tools(specs: list[dict[str, Any]], losses: Losses) -> tuple[Tool, ...]:
    tools: list[Tool] = []
    hosted: list[str] = []
    for spec in specs:
        declared = pick(spec, "functionDeclarations")
        keys = ("parametersJsonSchema", "parameters_json_schema")
        for declaration in map(as_dict, as_list(declared)):
            tool = function_tool(declaration, *keys)
            tools.append(tool if tool.schema is not None else _typed_tool(declaration))
        names = ("functionDeclarations", "function_declarations")
        hosted += [key for key, value in spec.items() if key not in names and value is not None]
    hosted_tools(hosted, tools, losses)
    return tuple(tools)


def _typed_tool(declaration: dict[str, Any]) -> Tool:
    """A tool whose parameters are in Gemini's own form of schemas, in that of JSON schema."""
    parameters = declaration.get("parameters")
    schema = json_schema(parameters) if isinstance(parameters, dict) else None
    return function_tool({**declaration, "parameters": schema}, "parameters")


def json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Gemini's schema as JSON schema: types in lower case, and null for what may be nothing."""
    written: dict[str, Any] = {}
    for key, value in schema.items():
        match key:
            case "type" if isinstance(value, str):
                written["type"] = value.lower()
            case "properties" if isinstance(value, dict):
                written["properties"] = {name: json_schema(as_dict(inner)) for name, inner in value.items()}
            case "items" if isinstance(value, dict):
                written["items"] = json_schema(value)
            case "anyOf" | "any_of":
                written["anyOf"] = [json_schema(as_dict(inner)) for inner in as_list(value)]
            case "nullable" | "propertyOrdering" | "property_ordering":
                pass
            case _:
                written[_CAMEL.get(key, key)] = value
    if schema.get("nullable") is True and isinstance(written.get("type"), str):
        written["type"] = [written["type"], "null"]
    return written


_CAMEL = {
    snake(name): name for name in ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
}


def _tool_choice(config: dict[str, Any]) -> ToolChoice | None:
    mode = _MODES.get(as_text(config.get("mode")).upper())
    if mode is None:
        return None
    names = tuple(as_text(name) for name in as_list(pick(config, "allowedFunctionNames")))
    if mode == "required" and len(names) == 1:
        return ToolChoice(mode="tool", name=names[0])
    return ToolChoice(mode=mode, allowed=names)


def _format(config: dict[str, Any]) -> AnswerFormat | None:
    standard = pick(config, "responseJsonSchema")
    own = pick(config, "responseSchema")
    if isinstance(standard, dict):
        return AnswerFormat(kind="schema", schema=standard)
    if isinstance(own, dict):
        return AnswerFormat(kind="schema", schema=json_schema(own))
    kind = as_text(pick(config, "responseMimeType"))
    if kind == "application/json":
        return AnswerFormat(kind="json")
    if kind not in ("", "text/plain"):
        raise refuse("responseMimeType", f"answers of the kind {kind} cannot be asked of another provider.")
    return None


def _effort(config: dict[str, Any]) -> Effort | None:
    shown = pick(config, "includeThoughts") is True
    word = effort_of_word(pick(config, "thinkingLevel"), shown=shown)
    if word is not None:
        return word
    budget = whole(pick(config, "thinkingBudget"), "thinkingBudget")
    if budget is not None:
        return Effort(level=level_of_budget(budget), shown=shown)
    return Effort(shown=True) if shown else None
