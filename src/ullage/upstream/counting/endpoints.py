"""Which providers count a request for us, where, and what they take (accounting specification, section 15.1)."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from ullage.core.errors import CallError


class CountEndpoint(Struct, frozen=True, kw_only=True):
    """One count endpoint. `shape` is that of the requests it counts, `tokens` the field of its answer.

    `fields` are the members it takes, in the order in which they are sent; of these, `constant` ones go into every request of an
    isolation, `choice` goes where tools are, and the rest only into the full request. `unseen` are members that bear on the
    prompt and are not taken: without them a count covers a part of the request. `server_tools` are beginnings of tool types, and
    `refused_sources` types of sources, that it rejects. `wrapper` names the objects around the members, from the outermost.
    `not_sent` says why we only build the request, if that is so.
    """

    provider: str
    shape: str
    path: str
    tokens: str
    fields: tuple[str, ...]
    constant: tuple[str, ...] = ()
    choice: str = "tool_choice"
    unseen: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()
    server_tools: tuple[str, ...] = ()
    refused_sources: tuple[str, ...] = ()
    not_sent: str = ""

    def path_for(self, model: str) -> str:
        """The path, with the model where it belongs there."""
        return self.path.replace("{model}", quote(model.removeprefix("models/"), safe=""))


ENDPOINTS: tuple[CountEndpoint, ...] = (
    CountEndpoint(
        provider="openai",
        shape="openai-responses",
        path="/v1/responses/input_tokens",
        tokens="input_tokens",
        # The specification's list, and what the official SDK (openai 3.57.0, InputTokenCountParams) takes beside it.
        fields=(
            "model",
            "instructions",
            "input",
            "tools",
            "tool_choice",
            "reasoning",
            "text",
            "conversation",
            "previous_response_id",
            "parallel_tool_calls",
            "truncation",
        ),
        constant=("model", "reasoning"),
        unseen=("prompt",),
    ),
    CountEndpoint(
        provider="anthropic",
        shape="anthropic",
        path="/v1/messages/count_tokens",
        tokens="input_tokens",
        fields=("model", "system", "tools", "tool_choice", "thinking", "output_config", "messages"),
        constant=("model", "thinking"),
        unseen=("mcp_servers", "container"),
        server_tools=("web_search_", "web_fetch_", "code_execution_", "mcp_toolset", "tool_search_tool_", "advisor_"),
        refused_sources=("url", "file"),
    ),
    CountEndpoint(
        provider="google",
        shape="gemini",
        path="/v1beta/models/{model}:countTokens",
        tokens="totalTokens",
        fields=("model", "systemInstruction", "tools", "toolConfig", "generationConfig", "contents"),
        constant=("model",),
        choice="toolConfig",
        unseen=("cachedContent",),
        wrapper=("generateContentRequest",),
    ),
    CountEndpoint(
        provider="bedrock",
        shape="bedrock",
        path="/model/{model}/count-tokens",
        tokens="inputTokens",
        fields=("messages", "system", "toolConfig", "additionalModelRequestFields"),
        choice="toolConfig",
        unseen=("outputConfig",),
        wrapper=("input", "converse"),
        not_sent="Bedrock wants it signed with AWS credentials, which ullage does not hold",
    ),
)
"""Vertex is left out: its address holds a project and its token is not a key."""


def find_endpoint(provider: str, shape: str) -> CountEndpoint:
    """The endpoint of a provider for requests of a shape.

    Raises `CallError` (`not_counted`): that a request has the shape of a provider does not mean that this one counts it.
    """
    found = next((row for row in ENDPOINTS if (row.provider, row.shape) == (provider, shape)), None)
    if found is not None:
        return found
    known = next((row for row in ENDPOINTS if row.provider == provider), None)
    hint = "`ullage probe` measures a request at any upstream that reports usage."
    if known is None:
        names = ", ".join(row.provider for row in ENDPOINTS)
        raise CallError(
            f"{provider!r} has no count endpoint that is known here: {names} have.", hint=hint, code="not_counted"
        )
    raise CallError(
        f"{provider} counts {known.shape} requests only; this one is {shape}.", hint=hint, code="not_counted"
    )
