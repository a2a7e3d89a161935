"""What a meter must be able to say of every piece of a request, whatever estimator stands behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ullage.core.content import Media, Role, ToolSpec

    from .amounts import Amount
    from .options import Options


class Rule(Protocol):
    """Amounts of contents, and whole tokens of what stands around them."""

    def prose(self, text: str) -> Amount:
        """Text of a system prompt, an instruction file or a skill."""
        ...

    def speech(self, text: str) -> Amount:
        """What a user or a model says, thinking included."""
        ...

    def dense(self, text: str) -> Amount:
        """Text of a tool result, and anything else that is mostly code or data."""
        ...

    def call(self, name: str, arguments: str) -> Amount:
        """A tool call without what stands around it."""
        ...

    def result(self, text: str) -> Amount:
        """The text of a tool result."""
        ...

    def tool(self, spec: ToolSpec) -> Amount:
        """One tool definition, net of what the tool block costs once."""
        ...

    def media(self, media: Media) -> Amount:
        """A picture, document, sound or film."""
        ...

    def schema(self, schema: Any, name: str) -> Amount:
        """An output schema and the name it goes by."""
        ...

    def message_frame(self, role: Role, blocks: int) -> int:
        """Around one message that has a role of its own, with `blocks` parts in it."""
        ...

    def system_frame(self) -> int:
        """Around one system block outside the message list."""
        ...

    def name_frame(self, name: str, role: Role) -> int:
        """Around the name of a speaker."""
        ...

    def call_frame(self) -> int: ...

    def result_frame(self, name: str | None, blocks: int) -> int: ...

    def opening(self) -> int:
        """Once around the whole request."""
        ...

    def hidden(self, options: Options) -> int:
        """Text that the provider puts in, once."""
        ...

    def tool_block(self, options: Options) -> int:
        """Once, with the first tool."""
        ...

    @property
    def tools_method(self) -> str: ...

    @property
    def sealed_thinking(self) -> bool:
        """Whether readable thinking is a summary that is not part of the prompt."""
        ...
