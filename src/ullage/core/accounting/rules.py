"""What a meter must be able to say of every piece of a request, whatever estimator stands behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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

    def result(self, text: str, name: str | None = None) -> Amount:
        """The text of a tool result; the tool's name where the result tells it."""
        ...

    def tool(self, spec: ToolSpec) -> Amount:
        """One tool definition, net of what the tool block costs once."""
        ...

    def media(self, media: Media) -> Amount:
        """A picture, document, sound or film."""
        ...

    def knows(self, media: Media) -> bool:
        """Whether enough is known of a picture or a file to say what it costs."""
        ...

    def schema(self, options: Options) -> Amount:
        """The output schema and the name it goes by."""
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

    def call_frame(self, name: str | None) -> int:
        """Around a tool call; a name may be written again beside its result."""
        ...

    def parallel_frame(self) -> int:
        """For each further call that is made at once with another."""
        ...

    def result_frame(self, name: str | None, blocks: int) -> int: ...

    def sealed(self, chars: int) -> int | None:
        """Hidden reasoning that is replayed, from the length of its seal; `None` if nothing is known of it."""
        ...

    def opening(self) -> int:
        """Once around the whole request."""
        ...

    def hidden(self, options: Options, *, system: bool = True) -> int:
        """Text that the provider puts in, once; `system` says whether the request has a system prompt of its own."""
        ...

    def tool_block(self, options: Options, *, system: bool = True) -> int:
        """Once, with the first tool."""
        ...

    def deferred_block(self) -> int:
        """Once, if some tools wait to be loaded."""
        ...

    def inline_block(self) -> int:
        """With each item of the conversation that defines tools."""
        ...

    def hides_tools(self, options: Options) -> bool:
        """Whether the tool choice keeps the tools from the model."""
        ...

    @property
    def tools_method(self) -> str: ...

    @property
    def sealed_thinking(self) -> bool:
        """Whether readable thinking is a summary that is not part of the prompt."""
        ...

    @property
    def strips_thinking(self) -> bool:
        """Whether thinking that stands in the text of an earlier answer is cut out of it."""
        ...

    @property
    def seals_last(self) -> bool:
        """Whether sealed reasoning of earlier turns is read again, whatever becomes of readable thinking."""
        ...


class NothingHidden:
    """Half a rule: nothing that a provider adds is counted but what surrounds a message."""

    sealed_thinking = False
    strips_thinking = False
    seals_last = False

    def knows(self, media: Media) -> bool:
        return media.kind != "image" or media.width is not None

    def parallel_frame(self) -> int:
        return 0

    def sealed(self, chars: int) -> int | None:
        return None

    def hidden(self, options: Options, *, system: bool = True) -> int:
        return 0

    def tool_block(self, options: Options, *, system: bool = True) -> int:
        return 0

    def deferred_block(self) -> int:
        return 0

    def inline_block(self) -> int:
        return 0

    def hides_tools(self, options: Options) -> bool:
        return False
