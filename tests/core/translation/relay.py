"""A gateway in memory: official SDKs on one side, the fake provider on the other, the translation between, and no socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import anthropic
import httpx2
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from ullage.core.content import Usage
from ullage.core.translation import AnswerTranslator, Loss, Target, TranslatedRequest, translate_request
from ullage.core.wire import DIALECTS, Dialect, parse_request
from ullage.testing import Fault, Reply, Rule, ToolUse
from ullage.testing.answering import Answerer
from ullage.testing.cache import POLICIES
from ullage.testing.recording import Received
from ullage.testing.routes import Route, find_route
from ullage.testing.script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOW_MS = 1_780_000_000_000
MODELS: dict[Dialect, str] = {
    "openai-chat": "deepseek-chat",
    "openai-responses": "gpt-5.2",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
}
USAGE = Usage(input_fresh=93, cache_read=20, cache_write=7, output=50, reasoning=9)
PAIRS = [(client, target) for client in DIALECTS for target in DIALECTS if client != target]
PAIR_IDS = [f"{client} client, {target} target" for client, target in PAIRS]


Handler = Callable[[httpx2.Request], httpx2.Response]


class Exchange(NamedTuple):
    """What went through the gateway once."""

    sent: bytes
    translated: TranslatedRequest
    answered: bytes
    translator: AnswerTranslator


class Relay:
    """The handler of an SDK's transport: a request comes in as the client wrote it, its answer goes out in the client's dialect.

    The provider is strict: it refuses what real ones refuse. `chunk_bytes` is the size in which its bytes arrive.
    """

    def __init__(
        self, target: Target, *script: Rule | Reply | Fault, chunk_bytes: int | None = None, strict: bool = True
    ) -> None:
        self.exchanges: list[Exchange] = []
        self._target = target
        self._chunk_bytes = chunk_bytes
        self._provider = Answerer(
            Script(script), models=(), clock=lambda: NOW_MS / 1000, policies=POLICIES, strict=strict
        )

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()
        received = _received(request.method, request.url.raw_path.decode(), body)
        route = find_route(received)
        conversation = parse_request(
            body, route.dialect, path_model=route.model, path_stream=route.stream if route.dialect == "gemini" else None
        )
        translated = translate_request(conversation, self._target)
        status, parts, streamed = self._ask(translated)
        translator = AnswerTranslator(
            self._target.dialect, route.dialect, terms=translated.terms, request_id="req1", now_ms=NOW_MS
        )
        if not streamed:
            answer = translator.whole(status, b"".join(parts))
            status = translator.status
        else:
            pieces = [translator.feed(piece) for piece in _cut(b"".join(parts), self._chunk_bytes)]
            answer = b"".join([*pieces, translator.finish()])
        self.exchanges.append(Exchange(body, translated, answer, translator))
        kind = "text/event-stream" if streamed else "application/json"
        return httpx2.Response(status, headers={"content-type": kind}, content=answer)

    @property
    def sent(self) -> dict[str, Any]:
        """What the provider got last."""
        found: dict[str, Any] = json.loads(self.exchanges[-1].translated.body)
        return found

    @property
    def dropped(self) -> tuple[Loss, ...]:
        """What was told of the last request."""
        return self.exchanges[-1].translated.dropped

    def _ask(self, translated: TranslatedRequest) -> tuple[int, list[bytes], bool]:
        dialect, stream = self._target.dialect, translated.terms.stream
        route = Route(kind="generate", dialect=dialect)
        if dialect == "gemini":
            route = Route(kind="generate", dialect=dialect, model=self._target.model, stream=stream)
        outgoing = self._provider.respond(route, _received("POST", "/", translated.body))
        return outgoing.status, outgoing.parts, outgoing.streamed


def _received(method: str, target: str, body: bytes) -> Received:
    return Received(
        number=1, connection=1, method=method, target=target, headers=(), body=body, received_s=NOW_MS / 1000
    )


def _cut(data: bytes, size: int | None) -> Iterator[bytes]:
    for start in range(0, len(data), size or len(data) or 1):
        yield data[start : start + (size or len(data))]


# --- What a program asks, in the words of each SDK ---

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SYSTEM = "You are brief."
QUESTION = "What is the weather?"
LEAD = "I look."
CALLED = ("weather", {"city": "Zürich", "days": 2})
RESULT = "Sun, 20 °C."


class Seen(NamedTuple):
    """What a program got out of an answer, in no SDK's words."""

    text: str = ""
    thinking: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    call_ids: Sequence[str] = ()
    stop: str = ""
    usage: tuple[int | None, ...] = ()
    error: tuple[int | None, str] | None = None


class Asked(NamedTuple):
    """What a program asks: with tools, after a tool was called, with a picture, thinking."""

    tools: bool = False
    after_tool: bool = False
    picture: bool = False
    thinking: bool = False


class Program:
    """A program with the SDK of a dialect, whose provider is the relay or a gateway at `root`; it calls its model `model`."""

    def __init__(
        self, dialect: Dialect, relay: Handler | None = None, *, root: str = "http://relay", model: str = "client-model"
    ) -> None:
        self.model = model
        self._dialect = dialect
        self._root = root
        self._http = httpx2.Client(transport=httpx2.MockTransport(relay) if relay is not None else None)

    @cached_property
    def _openai(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self._root}/v1", api_key="k", max_retries=0, http_client=self._http)

    @cached_property
    def _anthropic(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=self._root, api_key="k", max_retries=0, http_client=self._http)

    @cached_property
    def _gemini(self) -> genai.Client:
        options = genai_types.HttpOptions(base_url=self._root, httpx_client=self._http)
        return genai.Client(api_key="k", http_options=options)

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def ask(self, asked: Asked, *, stream: bool) -> Seen:
        """Asks and reads the answer with the SDK's own types and stream reader."""
        asker = {
            "openai-chat": self._chat,
            "openai-responses": self._responses,
            "anthropic": self._messages,
            "gemini": self._generate,
        }
        try:
            return asker[self._dialect](asked, stream)
        except (openai.APIError, anthropic.APIError) as error:
            return Seen(error=(getattr(error, "status_code", None), _message(error)))
        except genai_errors.APIError as error:
            return Seen(error=(error.code, error.message or ""))

    def _chat(self, asked: Asked, stream: bool) -> Seen:
        arguments = {**chat_request(asked), "model": self.model}
        if not stream:
            answer = self._openai.chat.completions.create(**arguments)
        else:
            options: Any = {"include_usage": True}
            with self._openai.chat.completions.stream(**arguments, stream_options=options) as events:
                try:
                    answer = events.get_final_completion()
                except openai.LengthFinishReasonError as error:
                    answer = error.completion
        choice = answer.choices[0]
        calls = choice.message.tool_calls or []
        usage = answer.usage
        assert usage is not None
        details = usage.prompt_tokens_details
        return Seen(
            text=choice.message.content or "",
            thinking=getattr(choice.message, "reasoning_content", None) or "",
            calls=[(call.function.name, json.loads(call.function.arguments)) for call in calls],
            call_ids=[call.id for call in calls],
            stop=choice.finish_reason,
            usage=(usage.prompt_tokens, details and details.cached_tokens, usage.completion_tokens, usage.total_tokens),
        )

    def _responses(self, asked: Asked, stream: bool) -> Seen:
        arguments = {**responses_request(asked), "model": self.model}
        if not stream:
            answer = self._openai.responses.create(**arguments)
        else:
            with self._openai.responses.stream(**arguments) as events:
                for event in events:
                    if event.type in ("response.completed", "response.incomplete"):
                        answer = event.response
        calls = [item for item in answer.output if item.type == "function_call"]
        thoughts = [part.text for item in answer.output if item.type == "reasoning" for part in item.summary]
        usage = answer.usage
        assert usage is not None
        reason = answer.incomplete_details.reason if answer.incomplete_details else None
        return Seen(
            text=answer.output_text,
            thinking="".join(thoughts),
            calls=[(call.name, json.loads(call.arguments)) for call in calls],
            call_ids=[call.call_id for call in calls],
            stop=reason or answer.status or "",
            usage=(
                usage.input_tokens,
                usage.input_tokens_details.cached_tokens,
                usage.output_tokens,
                usage.total_tokens,
            ),
        )

    def _messages(self, asked: Asked, stream: bool) -> Seen:
        arguments = {**anthropic_request(asked), "model": self.model}
        if not stream:
            answer = self._anthropic.messages.create(**arguments)
        else:
            with self._anthropic.messages.stream(**arguments) as events:
                answer = events.get_final_message()
        calls = [block for block in answer.content if block.type == "tool_use"]
        usage = answer.usage
        return Seen(
            text="".join(block.text for block in answer.content if block.type == "text"),
            thinking="".join(block.thinking for block in answer.content if block.type == "thinking"),
            calls=[(call.name, call.input) for call in calls],
            call_ids=[call.id for call in calls],
            stop=answer.stop_reason or "",
            usage=(
                usage.input_tokens,
                usage.cache_creation_input_tokens,
                usage.cache_read_input_tokens,
                usage.output_tokens,
            ),
        )

    def _generate(self, asked: Asked, stream: bool) -> Seen:
        arguments = {**gemini_request(asked), "model": self.model}
        if stream:
            chunks = list(self._gemini.models.generate_content_stream(**arguments))
        else:
            chunks = [self._gemini.models.generate_content(**arguments)]
        parts = [part for chunk in chunks for part in chunk.parts or []]
        calls = [part.function_call for part in parts if part.function_call]
        finish = chunks[-1].candidates[0].finish_reason if chunks[-1].candidates else None
        usage = chunks[-1].usage_metadata
        assert usage is not None
        return Seen(
            text="".join(part.text or "" for part in parts if not part.thought),
            thinking="".join(part.text or "" for part in parts if part.thought),
            calls=[(call.name or "", call.args) for call in calls],
            call_ids=[call.id or "" for call in calls],
            stop=finish.name if finish else "",
            usage=(
                usage.prompt_token_count,
                usage.cached_content_token_count,
                usage.candidates_token_count,
                usage.thoughts_token_count,
                usage.total_token_count,
            ),
        )


class Programs:
    """One program for each SDK, in front of a relay that is another one each time: making them takes longer than asking."""

    def __init__(self) -> None:
        self._relay: Relay | None = None
        self._programs = {client: Program(client, self._pass) for client in DIALECTS}

    def ask(self, client: Dialect, relay: Relay, asked: Asked, *, stream: bool) -> Relay:
        """Asks; the relay knows then what was sent and answered."""
        self._relay = relay
        self._programs[client].ask(asked, stream=stream)
        return relay

    def _pass(self, request: httpx2.Request) -> httpx2.Response:
        assert self._relay is not None, "it asks"
        return self._relay(request)


def _message(error: Any) -> str:
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    return inner.get("message", "") if isinstance(inner, dict) else str(error)


def chat_request(asked: Asked) -> dict[str, Any]:
    content: Any = QUESTION
    if asked.picture:
        content = [
            {"type": "text", "text": QUESTION},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        ]
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]
    if asked.after_tool:
        function = {"name": CALLED[0], "arguments": json.dumps(CALLED[1])}
        call: dict[str, Any] = {"id": "call_x", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": LEAD, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_x", "content": RESULT},
        ]
    request: dict[str, Any] = {"model": "client-model", "messages": messages, "max_tokens": 4_000}
    if asked.tools:
        function = {"name": "weather", "description": "The weather.", "parameters": SCHEMA}
        request["tools"] = [{"type": "function", "function": function}]
    return {**request, "reasoning_effort": "medium"} if asked.thinking else request


def responses_request(asked: Asked) -> dict[str, Any]:
    content: list[Any] = [{"type": "input_text", "text": QUESTION}]
    if asked.picture:
        content.append({"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"})
    items: list[Any] = [{"role": "user", "content": content}]
    if asked.after_tool:
        items += [
            {"role": "assistant", "content": LEAD},
            {"type": "function_call", "call_id": "call_x", "name": CALLED[0], "arguments": json.dumps(CALLED[1])},
            {"type": "function_call_output", "call_id": "call_x", "output": RESULT},
        ]
    request: dict[str, Any] = {
        "model": "client-model",
        "instructions": SYSTEM,
        "input": items,
        "max_output_tokens": 4_000,
        "store": False,
    }
    if asked.tools:
        request["tools"] = [
            {
                "type": "function",
                "name": "weather",
                "description": "The weather.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ]
    if asked.thinking:
        include = ["reasoning.encrypted_content"]
        request |= {"reasoning": {"effort": "medium", "summary": "auto"}, "include": include}
    return request


def anthropic_request(asked: Asked) -> dict[str, Any]:
    content: Any = QUESTION
    if asked.picture:
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        content = [{"type": "text", "text": QUESTION}, {"type": "image", "source": source}]
    messages: list[Any] = [{"role": "user", "content": content}]
    if asked.after_tool:
        call = {"type": "tool_use", "id": "call_x", "name": CALLED[0], "input": CALLED[1]}
        result = {"type": "tool_result", "tool_use_id": "call_x", "content": RESULT}
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": LEAD}, call]},
            {"role": "user", "content": [result]},
        ]
    request: dict[str, Any] = {"model": "client-model", "system": SYSTEM, "messages": messages, "max_tokens": 12_000}
    if asked.tools:
        request["tools"] = [{"name": "weather", "description": "The weather.", "input_schema": SCHEMA}]
    return {**request, "thinking": {"type": "enabled", "budget_tokens": 8_192}} if asked.thinking else request


def gemini_request(asked: Asked) -> dict[str, Any]:
    parts: list[Any] = [{"text": QUESTION}]
    if asked.picture:
        parts.append({"inline_data": {"mime_type": "image/png", "data": PNG}})
    contents: list[Any] = [{"role": "user", "parts": parts}]
    if asked.after_tool:
        call = {"function_call": {"name": CALLED[0], "args": CALLED[1]}}
        response = {"function_response": {"name": CALLED[0], "response": {"output": RESULT}}}
        contents += [
            {"role": "model", "parts": [{"text": LEAD}, call]},
            {"role": "user", "parts": [response]},
        ]
    config: dict[str, Any] = {
        "system_instruction": SYSTEM,
        "max_output_tokens": 4_000,
        "automatic_function_calling": {"disable": True},
    }
    if asked.tools:
        declaration = {"name": "weather", "description": "The weather.", "parameters_json_schema": SCHEMA}
        config["tools"] = [{"function_declarations": [declaration]}]
    if asked.thinking:
        config["thinking_config"] = {"thinking_budget": 8_192, "include_thoughts": True}
    return {"model": "gemini-client", "contents": contents, "config": config}


# --- What the provider says ---

CALLS = (
    ToolUse(id="call_a", name="weather", arguments={"city": "Zürich", "days": 2}),
    ToolUse(id="call_b", name="weather", arguments={"city": "Oslo"}),
)
REPLIES: dict[str, tuple[Asked, Reply]] = {
    "text": (Asked(), Reply(text="Plain words, “quoted”, and a 🦊.", usage=USAGE, fragment_chars=7)),
    "tools": (Asked(tools=True), Reply(text="I ask.", tool_calls=CALLS[:1], usage=USAGE, fragment_chars=7)),
    "parallel tools": (Asked(tools=True), Reply(tool_calls=CALLS, usage=USAGE, fragment_chars=9)),
    "after a tool": (Asked(tools=True, after_tool=True), Reply(text="It is sunny.", usage=USAGE)),
    "image": (Asked(picture=True), Reply(text="One dot.", usage=USAGE)),
    "reasoning": (
        Asked(thinking=True),
        Reply(text="So it is.", thinking="Let me see what it is.", usage=USAGE, fragment_chars=9),
    ),
    "length stop": (Asked(), Reply(text="It goes on", stop="length", usage=USAGE)),
}


# --- What a program sees of it ---

STOPS: dict[Dialect, dict[str, str]] = {
    "openai-chat": {"end": "stop", "length": "length", "tool_calls": "tool_calls"},
    "openai-responses": {"end": "completed", "length": "max_output_tokens", "tool_calls": "completed"},
    "anthropic": {"end": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"},
    "gemini": {"end": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP"},
}


def usage_in(client: Dialect, target: Dialect) -> tuple[int | None, ...]:
    """The one usage of all replies in the client's terms. Only Anthropic and OpenAI tell of tokens written to a cache."""
    written = 0 if target == "gemini" else 7
    fresh, read, output = 120 - 20 - written, 20, 50
    # Anthropic does not say how much of its output was thinking.
    thoughts = 9 if target != "anthropic" else None
    assert USAGE.prompt == 120
    match client:
        case "anthropic":
            return (fresh, written, read, output)
        case "gemini":
            return (120, read, output - (thoughts or 0), thoughts, 170)
        case _:
            return (120, read, output, 170)
