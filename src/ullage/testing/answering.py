"""From a request to its answer: the script asked, the caches consulted, the bytes made. No socket is touched here."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from ullage.core.content import Usage

from .behaviour import default_reply
from .bodies import decode_body, decode_head
from .cache import PromptCache
from .continuations import Continuations
from .delivery import Outgoing
from .dialects import DIALECT_MODULES, anthropic, catalogue, gemini, openai_responses
from .faults import HTML_PAGE, Fault, spoil_body, spoil_events
from .members import find_bad_member
from .prompt import Generation, Prompt, text_tokens
from .script import Reply, Rule, Script
from .strict import find_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ullage.core.wire import Dialect

    from .cache import CachePolicy
    from .recording import Received
    from .routes import Route

_FixedKey = tuple["Dialect", str, bool, bool]

_JSON = ("content-type", "application/json")
_EVENTS = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
_MESSAGES = {
    429: "Rate limit reached for this model. Please try again later.",
    500: "The server had an error while processing your request.",
    503: "The model is overloaded. Please try again later.",
    529: "Overloaded",
}
_COUNTERS: dict[Dialect, Callable[[Prompt], bytes]] = {
    "anthropic": anthropic.count,
    "gemini": gemini.count,
    "openai-responses": openai_responses.count,
}
_WAIT_S = 1.0
"""What a 429 tells to wait when its fault does not say."""


class Answerer:
    """The provider without its server: state and rules, from a received request to an outgoing answer."""

    def __init__(
        self,
        script: Script,
        *,
        models: tuple[str, ...],
        clock: Callable[[], float],
        policies: Mapping[Dialect, CachePolicy],
        strict: bool = False,
    ) -> None:
        self._script = script
        self._strict = strict
        self._models = models
        self._clock = clock
        self._cache = PromptCache(clock, policies)
        self._continuations = Continuations()
        self._answers = 0
        self._fixed: dict[_FixedKey, Outgoing] = {}

    def respond(self, route: Route, received: Received) -> Outgoing:
        """The answer to a request of any kind."""
        if route.kind in ("generate", "count"):
            outgoing = self._respond_to_prompt(route, received)
        elif route.kind in ("models", "model"):
            outgoing = self._list_models(route)
        elif route.kind == "response":
            outgoing = self._find_response(route)
        elif route.kind == "hello":
            outgoing = _json(b"{}")
        elif route.kind == "upgrade":
            outgoing = _error(route.dialect, 426, "This server answers with server-sent events; no upgrade.")
        else:
            outgoing = _error(route.dialect, 404, f"Unknown request URL: {received.method} {received.path}.")
        request_id = (DIALECT_MODULES[route.dialect].REQUEST_ID, f"req_{received.number:024d}")
        outgoing.headers = [*outgoing.headers, request_id]
        return outgoing

    def _list_models(self, route: Route) -> Outgoing:
        rule = self._script.pick("models", Prompt(dialect=route.dialect, model=route.name, stream=False))
        if route.kind == "model":
            body = catalogue.model(route.dialect, route.name)
        else:
            body = catalogue.models(route.dialect, self._models)
        return self._apply(rule, route.dialect, body)

    def _find_response(self, route: Route) -> Outgoing:
        generation = self._continuations.find(route.name)
        if generation is None:
            return _error(route.dialect, 404, f"Response with id '{route.name}' not found.")
        return _json(openai_responses.answer(generation))

    def _respond_to_prompt(self, route: Route, received: Received) -> Outgoing:
        received.dialect = route.dialect
        try:
            if self._script.first_fixed and (outgoing := self._replay(route, received)):
                return outgoing
            payload = decode_body(received.body, received.header("content-encoding"))
            if route.dialect == "openai-responses":
                payload = self._continuations.extend(payload)
            prompt = DIALECT_MODULES[route.dialect].read(payload, route.model, route.stream)
        except KeyError as error:
            return _error(
                route.dialect,
                404,
                f"Previous response with id {error} not found.",
                code="previous_response_not_found",
            )
        except ValueError as error:
            return _error(route.dialect, 400, str(error))
        received.model = prompt.model
        if self._strict and (refusal := _find_refusal(route.dialect, prompt)):
            return _error(route.dialect, 400, refusal)
        if route.kind == "count":
            return self._apply(self._script.pick("count", prompt), route.dialect, _COUNTERS[route.dialect](prompt))
        return self._generate(self._script.pick("generate", prompt) or Rule(), prompt, route)

    def _replay(self, route: Route, received: Received) -> Outgoing | None:
        """The answer of a fixed rule that was written before, found without reading the request whole."""
        head = decode_head(received.body)
        stream = head.stream if route.stream is None else route.stream
        prompt = Prompt(dialect=route.dialect, model=route.model or head.model, stream=stream)
        received.model = prompt.model
        found = self._fixed.get(_fixed_key(prompt, head.stream_options.include_usage))
        return copy.copy(found) if found else None

    def _generate(self, rule: Rule, prompt: Prompt, route: Route) -> Outgoing:
        fault = rule.fault
        if fault is not None and (instead := self._instead(fault, prompt.dialect)):
            return instead
        self._answers += 1
        reply = rule.reply or default_reply(prompt)
        if fault is not None and fault.huge_event_bytes is not None:
            reply = Reply(text="x" * fault.huge_event_bytes, fragment_chars=fault.huge_event_bytes)
        usage = reply.usage or self._usage(prompt, reply)
        generation = Generation(number=self._answers, prompt=prompt, reply=reply, usage=usage, created_s=self._clock())
        if prompt.dialect == "openai-responses" and prompt.store:
            self._continuations.put(generation)
        outgoing = _write(generation, fault or Fault(), route)
        outgoing.headers = [*outgoing.headers, *reply.headers.items()]
        outgoing.usage, outgoing.fault = usage, fault
        if reply.body is not None:
            outgoing.parts = [reply.body]
        if reply.fixed and rule is self._script.first_fixed:
            self._fixed[_fixed_key(prompt, prompt.include_usage)] = outgoing
        return outgoing

    def _usage(self, prompt: Prompt, reply: Reply) -> Usage:
        """The input side as the caches say, the output side by the stated count of what is said."""
        taken = self._cache.use(prompt)
        reasoning = text_tokens(reply.thinking)
        calls = sum(text_tokens(call.name) + text_tokens(call.arguments_json) for call in reply.tool_calls)
        return Usage(
            input_fresh=taken.input_fresh,
            cache_read=taken.cache_read,
            cache_write=taken.cache_write,
            cache_write_5m=taken.cache_write_5m,
            cache_write_1h=taken.cache_write_1h,
            output=reasoning + text_tokens(reply.text) + calls,
            reasoning=reasoning,
        )

    def _apply(self, rule: Rule | None, dialect: Dialect, body: bytes) -> Outgoing:
        """A plain answer with what a rule changes of it."""
        rule = rule or Rule()
        if rule.fault is not None and (instead := self._instead(rule.fault, dialect)):
            return instead
        reply = rule.reply or Reply()
        outgoing = _json(reply.body if reply.body is not None else body)
        outgoing.headers += reply.headers.items()
        outgoing.fault = rule.fault
        return outgoing

    def _instead(self, fault: Fault, dialect: Dialect) -> Outgoing | None:
        """What a fault sends in place of the answer, if it does."""
        if fault.html:
            headers = [("content-type", "text/html")]
            return Outgoing(status=fault.status or 502, headers=headers, parts=[HTML_PAGE], fault=fault)
        if fault.empty:
            return Outgoing(status=fault.status or 200, headers=[_JSON], fault=fault)
        if fault.status is None:
            return None
        message = fault.message or _MESSAGES.get(fault.status, "Something went wrong.")
        wait_s = fault.retry_after_s
        if fault.status == 429 and wait_s is None:
            wait_s = _WAIT_S
        outgoing = _error(dialect, fault.status, message, code=fault.code, wait_s=wait_s)
        outgoing.fault = fault
        if wait_s is not None:
            outgoing.headers.append(("retry-after", f"{wait_s:g}"))
        if fault.status == 429:
            module = DIALECT_MODULES[dialect]
            outgoing.headers += module.rate_limit_headers(self._clock(), wait_s or _WAIT_S)
        return outgoing


def _find_refusal(dialect: Dialect, prompt: Prompt) -> str | None:
    return find_refusal(dialect, prompt.payload) or find_bad_member(dialect, prompt.payload, prompt.model)


def _fixed_key(prompt: Prompt, include_usage: bool) -> _FixedKey:
    wants_usage = include_usage or prompt.dialect != "openai-chat"
    return prompt.dialect, prompt.model, prompt.stream, wants_usage


def _write(generation: Generation, fault: Fault, route: Route) -> Outgoing:
    """The bytes of an answer, spoiled as the fault says."""
    module = DIALECT_MODULES[generation.prompt.dialect]
    if not generation.prompt.stream:
        return _json(spoil_body(module.answer(generation), fault))
    if not route.sse:
        return Outgoing(headers=[_JSON], parts=gemini.array_parts(generation), streamed=True)
    message = _MESSAGES.get(fault.error_event_status, "Something went wrong.")
    events = spoil_events(
        module.events(generation),
        fault,
        error=module.error_event(fault.error_event_status, message),
        ping=module.PING,
        end=module.END,
    )
    return Outgoing(headers=list(_EVENTS), parts=events, streamed=True)


def _json(body: bytes, *, status: int = 200) -> Outgoing:
    return Outgoing(status=status, headers=[_JSON], parts=[body])


def _error(
    dialect: Dialect, status: int, message: str, *, code: str | None = None, wait_s: float | None = None
) -> Outgoing:
    return _json(DIALECT_MODULES[dialect].error(status, message, code, wait_s), status=status)
