"""Gemini generateContent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.testing.prompt import OfferedTool, Piece, Prompt, as_dict, as_list, media_piece, piece, required

from .events import encode, fragments, seal

if TYPE_CHECKING:
    from ullage.core.content import Usage
    from ullage.core.wire import Dialect
    from ullage.testing.prompt import Generation

name: Dialect = "gemini"
PING = b""
END: list[bytes] = []
REQUEST_ID = "x-request-id"

_STOP = {
    "end": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "stop_sequence": "STOP",
    "refusal": "SAFETY",
    "pause": "STOP",
}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _get(value: dict[str, Any], camel: str, snake: str) -> Any:
    """A field by either of the two spellings that the service accepts."""
    return value.get(camel, value.get(snake))


def read(payload: dict[str, Any], model: str | None, stream: bool | None) -> Prompt:
    """Reads a generateContent request, for `countTokens` also inside a `generateContentRequest`."""
    payload = as_dict(payload.get("generateContentRequest")) or payload
    contents = [as_dict(content) for content in as_list(required(payload, "contents"))]
    config = as_dict(_get(payload, "generationConfig", "generation_config"))
    thinking = as_dict(_get(config, "thinkingConfig", "thinking_config"))
    schema = _get(config, "responseSchema", "response_schema") or _get(
        config, "responseJsonSchema", "response_json_schema"
    )
    declarations = [
        as_dict(declaration)
        for tool in map(as_dict, as_list(payload.get("tools")))
        for declaration in as_list(_get(tool, "functionDeclarations", "function_declarations"))
    ]
    return Prompt(
        dialect=name,
        model=model or "",
        stream=stream is True,
        pieces=_pieces(payload, declarations, contents),
        tools=tuple(
            OfferedTool(
                name=str(declaration.get("name")),
                schema=as_dict(declaration.get("parameters") or declaration.get("parametersJsonSchema")),
            )
            for declaration in declarations
        ),
        user_text=_last_user_text(contents),
        result_text=_trailing_results(contents),
        schema=as_dict(schema) or None,
        wants_json=_get(config, "responseMimeType", "response_mime_type") == "application/json",
        wants_thinking=_get(thinking, "includeThoughts", "include_thoughts") is True,
        payload=payload,
    )


def _parts(content: Any) -> list[dict[str, Any]]:
    return [as_dict(part) for part in as_list(as_dict(content).get("parts"))]


def _pieces(
    payload: dict[str, Any], declarations: list[dict[str, Any]], contents: list[dict[str, Any]]
) -> tuple[Piece, ...]:
    found = [piece("tool", declaration) for declaration in declarations]
    system = _get(payload, "systemInstruction", "system_instruction")
    found += [piece("system", part) for part in _parts(system)]
    for content in contents:
        for part in _parts(content):
            part = {key: value for key, value in part.items() if key != "thoughtSignature"}
            is_media = any(key in part for key in ("inlineData", "inline_data", "fileData", "file_data"))
            found.append((media_piece if is_media else piece)(str(content.get("role", "user")), part))
    return tuple(found)


def _response_of(part: dict[str, Any]) -> dict[str, Any] | None:
    response = _get(part, "functionResponse", "function_response")
    return response if isinstance(response, dict) else None


def _last_user_text(contents: list[dict[str, Any]]) -> str:
    for content in reversed(contents):
        parts = _parts(content)
        if content.get("role", "user") == "user" and not any(_response_of(part) for part in parts):
            return "\n\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return ""


def _trailing_results(contents: list[dict[str, Any]]) -> str | None:
    responses = [response for part in _parts(contents[-1] if contents else {}) if (response := _response_of(part))]
    if not responses:
        return None
    return "\n\n".join(_result_text(as_dict(response.get("response"))) for response in responses)


def _result_text(response: dict[str, Any]) -> str:
    output = response.get("output", response.get("result"))
    return output if isinstance(output, str) else encode(response).decode()


def usage_payload(usage: Usage) -> dict[str, Any]:
    """Usage in Gemini's words: cached tokens are inside the prompt, thoughts beside the candidates."""
    prompt, output, thoughts = usage.prompt or 0, usage.output or 0, usage.reasoning or 0
    payload: dict[str, Any] = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": output - thoughts,
        "totalTokenCount": prompt + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }
    if thoughts:
        payload["thoughtsTokenCount"] = thoughts
    if usage.cache_read:
        payload["cachedContentTokenCount"] = usage.cache_read
        payload["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cache_read}]
    return payload


def _call_parts(generation: Generation) -> list[dict[str, Any]]:
    """Function calls are never cut in pieces; the first carries the signature of the thoughts before it."""
    parts: list[dict[str, Any]] = []
    for index, call in enumerate(generation.reply.tool_calls):
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        function = {"name": call.name, "args": arguments}
        if call.id:
            function["id"] = call.id
        part: dict[str, Any] = {"functionCall": function}
        if index == 0:
            part["thoughtSignature"] = seal(call.name)
        parts.append(part)
    return parts


def _chunk(generation: Generation, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    usage = usage_payload(generation.usage)
    if last:
        candidate["finishReason"] = _STOP[generation.reply.stop_reason]
    else:
        prompt = usage["promptTokenCount"]
        kept = ("promptTokenCount", "promptTokensDetails", "cachedContentTokenCount", "cacheTokensDetails")
        usage = {key: usage[key] for key in kept if key in usage} | {"totalTokenCount": prompt}
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": generation.model,
        "responseId": f"resp{generation.number:016d}",
    }


def answer(generation: Generation) -> bytes:
    """The whole answer as one JSON body."""
    reply = generation.reply
    parts: list[dict[str, Any]] = []
    if reply.thinking:
        parts.append({"text": reply.thinking, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    return encode(_chunk(generation, parts + _call_parts(generation), last=True))


def chunks(generation: Generation) -> list[bytes]:
    """The answer as JSON objects, one per streamed chunk."""
    reply = generation.reply
    parts: list[dict[str, Any]] = [
        {"text": text, "thought": True} for text in fragments(reply.thinking, reply.fragment_chars)
    ]
    parts += [{"text": text} for text in fragments(reply.text, reply.fragment_chars)]
    parts += _call_parts(generation)
    if not parts or "functionCall" in parts[-1]:
        parts.append({"text": ""})
    last = len(parts) - 1
    return [encode(_chunk(generation, [part], last=index == last)) for index, part in enumerate(parts)]


def events(generation: Generation) -> list[bytes]:
    """The answer as server-sent events; this provider ends its lines with CR LF."""
    return [b"data: " + chunk + b"\r\n\r\n" for chunk in chunks(generation)]


def array_parts(generation: Generation) -> list[bytes]:
    """The answer as one JSON array that arrives chunk by chunk: what a stream is without `alt=sse`."""
    objects = chunks(generation)
    return [b"[" + objects[0], *(b",\r\n" + chunk for chunk in objects[1:]), b"]"]


def error(status: int, message: str, code: str | None = None, wait_s: float | None = None) -> bytes:
    """An error body; `code` replaces the status word, `wait_s` is told as a detail."""
    word = code or _ERRORS.get(status, "UNAVAILABLE" if status >= 500 else "FAILED_PRECONDITION")
    body: dict[str, Any] = {"code": status, "message": message, "status": word}
    if wait_s is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        body["details"] = [{"@type": kind, "retryDelay": f"{wait_s:g}s"}]
    return encode({"error": body})


def error_event(status: int, message: str) -> bytes:
    """An error in the middle of a stream: a data line that holds the error body."""
    return b"data: " + error(status, message) + b"\r\n\r\n"


def rate_limit_headers(now_s: float, wait_s: float) -> list[tuple[str, str]]:
    """This provider sends no such headers: the wait stands in the body."""
    return []


def count(prompt: Prompt) -> bytes:
    """The answer of `countTokens`."""
    tokens = prompt.tokens
    return encode({"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]})
