"""The server: which tools there are, how they are described to a model, and what a client is told of their effects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio.to_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError

from ullage._version import __version__
from ullage.core.errors import UllageError
from ullage.core.evidence.lookup import LINES, MOST_LINES

from .history import RESULTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from .keeping import KeepingTools
    from .tools import Tools

INSTRUCTIONS = (
    "Looks up what this project's conversations no longer hold. A tool result that reads `[ullage artifact: …]` is kept in full: "
    "artifact_search finds a phrase in it, artifact_read shows its lines. history_search looks through recorded sessions of this "
    "project. pin and remember keep something for later requests: call them when the user asks for it."
)

_LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
# They add and never remove: what is superseded stays in the log. What is there already is not added again.
_KEEPS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Id = Annotated[
    str, Field(description="The artifact id of a reference (or its first 8 digits), or artifact://sha256/….")
]
Line = Annotated[int, Field(description="The first line to show, from 1.", ge=1)]
Lines = Annotated[int, Field(description=f"How many lines at most, up to {MOST_LINES}.", ge=1, le=MOST_LINES)]


class _Server(MCPServer[Any]):
    """Tells a model in our words what is wrong with its arguments."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_tell_arguments(name, error.__cause__)) from error.__cause__
            raise


def _tell_arguments(name: str, error: ValidationError) -> str:
    """What is wrong with each argument, without its value."""
    wrong = (
        f"`{'.'.join(map(str, one['loc']))}` "
        + ("is missing" if one["type"] == "missing" else one["msg"].removeprefix("Input ").replace('"', "'"))
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return f"{name} was not run: {'; '.join(wrong)}."


def make_server(tools: Tools) -> MCPServer[Any]:
    """A server over these tools, not yet running: on standard input and output, or mounted in another application."""
    server = _Server("ullage", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    _add_lookups(server, tools)
    _add_keeping(server, tools.keeping)
    return server


def _add_lookups(server: MCPServer[Any], tools: Tools) -> None:
    tool = partial(server.tool, annotations=_LOOKS, structured_output=False)

    @tool()
    async def artifact_search(
        id: Id,  # noqa: A002 - the word of the reference
        query: Annotated[str, Field(description="A phrase of 2 to 200 characters, found in whatever case.")],
        max_matches: Annotated[int, Field(description="How many matches to show at most.", ge=1, le=100)] = 12,
    ) -> str:
        """Find a phrase in a large tool result that was kept: each match with its line and what stands around it."""
        return await _answer(tools.artifacts.search, id, query, max_matches)

    @tool()
    async def artifact_read(id: Id, line: Line = 1, lines: Lines = LINES) -> str:  # noqa: A002 - as above
        """Show lines of a large tool result that was kept."""
        return await _answer(tools.artifacts.read, id, line, lines)

    @tool()
    async def history_search(
        query: Annotated[str, Field(description="A phrase, or words that must all occur in one message.")],
        max_results: Annotated[int, Field(description="How many results to show at most.", ge=1, le=RESULTS)] = RESULTS,
    ) -> str:
        """Find messages of earlier conversations about this project: in the session files of its coding agents and in tool
        results that were kept. The answer says what was searched."""
        return await _answer(tools.history.search, query, max_results)

    @tool()
    async def history_read(
        handle: Annotated[str, Field(description="The handle of a result of history_search.")],
        line: Line = 1,
        lines: Lines = LINES,
    ) -> str:
        """Show lines of a message that history_search found."""
        return await _answer(tools.history.read, handle, line, lines)


def _add_keeping(server: MCPServer[Any], keeping: KeepingTools) -> None:
    looks = partial(server.tool, annotations=_LOOKS, structured_output=False)
    keeps = partial(server.tool, annotations=_KEEPS, structured_output=False)

    @keeps()
    async def pin(
        text: Annotated[str, Field(description="What must be in every later request, in at most 4,000 characters.")],
    ) -> str:
        """Pin a text for this project: it goes with every later request until the user takes it back. Only if the user asks."""
        return await _answer(keeping.pin, text)

    @keeps()
    async def remember(
        claim: Annotated[str, Field(description="One fact in a sentence, in at most 2,000 characters.")],
        key: Annotated[
            str | None, Field(description="A short name for what it is about; found by itself if left out.")
        ] = None,
        supersedes: Annotated[
            str | None,
            Field(description="The id of the memory that it replaces, as list_memories or a refusal names it."),
        ] = None,
    ) -> str:
        """Remember a fact about this project: it is given to later requests that it bears on. Only if the user asks."""
        return await _answer(keeping.remember, claim, key, supersedes)

    @looks()
    async def list_pins() -> str:
        """List what is pinned for this project."""
        return await _answer(keeping.list_kept, "pin")

    @looks()
    async def list_memories() -> str:
        """List what is remembered for this project."""
        return await _answer(keeping.list_kept, "memory")


async def _answer(work: Callable[..., str], *arguments: Any) -> str:
    """Runs beside the loop, which goes on answering; a fault of ours reads as the model can use it."""
    try:
        return await anyio.to_thread.run_sync(partial(work, *arguments))
    except UllageError as error:
        raise ToolError(f"{error.message} {error.hint}".strip()) from error
