"""What the fake provider is told to say: replies, the rules that pick them, and the file they can be written in."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from ullage.core.content import Usage
from ullage.core.errors import InputError
from ullage.core.wire import Dialect

from .faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .prompt import Prompt

Stop = Literal["end", "length", "tool_calls", "stop_sequence", "refusal", "pause"]


class ToolUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call the model makes. `arguments` is an object, or text: the raw JSON (or free input of a custom tool)."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str | None = None

    @property
    def arguments_json(self) -> str:
        """The arguments as they go over the wire."""
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One scripted answer.

    `stop` is found from the content when not given. `usage` replaces the computed one whole. `fragment_chars` is the size of
    streamed text deltas. `headers` are added to the answer. `body` replaces the answer's bytes, whatever was asked for (base64
    in a JSON script). A `fixed` reply is written once and replayed, ids and usage included: of further requests only model and
    stream are read, so that this provider costs next to nothing in a benchmark.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    stop: Stop | None = None
    usage: Usage | None = None
    model: str | None = None
    fragment_chars: int = 24
    headers: dict[str, str] = {}
    body: bytes | None = None
    fixed: bool = False

    @property
    def stop_reason(self) -> Stop:
        """Why the answer ends: as scripted, else what its content implies."""
        return self.stop or ("tool_calls" if self.tool_calls else "end")


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a reply is given: every condition that is set must hold.

    `model` is a shell pattern, `user_text` a part of the last user message (case ignored), `after_tool` asks that the
    conversation ends with tool results (or does not). `times` is how often the rule serves; `None` is for ever.
    Without `reply` the default behaviour answers, with the rule's `fault` if it has one. `route` says which kind of request is
    meant; for `count` and `models` only the fault and the reply's headers and body count. Text and tool results are not known
    to a rule whose reply is fixed.
    """

    route: Literal["generate", "count", "models"] = "generate"
    dialect: Dialect | None = None
    model: str | None = None
    user_text: str | None = None
    after_tool: bool | None = None
    stream: bool | None = None
    times: int | None = None
    reply: Reply | None = None
    fault: Fault | None = None

    def __post_init__(self) -> None:
        if self.reply is not None and self.reply.fixed and (self.user_text is not None or self.after_tool is not None):
            raise ValueError("a fixed reply cannot depend on the text of a request")

    def matches(self, prompt: Prompt) -> bool:
        """Whether every condition holds for this request."""
        return (
            self.dialect in (None, prompt.dialect)
            and self.stream in (None, prompt.stream)
            and (self.model is None or fnmatch.fnmatchcase(prompt.model, self.model))
            and (self.user_text is None or self.user_text.casefold() in prompt.user_text.casefold())
            and self.after_tool in (None, prompt.result_text is not None)
        )


class ScriptFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A script as it stands in a file: `[[rules]]` in TOML, or the same object in JSON."""

    rules: tuple[Rule, ...] = ()


class Script:
    """Rules in order with the number of times each has served. A reply or a fault alone is a rule that serves once."""

    def __init__(self, rules: Iterable[Rule | Reply | Fault] = ()) -> None:
        self._rules: list[Rule] = []
        self._served: list[int] = []
        self.add(*rules)

    def add(self, *rules: Rule | Reply | Fault) -> None:
        """Appends rules; earlier ones go first."""
        self._rules += map(_rule, rules)
        self._served += [0] * len(rules)

    def clear(self) -> None:
        """Drops all rules."""
        self._rules, self._served = [], []

    def pick(self, route: str, prompt: Prompt) -> Rule | None:
        """The first rule that matches and is not used up; it counts as served."""
        for index, rule in enumerate(self._rules):
            used_up = rule.times is not None and self._served[index] >= rule.times
            if rule.route == route and not used_up and rule.matches(prompt):
                self._served[index] += 1
                return rule
        return None

    @property
    def first_fixed(self) -> Rule | None:
        """The first rule if it replays a fixed reply: it may be tried before a request is read whole."""
        first = self._rules[0] if self._rules else None
        return first if first is not None and first.reply is not None and first.reply.fixed else None


def _rule(given: Rule | Reply | Fault) -> Rule:
    if isinstance(given, Reply):
        return Rule(reply=given, times=None if given.fixed else 1)
    return given if isinstance(given, Rule) else Rule(fault=given, times=1)


def load_script(path: Path) -> tuple[Rule, ...]:
    """Reads a script file; `.json` is JSON, anything else TOML. Raises `InputError` with the place of what is wrong."""
    decoder = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
    try:
        return decoder(path.read_bytes(), type=ScriptFile).rules
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(
            f"The script {path} cannot be read: {error}.",
            hint="The fields of a rule are in docs/reference/fake-provider.md.",
            code="bad_script",
        ) from error
